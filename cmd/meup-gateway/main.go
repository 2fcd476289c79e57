// Command meup-gateway runs a gateway: it routes the envelopes of spaces,
// checks each one, and keeps their log.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/earlysignal"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/terminal/termsafe"
)

func main() { os.Exit(run(os.Args[1:])) }

// run executes a command line and returns the exit code: 0 on success, 1 on
// failure, 2 for a usage error.
func run(args []string) int {
	ctx, stop := earlysignal.StopContext()
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	var usage *program.UsageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "meup-gateway: %s\nSee %s --help.\n", termsafe.Text(err.Error()), c.CommandPath())
		return 2
	case !errors.Is(err, errReported):
		fmt.Fprintf(os.Stderr, "meup-gateway: %s\n", termsafe.Text(err.Error())) // it may contain text from a gateway
	}
	return 1
}

// errReported ends the program with exit code 1; the problem has been reported
// already.
var errReported = errors.New("reported")

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "meup-gateway",
		Short: "The gateway for spaces that humans, agents and tools share",
		Long: `meup-gateway routes the envelopes of spaces over WebSocket and HTTP, checks each
one against its sender's capabilities and limits, masks secrets, and keeps a
durable, ordered log.

Get started: meup-gateway demo, or meup-gateway init for a space of your own`,
		Args:          program.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRun: func(c *cobra.Command, _ []string) {
			if c.Name() != "serve" { // the others have nothing to reload
				earlysignal.ResetHangup()
			}
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return program.Usage(err) })
	root.AddCommand(newInit(), newServe(), newDemo(), newCheck(), newExplain(), newToken(), newExport(), newBackup(), newRestore(), newVersion())
	program.Describe(root, version)
	return root
}

// exactly requires n arguments and names them.
func exactly(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return program.Usagef("%s is required", names[len(args)])
		}
		if len(args) > len(names) {
			return program.Usagef("unexpected argument %q", args[len(names)])
		}
		return nil
	}
}
