// Package program is the common part of the commands: execution, shutdown on
// signals, usage errors, exit codes and the version.
package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/kit/termsafe"
)

// Exit codes.
const (
	ExitOK     = 0 // ended normally
	ExitFailed = 1 // could not start or continue
	ExitUsage  = 2 // wrong usage

	ExitInterrupted = 130 // ended by Ctrl-C, as shells report it
)

// UsageError reports wrong arguments or flags.
type UsageError struct{ error }

// Unwrap returns the reason for errors.As.
func (e *UsageError) Unwrap() error { return e.error }

// Usage returns a UsageError with its reason.
func Usage(err error) error { return &UsageError{err} }

// Usagef returns a UsageError with a formatted reason.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// ExitError ends a program with its exit code.
type ExitError struct {
	Code int
	Err  error // nil: everything has been printed
}

// Error returns the text of the reason.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the reason for errors.As.
func (e *ExitError) Unwrap() error { return e.Err }

// Main runs a program in the environment of the process and returns its exit code. SIGINT
// or SIGTERM cancels its context; a second signal ends it at once.
func Main(run func(ctx context.Context, env *Environment, args []string) int) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, Process(), os.Args[1:])
}

// Run executes a command with the streams of an environment, prints its error without
// characters that control a terminal (it may quote a gateway), and returns the exit code.
// The context of the command ends with it.
func Run(ctx context.Context, env *Environment, root *cobra.Command, args []string) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usage(err) })
	checkShell(root)
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	var usage *UsageError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &usage):
		fmt.Fprintf(root.ErrOrStderr(), "%s: %s\nSee %s --help.\n", root.Name(), termsafe.Text(err.Error()), c.CommandPath())
		return ExitUsage
	}
	code := ExitFailed
	var other *ExitError
	if errors.As(err, &other) {
		code = other.Code
	}
	if other == nil || other.Err != nil {
		fmt.Fprintf(root.ErrOrStderr(), "%s: %s\n", root.Name(), termsafe.Text(err.Error()))
	}
	return code
}

// checkShell makes the command completion reject shells that it does not know.
func checkShell(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		var shells []string
		for _, sub := range c.Commands() {
			shells = append(shells, sub.Name())
		}
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(*cobra.Command, []string) error {
			return Usagef("expected the name of a shell: %s", strings.Join(shells, ", "))
		}
	}
}

// NoArgs rejects arguments that are not flags. If the command has others below it,
// the error suggests the ones with a similar name.
func NoArgs(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case !c.HasAvailableSubCommands():
		return Usagef("unexpected argument %q", args[0])
	}
	c.SuggestionsMinimumDistance = 2
	if similar := c.SuggestionsFor(args[0]); len(similar) > 0 {
		return Usagef("unknown command %q; did you mean %s?", args[0], strings.Join(similar, " or "))
	}
	return Usagef("unknown command %q", args[0])
}

// Args requires an argument for each name that has no brackets, and rejects more arguments
// than names, unless the last name ends with an ellipsis: "WHO", "[CAPABILITY…]".
func Args(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		n := len(names)
		switch {
		case len(args) < n && !strings.HasPrefix(names[len(args)], "["):
			return Usagef("%s is required: %s", names[len(args)], strings.TrimSuffix(c.UseLine(), " [flags]"))
		case len(args) > n && (n == 0 || !strings.HasSuffix(strings.TrimSuffix(names[n-1], "]"), "…")):
			return Usagef("unexpected argument %q", args[n])
		}
		return nil
	}
}

// NoCommand rejects a call without a command.
func NoCommand(*cobra.Command, []string) error { return Usagef("a command is missing") }

// Version returns the linked version, or else the module's.
func Version(linked string) string {
	info, ok := debug.ReadBuildInfo()
	if linked == "dev" && ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return linked
}

// NewVersion returns the command that prints the version.
func NewVersion(linked string) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Prints the version",
		Args:  NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "%s %s (%s)\n", c.Root().Name(), Version(linked), runtime.Version())
			return err
		},
	}
}
