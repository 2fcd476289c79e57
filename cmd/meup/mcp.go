package main

import (
	"net/url"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/acp"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/mcp/relay"
	"github.com/meup-protocol/meup/internal/terminal/connect"
)

func newMCP(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Serves the gateway's /mcp over standard input and output",
		Long: `mcp is an MCP server over standard input and output, for clients that start a
program instead of connecting to an address. It passes each message on to the gateway's /mcp, and
what comes back to the client, which takes part in the space as the participant of
the token.

It ends when its standard input ends. Requests without a response are canceled 2 seconds later.`,
		Example: `  claude mcp add meup -- meup mcp --gateway http://127.0.0.1:8080 --space lab --token-file ~/.meup-token`,
		Args:    program.NoArgs,
		RunE: connect.RunStopped(func(c *cobra.Command, _ []string) error {
			t, err := a.Target(c)
			if err != nil {
				return err
			}
			if _, err := t.API.SessionIn(c.Context(), t.Space); err != nil {
				return err
			}
			u := t.Base.JoinPath("mcp")
			u.RawQuery = url.Values{"space": {t.Space}}.Encode()
			return relay.Run(c.Context(), relay.Options{
				Endpoint: u.String(), Token: t.Token, Version: program.Version(version), In: c.InOrStdin(), Out: c.OutOrStdout(),
			})
		}),
	}
}

func newACP(a *app) *cobra.Command {
	return acp.NewCommand(program.Version(version), func(c *cobra.Command) (acp.ServerOptions, error) {
		t, err := a.Target(c)
		if err != nil {
			return acp.ServerOptions{}, err
		}
		return acp.ServerOptions{Client: t.API, Space: t.Space}, nil
	}, connect.FinishStopped)
}
