// Command meup-gateway runs a gateway: it routes the envelopes of spaces,
// checks each one, and keeps their log.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/cmd/meup-gateway/earlysignal"
	"github.com/meup-protocol/meup/internal/kit/program"
)

func main() {
	root := newRoot()
	root.PersistentPreRun = func(c *cobra.Command, _ []string) {
		if c.Name() != "serve" { // the others have nothing to reload
			earlysignal.ResetHangup()
		}
	}
	ctx, stop := earlysignal.StopContext()
	code := program.Run(ctx, program.Process(), root, os.Args[1:])
	stop()
	os.Exit(code)
}

// errReported ends the program with exit code 1; the problem has been reported
// already.
var errReported = &program.ExitError{Code: program.ExitFailed}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "meup-gateway",
		Short: "The gateway for spaces that humans, agents and tools share",
		Long: `meup-gateway routes the envelopes of spaces over WebSocket and HTTP, checks each
one against its sender's capabilities and limits, masks secrets, and keeps a
durable, ordered log.

Get started: meup-gateway demo, or meup-gateway init for a space of your own`,
		Args: program.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.AddCommand(newInit(), newServe(), newDemo(), newCheck(), newExplain(), newBacktest(), newSuggest(), newToken(), newExport(), newBackup(), newRestore(), newVersion())
	program.Describe(root, version)
	return root
}
