package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/protocol"
)

// reasoningFlags are the flags of reasoning.
type reasoningFlags struct {
	thread  string
	session string
	job     string
	jobs    bool
	limit   int
	json    bool
}

func newReasoning(a *app) *cobra.Command {
	var f reasoningFlags
	c := &cobra.Command{
		Use:   "reasoning [N|all]",
		Short: "Explains which tools an agent called, and why",
		Long: `reasoning prints the reasoning of agents in a turn of a conversation: the most
recent completed turn, turn N, or all. Without --thread, it uses the conversation
that began last. With --session, it uses the turns and jobs of a session.

A job is reasoning that no message asked for. --jobs lists the jobs of the space,
the newest first, and --job prints the reasoning of one.

With --json, it prints one object per line for each agent that called a tool; with
--jobs, one object.

Exit codes: those of meup; 1 also if there is no such turn or job; 0 also if the
space has no conversation.`,
		Example: `  meup reasoning
  meup reasoning 2
  meup reasoning all --thread 0199f2c4-5b1e-7c3a-9d44-0a1b2c3d4e5f --json
  meup reasoning all --session sprint-12
  meup reasoning --jobs
  meup reasoning --job nightly-sweep`,
		Args: program.Args("[N]"),
	}
	fl := c.Flags()
	fl.StringVar(&f.thread, "thread", "", "id of the conversation, which is that of its first message; its beginning or end is enough")
	fl.StringVar(&f.session, "session", "", "turns and jobs of a session")
	fl.StringVar(&f.job, "job", "", "id of the job, which is its outermost context; its beginning or end is enough")
	fl.BoolVar(&f.jobs, "jobs", false, "list the jobs, newest first")
	fl.IntVar(&f.limit, "limit", 20, "with --jobs: number of jobs, the newest ones; 0: all")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	c.RunE = connect.RunE(func(c *cobra.Command, args []string) error {
		n, err := f.check(args)
		if err != nil {
			return err
		}
		style, t, err := a.target(c)
		if err != nil {
			return err
		}
		switch {
		case f.jobs:
			return listJobs(c, t, &f, style)
		case f.job != "":
			h, err := t.API.Job(c.Context(), t.Space, protocol.ID(f.job))
			if connect.NotFound(err) {
				h, err = selectJob(c.Context(), t, f.job)
			}
			if err != nil {
				return err
			}
			return writeQueried(c, h.Turns, "", f.json, style)
		case f.session != "":
			found, err := selectInSession(c.Context(), t, f.session, n)
			if err != nil {
				return err
			}
			return writeQueried(c, found, "", f.json, style)
		}
		q, err := openTurns(c.Context(), t, f.thread)
		if errors.Is(err, errNoThread) { // as history
			connect.Warn(c.ErrOrStderr(), "%s", err)
			return nil
		}
		if err != nil {
			return err
		}
		found, err := q.selected(c.Context(), n)
		switch {
		case err != nil:
			return err
		case len(found) > 0:
			return writeQueried(c, found, q.thread, f.json, style)
		case n <= 0:
			return fmt.Errorf("thread %[1]s has no completed turn; meup reasoning all --thread %[1]s shows the others, and meup history --threads lists the threads", q.thread)
		}
		out := c.OutOrStdout()
		if f.json { // a program reads it
			out = c.ErrOrStderr()
		}
		fmt.Fprintln(out, block.NoTurn(n))
		return &program.ExitError{Code: program.ExitFailed}
	})
	return c
}

// check rejects conflicting flags, and parses the number of the turn: 0 the most recent
// completed one, -1 all.
func (f *reasoningFlags) check(args []string) (n int, err error) {
	switch {
	case len(args) == 0:
	case args[0] == "all":
		n = -1
	default:
		n, err = strconv.Atoi(args[0])
		if err != nil || n < 1 || n > 1<<30 {
			return 0, program.Usagef("turn %q: expected a number from 1, or all", args[0])
		}
	}
	selected := 0
	for _, set := range []bool{f.thread != "", f.session != "", f.job != "", f.jobs} {
		if set {
			selected++
		}
	}
	switch {
	case selected > 1:
		return 0, program.Usagef("only one of --thread, --session, --job and --jobs is possible")
	case f.limit < 0:
		return 0, program.Usagef("--limit must not be negative")
	case len(args) > 0 && (f.job != "" || f.jobs):
		return 0, program.Usagef("a job has no turns: %q is not possible with --job or --jobs", args[0])
	case n > 0 && f.session != "":
		return 0, program.Usagef("the turns of a session have no numbers of their own: use all, or --thread")
	}
	for name, id := range map[string]string{"thread": f.thread, "session": f.session, "job": f.job} {
		if id != "" && !protocol.ValidID(id) {
			return 0, program.Usagef("--%s %q is not a valid id", name, id)
		}
	}
	return n, nil
}

// writeQueried writes the reasoning of turns. The headings name the thread, or else
// the thread that a turn has.
func writeQueried(c *cobra.Command, found []api.Turn, thread protocol.ID, asJSON bool, style block.Style) error {
	if asJSON {
		out := newEncoder(c.OutOrStdout())
		for i := range found {
			if found[i].Truncated {
				connect.Warn(c.ErrOrStderr(), "%s", strings.TrimLeft(block.Truncated(found[i].TurnNumber), " ─"))
			}
			for _, r := range found[i].AllReasonings() {
				if err := out.Encode(r); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for i := range found {
		if i > 0 {
			fmt.Fprintln(c.OutOrStdout())
		}
		if _, err := io.WriteString(c.OutOrStdout(), block.Query(&found[i], cmp.Or(thread, found[i].ThreadID), style)); err != nil {
			return err
		}
	}
	return nil
}

// selected returns turn n, the most recent completed one (n 0), or all (n -1); none if there
// is no such turn.
func (q *turnReader) selected(ctx context.Context, n int) ([]api.Turn, error) {
	if n < 0 {
		h, err := q.turns(ctx, 0, 0)
		if err != nil {
			return nil, err
		}
		return h.Turns, nil
	}
	if n > 0 {
		h, err := q.page(ctx, api.Page{Limit: 1, Before: n + 1})
		if err != nil || len(h.Turns) == 0 || h.Turns[0].TurnNumber != n {
			return nil, err
		}
		return h.Turns, nil
	}
	for page := (api.Page{Limit: 10}); ; {
		h, err := q.page(ctx, page)
		if err != nil {
			return nil, err
		}
		for i, t := range slices.Backward(h.Turns) {
			if t.State == api.TurnCompleted {
				return h.Turns[i : i+1], nil
			}
		}
		if !h.HasMore || len(h.Turns) == 0 {
			return nil, nil
		}
		page.Before = h.Turns[0].TurnNumber
	}
}

// turnReader is the shared part of the commands that read turns.
type turnReader struct {
	*connect.Target
	thread protocol.ID
	others bool // there are more threads, and none was named
}

// errNoThread: the space has no conversation that is visible to the caller.
var errNoThread = errors.New("no conversations yet")

// openTurns selects the thread: the named one, or the newest.
func openTurns(ctx context.Context, t *connect.Target, thread string) (*turnReader, error) {
	q := &turnReader{Target: t, thread: protocol.ID(thread)}
	if thread != "" {
		return q, nil
	}
	list, err := t.API.Threads(ctx, t.Space, 1, 0)
	if err != nil {
		return nil, err
	}
	if len(list.Threads) == 0 {
		return nil, errNoThread
	}
	q.thread, q.others = list.Threads[0].ThreadID, list.HasMore
	return q, nil
}

// page reads turns of the thread. If the gateway has none with this id, the id may be the
// beginning or the end of the id of one of the newest threads.
func (q *turnReader) page(ctx context.Context, page api.Page) (*api.History, error) {
	h, err := q.API.History(ctx, q.Space, q.thread, page)
	if !connect.NotFound(err) {
		return h, err
	}
	list, err := readThreads(ctx, q.Target, maxSelect)
	if err != nil {
		return nil, err
	}
	found, err := connect.Select(string(q.thread), "thread", "meup history --threads", list.Threads, func(t *api.Thread) protocol.ID { return t.ThreadID })
	if err != nil {
		return nil, err
	}
	q.thread = found.ThreadID
	h, err = q.API.History(ctx, q.Space, q.thread, page)
	return h, unknown(err)
}

// maxSelect bounds the threads or jobs among which an id is searched.
const maxSelect = 1000

// unknown returns the error of a request: that the gateway has no such thread, job
// or session is not a connection error.
func unknown(err error) error {
	if connect.NotFound(err) {
		return &program.ExitError{Code: program.ExitFailed, Err: connect.SafeError{Err: err}}
	}
	return err
}

// turns returns the newest turns (most of them, 0: all), oldest first.
func (q *turnReader) turns(ctx context.Context, most, before int) (*api.History, error) {
	var out *api.History
	for {
		limit := 100
		if most > 0 {
			limit = min(limit, most)
		}
		h, err := q.page(ctx, api.Page{Limit: limit, Before: before})
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = h
		} else {
			out.Turns, out.HasMore = append(slices.Clip(h.Turns), out.Turns...), h.HasMore
		}
		most -= len(h.Turns)
		if !h.HasMore || len(h.Turns) == 0 || most == 0 {
			return out, nil
		}
		before = h.Turns[0].TurnNumber
	}
}
