// Command meup-reasoner is the Reasoning API: it decides the next action of
// agents, whose runtimes ask it over HTTP or through a queue.
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
	exitFailed = 1 // could not start, or could not go on
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
		fmt.Fprintf(os.Stderr, "meup-reasoner: %v\nSee meup-reasoner --help.\n", err)
		return exitUsage
	}
	fmt.Fprintf(os.Stderr, "meup-reasoner: %v\n", err)
	return exitFailed
}

// usageError is a call that cannot be meant.
type usageError struct{ error }

// Unwrap gives the reason to errors.As.
func (e *usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "meup-reasoner",
		Short: "Decides the next action of agents",
		Long: `meup-reasoner is the Reasoning API: given a goal, a history and what else there is
to know, it says which tool an agent should call next, or that it has finished.
A language model decides where one is named, and rules where none is.

Exit codes: 0 ended as it was asked to, 1 failed, 2 called wrongly.`,
		Example: `  meup-reasoner serve
  curl -sX POST http://127.0.0.1:9000/agent_intent -H 'Content-Type: application/json' \
    -d '{"session_id":"s1","goal_text":"search project for TODOs"}'`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(*cobra.Command, []string) error { return usagef("a command is missing") },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.AddCommand(newServe(new(queueFlags)), newWorker(), newVersion())
	return root
}

func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unexpected argument %q", args[0])
	}
	return nil
}
