package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/terminal/blockrender"
	"github.com/meup-protocol/meup/protocol"
)

func newReasoning(a *app) *cobra.Command {
	var thread string
	var asJSON bool
	c := &cobra.Command{
		Use:   "reasoning [N|all]",
		Short: "Says why an agent called which tool",
		Long: `reasoning prints what agents reasoned in a turn of a conversation: in the most
recent completed one, in turn N, or in all. Without --thread it is the
conversation that began last.

With --json it is one object on a line for each agent that called a tool.

Exit codes: those of meup; 1 also when there is no such turn.`,
		Example: "  meup reasoning\n  meup reasoning 2\n  meup reasoning all --thread 0199f2c4-5b1e-7c3a-9d44-0a1b2c3d4e5f --json",
		RunE: func(c *cobra.Command, args []string) error {
			return finish(c.Context(), runReasoning(c, a, args, thread, asJSON))
		},
	}
	c.Flags().StringVar(&thread, "thread", "", "id of the conversation: that of the message which began it")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// parseTurnNumber parses the number of a turn: 0 the most recent completed one, -1 all.
func parseTurnNumber(args []string) (int, error) {
	switch {
	case len(args) > 1:
		return 0, program.Usagef("unexpected argument %q", args[1])
	case len(args) == 0:
		return 0, nil
	case args[0] == "all":
		return -1, nil
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 1 || n > 1<<30 {
		return 0, program.Usagef("turn %q: expected a number from 1, or all", args[0])
	}
	return n, nil
}

func runReasoning(c *cobra.Command, a *app, args []string, thread string, asJSON bool) error {
	n, err := parseTurnNumber(args)
	if err != nil {
		return err
	}
	if thread != "" && !protocol.ValidID(thread) {
		return program.Usagef("--thread %q is no id", thread)
	}
	style, err := a.style(c.OutOrStdout())
	if err != nil {
		return err
	}
	t, err := a.target(c.ErrOrStderr())
	if err != nil {
		return err
	}
	q, err := openTurns(c.Context(), t, thread)
	if err != nil {
		return err
	}
	defer q.api.Close()
	found, err := q.selected(c.Context(), n)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return q.nothing(c, n, asJSON)
	}
	if asJSON {
		for i := range found {
			if found[i].Truncated {
				warn(c.ErrOrStderr(), "%s", strings.TrimLeft(blockrender.Truncated(found[i].TurnNumber), " ─"))
			}
		}
		return writeReasonings(c.OutOrStdout(), found)
	}
	for i := range found {
		if i > 0 {
			fmt.Fprintln(c.OutOrStdout())
		}
		if _, err := io.WriteString(c.OutOrStdout(), blockrender.Query(&found[i], q.thread, style)); err != nil {
			return err
		}
	}
	return nil
}

// selected returns the selected turns.
func (q *turnReader) selected(ctx context.Context, n int) ([]api.Turn, error) {
	var one *api.Turn
	var err error
	switch n {
	case -1:
		h, err := q.turns(ctx, 0, 0)
		if err != nil {
			return nil, err
		}
		return h.Turns, nil
	case 0:
		one, err = q.newestCompleted(ctx)
	default:
		one, err = q.turn(ctx, n)
	}
	if err != nil || one == nil {
		return nil, err
	}
	return []api.Turn{*one}, nil
}

// nothing reports that there is no such turn: on standard output, or on
// standard error if a program reads the output.
func (q *turnReader) nothing(c *cobra.Command, n int, asJSON bool) error {
	if n <= 0 {
		return fmt.Errorf("thread %s has no completed turn", q.thread)
	}
	out := c.OutOrStdout()
	if asJSON {
		out = c.ErrOrStderr()
	}
	fmt.Fprintln(out, blockrender.NoTurn(n))
	return &program.ExitError{Code: program.ExitFailed}
}

func writeReasonings(w io.Writer, list []api.Turn) error {
	out := newEncoder(w)
	for i := range list {
		for _, r := range list[i].AllReasonings() {
			if err := out.Encode(r); err != nil {
				return err
			}
		}
	}
	return nil
}
