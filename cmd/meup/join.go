package main

import (
	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/internal/terminal/tui"
)

func newJoin(a *app) *cobra.Command {
	var plain bool
	c := &cobra.Command{
		Use:   "join",
		Short: "Takes part in a space, interactively",
		Long: `join shows the conversation of a space and the reasoning of agents in progress,
and sends the messages that you type.

On a terminal, it draws a screen. With --plain, or if standard input or output is
not a terminal, it writes lines, each once: for screen readers, pipes, and
terminals with few features.`,
		Example: "  meup join --space lab\n  meup join --plain",
		Args:    program.NoArgs,
		RunE: connect.RunStopped(func(c *cobra.Command, _ []string) error {
			style, t, err := a.target(c)
			if err != nil {
				return err
			}
			return tui.Run(c.Context(), tui.Options{
				URL: t.Socket(), Space: t.Space, Token: t.Token, API: t.API,
				In: c.InOrStdin(), Out: c.OutOrStdout(),
				Plain: plain, NoColor: style.Reset == "",
			})
		}),
	}
	c.Flags().BoolVar(&plain, "plain", false, "write lines instead of drawing a screen")
	return c
}
