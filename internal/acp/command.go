package acp

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/protocol"
)

// NewCommand returns the command acp. target resolves the space from the flags of the
// program: it sets Client and Space. finish gives errors their exit codes.
func NewCommand(version string, target func(*cobra.Command) (ServerOptions, error), finish func(context.Context, error) error) *cobra.Command {
	var to []string
	c := &cobra.Command{
		Use:   "acp",
		Short: "Serves the space to an editor as an agent, over standard input and output",
		Long: `acp is an agent for editors that speak the Agent Client Protocol (ACP), such as
Zed, JetBrains IDEs, Neovim, Emacs and VS Code. A prompt is a question in the
space. What the participants think and call is shown while they work, and a call
that waits for an approval which the participant of the token may give is a
request for permission in the editor.

It ends when its standard input ends. A question without an answer then stays
open in the space; the editor shows the answer when it loads the session again.`,
		Example: `  meup acp --gateway http://127.0.0.1:8080 --space lab --token-file ~/.meup-token
  meup acp --to planner`,
		Args: program.NoArgs,
	}
	c.Flags().StringArrayVar(&to, "to", nil, "participant to address the questions to; may be repeated; none: all participants")
	c.RunE = func(c *cobra.Command, _ []string) error { return finish(c.Context(), run(c, version, to, target)) }
	return c
}

func run(c *cobra.Command, version string, to []string, target func(*cobra.Command) (ServerOptions, error)) error {
	var list []protocol.ParticipantID
	for _, id := range to {
		if !protocol.ValidParticipantID(id) {
			return program.Usagef("--to %q: expected the id of a participant", id)
		}
		list = append(list, protocol.ParticipantID(id))
	}
	o, err := target(c)
	if err != nil {
		return err
	}
	defer o.Client.Close()
	session, err := o.Client.SessionIn(c.Context(), o.Space)
	if err != nil {
		return err
	}
	o.You, o.To, o.In, o.Out, o.Version = session.In(o.Space), list, c.InOrStdin(), c.OutOrStdout(), version
	o.Log = slog.New(slog.NewTextHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	return Serve(c.Context(), o)
}
