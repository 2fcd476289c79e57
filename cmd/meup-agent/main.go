// Command meup-agent is the reference agent: it joins a space, answers
// questions with the tools of MCP servers, and thinks aloud while it does.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() { os.Exit(run(os.Args[1:])) }

// Exit codes.
const (
	exitOK     = 0 // ended as it was asked to
	exitFailed = 1 // could not start, or was thrown out
	exitUsage  = 2 // called wrongly
)

// run is the program; its result is the exit code.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "meup-agent: %v\nSee meup-agent --help.\n", err)
		return exitUsage
	}
	fmt.Fprintf(os.Stderr, "meup-agent: %v\n", err)
	return exitFailed
}

// usageError is a call that cannot be meant.
type usageError struct{ error }

// Unwrap gives the reason to errors.As.
func (e *usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "meup-agent",
		Short: "An agent that answers with MCP tools and thinks aloud",
		Long: `meup-agent joins a space as a participant. It answers questions with the tools
of MCP servers, and everybody in the space sees why it calls which tool, what
came of it, and how it comes to its answer.

Exit codes: 0 ended as it was asked to, 1 failed, 2 called wrongly.`,
		Example: `  export MEUP_TOKEN=...
  meup-agent run --gateway ws://localhost:8080/ws --space lab --docs ./docs`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(*cobra.Command, []string) error { return usagef("a command is missing") },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.AddCommand(newRun(), newBridge(), newVersion(), newDocserver())
	return root
}

func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unexpected argument %q", args[0])
	}
	return nil
}
