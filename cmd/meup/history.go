package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/protocol"
)

// historyFlags are the flags of history.
type historyFlags struct {
	thread   string
	session  string
	threads  bool
	limit    int
	before   int
	json     bool
	envelope envelopeFlags
}

func newHistory(a *app) *cobra.Command {
	f := new(historyFlags)
	c := &cobra.Command{
		Use:   "history",
		Short: "Prints a conversation, turn by turn",
		Long: `history prints the turns of a conversation: questions, answers, and which tools
were called for them and why. Without --thread, it prints the conversation that
began last; --threads lists all. --session prints the turns and jobs of a session:
the conversations whose first message has that session_id (meup send --session).

--envelopes prints envelopes instead, one per line, with the filters --from, --kinds,
--since and --until: who did what, and when. It finds the newest --limit of them.

With --json, the output is one object, as the gateway sends it, or with --envelopes
one object per line.`,
		Example: `  meup history
  meup history --envelopes --from alice --kinds 'mcp.request,capability/*' --since 24h
  meup history --threads
  meup history --session sprint-12
  meup history --thread 0199f2c4-5b1e-7c3a-9d44-0a1b2c3d4e5f --json | jq .turns[].user_input`,
		Args: program.NoArgs,
	}
	fl := c.Flags()
	fl.StringVar(&f.thread, "thread", "", "id of the conversation, which is that of its first message; its beginning or end is enough")
	fl.StringVar(&f.session, "session", "", "turns and jobs of a session, of all its conversations")
	fl.BoolVar(&f.threads, "threads", false, "list the conversations, newest first")
	fl.IntVar(&f.limit, "limit", 20, "number of turns or conversations, the newest ones; 0: all")
	fl.IntVar(&f.before, "before", 0, "only turns below this number; with --session, those that began before this seq")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	f.envelope.register(fl)
	c.RunE = connect.RunE(func(c *cobra.Command, _ []string) error {
		if err := f.envelope.check(c.Flags(), f); err != nil {
			return err
		}
		switch {
		case f.threads && (f.thread != "" || f.before != 0 || f.session != ""):
			return program.Usagef("--threads cannot be combined with --thread, --session or --before")
		case f.thread != "" && f.session != "":
			return program.Usagef("--thread cannot be combined with --session")
		case f.limit < 0 || f.before < 0:
			return program.Usagef("--limit and --before must not be negative")
		case f.thread != "" && !protocol.ValidID(f.thread):
			return program.Usagef("--thread %q is not a valid id", f.thread)
		case f.session != "" && !protocol.ValidID(f.session):
			return program.Usagef("--session %q is not a valid id", f.session)
		}
		style, t, err := a.target(c)
		if err != nil {
			return err
		}
		if f.envelope.envelopes {
			return f.envelope.print(c, t, f, style)
		}
		if f.threads {
			return listThreads(c, t, f, style)
		}
		var h *api.History
		others := false // it is the newest thread of several
		if f.session != "" {
			h, err = readSession(c.Context(), t, f.session, f.limit, protocol.Seq(f.before))
		} else {
			var q *turnReader
			q, err = openTurns(c.Context(), t, f.thread)
			if err == nil {
				h, err = q.turns(c.Context(), f.limit, f.before)
				others = q.others
			}
		}
		if errors.Is(err, errNoThread) {
			connect.Warn(c.ErrOrStderr(), "%s", err)
			h, err = &api.History{Turns: []api.Turn{}}, nil
		}
		switch {
		case err != nil:
			return err
		case f.json:
			return newEncoder(c.OutOrStdout()).Encode(h)
		case h.ThreadID == "" && len(h.Turns) == 0:
			return nil
		}
		more := ""
		if h.HasMore {
			more += "; there are older turns"
		}
		if others {
			more += "; the newest of several conversations: meup history --threads" + connect.Given(c.Flags()) + " lists them"
		}
		return writeHistory(c.OutOrStdout(), h, more, style)
	})
	return c
}

// writeHistory writes turns, each with its question, answers and reasoning, below a heading, to
// which more is added.
func writeHistory(w io.Writer, h *api.History, more string, s block.Style) error {
	out := bufio.NewWriter(w)
	of := "session " + termsafe.Words(h.SessionID)
	if h.ThreadID != "" {
		of = "thread " + termsafe.Words(string(h.ThreadID))
	}
	fmt.Fprintf(out, "%s\n", s.Paint(s.Dim, of+more))
	for i := range h.Turns {
		t := &h.Turns[i]
		if t.ThreadID != "" && (i == 0 || t.ThreadID != h.Turns[i-1].ThreadID) {
			fmt.Fprintf(out, "\n%s\n", s.Paint(s.Dim, "thread "+termsafe.Words(string(t.ThreadID))))
		}
		name := fmt.Sprintf("turn %d", t.TurnNumber)
		if t.JobID != "" {
			name = "job " + termsafe.Words(string(t.JobID))
		}
		head := fmt.Sprintf("%s · %s · %s", name, t.StartedAt.Local().Format(time.DateTime), termsafe.Words(t.State))
		if t.CompletedAt != nil {
			head += " · " + textutil.Took(t.CompletedAt.Sub(t.StartedAt.Time))
		}
		fmt.Fprintf(out, "\n%s\n%s%s\n", s.Paint(s.Dim, head), s.Paint(s.Name, termsafe.Words(string(t.From))+"› "), strings.ReplaceAll(termsafe.Text(t.UserInput), "\n", "\n  "))
		if len(t.Responses) > 0 {
			for _, r := range t.Responses {
				writeAnswer(out, r.From, r.Text, s)
			}
		} else if t.Response != nil {
			writeAnswer(out, t.ResponseFrom, *t.Response, s)
		}
		if block := block.TurnBlock(t, s); block != "" {
			fmt.Fprintf(out, "\n%s", block)
		}
		for i := range t.Feedback {
			f := &t.Feedback[i]
			fmt.Fprintf(out, "  %s %s\n", s.Paint(s.Dim, fmt.Sprintf("%s rated the %s of %s:", termsafe.Words(string(f.From)), t.Subject(f), termsafe.Words(string(f.AboutFrom)))),
				termsafe.Words(block.Feedback(f.Value, f.Note)))
		}
		if t.Truncated {
			fmt.Fprintf(out, "  %s\n", s.Paint(s.Dim, "(truncated by the gateway)"))
		}
	}
	return out.Flush()
}

// writeAnswer writes an answer below the reasoning that its text begins with.
func writeAnswer(w io.Writer, from protocol.ParticipantID, text string, s block.Style) {
	marks, text := textutil.SplitMarks(text)
	fmt.Fprintf(w, "\n%s%s%s\n", block.MarkedText(marks, s), s.Paint(s.Name, termsafe.Words(string(from))+": "), termsafe.Text(text))
}

// listThreads prints the conversations of a space.
func listThreads(c *cobra.Command, t *connect.Target, f *historyFlags, s block.Style) error {
	all, err := readThreads(c.Context(), t, f.limit)
	if err != nil {
		return err
	}
	if f.json {
		return newEncoder(c.OutOrStdout()).Encode(all)
	}
	if len(all.Threads) == 0 {
		connect.Warn(c.ErrOrStderr(), "%s", errNoThread)
	}
	out := bufio.NewWriter(c.OutOrStdout())
	for _, th := range all.Threads {
		title := termsafe.Cut(termsafe.Words(th.Title), 100)
		if title == "" {
			title = s.Paint(s.Dim, "(not visible to you)")
		}
		fmt.Fprintf(out, "%s  %s  %s  %s\n", s.Paint(s.Tool, termsafe.Words(string(th.ThreadID))), th.StartedAt.Local().Format(time.DateTime), textutil.Count(th.LastTurn, "turn"), title)
	}
	return out.Flush()
}

// readThreads reads pages until there are enough threads; 0: all.
func readThreads(ctx context.Context, t *connect.Target, most int) (*api.Threads, error) {
	list, next, more, err := connect.Pages(most, func(limit int, before protocol.Seq) ([]api.Thread, protocol.Seq, bool, error) {
		page, err := t.API.Threads(ctx, t.Space, limit, before)
		if err != nil {
			return nil, 0, false, err
		}
		return page.Threads, page.Next, page.HasMore, nil
	})
	return &api.Threads{Threads: list, Next: next, HasMore: more}, err
}
