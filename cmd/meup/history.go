package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/terminal/blockrender"
	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// historyFlags are the flags of history.
type historyFlags struct {
	thread  string
	threads bool
	limit   int
	before  int
	json    bool
}

func newHistory(a *app) *cobra.Command {
	var f historyFlags
	c := &cobra.Command{
		Use:   "history",
		Short: "Prints a conversation, turn by turn",
		Long: `history prints the turns of a conversation: who asked what, the answer, and which
tools were called for it and why. Without --thread it is the conversation that
began last; --threads lists them.

With --json it is one object, as the gateway gives it.`,
		Example: `  meup history
  meup history --threads
  meup history --thread 0199f2c4-5b1e-7c3a-9d44-0a1b2c3d4e5f --json | jq .turns[].user_input`,
		Args: program.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return finish(c.Context(), runHistory(c, a, &f))
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.thread, "thread", "", "id of the conversation: that of the message which began it")
	fl.BoolVar(&f.threads, "threads", false, "list the conversations, the newest first")
	fl.IntVar(&f.limit, "limit", 20, "how many turns or conversations, the newest; 0: all")
	fl.IntVar(&f.before, "before", 0, "only turns below this number")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	return c
}

func runHistory(c *cobra.Command, a *app, f *historyFlags) error {
	switch {
	case f.threads && (f.thread != "" || f.before != 0):
		return program.Usagef("--threads goes without --thread and --before")
	case f.limit < 0 || f.before < 0:
		return program.Usagef("--limit and --before are not negative")
	case f.thread != "" && !protocol.ValidID(f.thread):
		return program.Usagef("--thread %q is no id", f.thread)
	}
	style, err := a.style(c.OutOrStdout())
	if err != nil {
		return err
	}
	t, err := a.target(c.ErrOrStderr())
	if err != nil {
		return err
	}
	if f.threads {
		return listThreads(c, t, f, style)
	}
	q, err := openTurns(c.Context(), t, f.thread)
	if err != nil {
		return err
	}
	defer q.api.Close()
	h, err := q.turns(c.Context(), f.limit, f.before)
	if err != nil {
		return err
	}
	if f.json {
		return newEncoder(c.OutOrStdout()).Encode(h)
	}
	return writeHistory(c.OutOrStdout(), h, style)
}

func writeHistory(w io.Writer, h *api.History, s blockrender.Style) error {
	out := bufio.NewWriter(w)
	more := ""
	if h.HasMore {
		more = "; there are older turns"
	}
	fmt.Fprintf(out, "%s\n", s.Paint(s.Dim, "thread "+termsafe.Words(string(h.ThreadID))+more))
	for i := range h.Turns {
		writeTurn(out, &h.Turns[i], s)
	}
	return out.Flush()
}

// writeTurn writes a turn: question, answers, reasoning.
func writeTurn(w io.Writer, t *api.Turn, s blockrender.Style) {
	head := fmt.Sprintf("turn %d · %s · %s", t.TurnNumber, t.StartedAt.Local().Format(time.DateTime), termsafe.Words(t.State))
	if t.CompletedAt != nil {
		head += " · " + t.CompletedAt.Sub(t.StartedAt.Time).Round(time.Millisecond).String()
	}
	fmt.Fprintf(w, "\n%s\n%s%s\n", s.Paint(s.Dim, head), s.Paint(s.Name, termsafe.Words(string(t.From))+"› "), indented(t.UserInput))
	if len(t.Responses) > 0 {
		for _, r := range t.Responses {
			fmt.Fprintf(w, "\n%s%s\n", s.Paint(s.Name, termsafe.Words(string(r.From))+": "), termsafe.Text(r.Text))
		}
	} else if t.Response != nil {
		fmt.Fprintf(w, "\n%s%s\n", s.Paint(s.Name, termsafe.Words(string(t.ResponseFrom))+": "), termsafe.Text(*t.Response))
	}
	if block := blockrender.Block(t, s); block != "" {
		fmt.Fprintf(w, "\n%s", block)
	}
	if t.Truncated {
		fmt.Fprintf(w, "  %s\n", s.Paint(s.Dim, "(longer than what the gateway keeps of it)"))
	}
}

// indented indents the later lines of a question.
func indented(text string) string { return strings.ReplaceAll(termsafe.Text(text), "\n", "\n  ") }

// listThreads prints the conversations of a space.
func listThreads(c *cobra.Command, t *target, f *historyFlags, s blockrender.Style) error {
	asker, err := t.http()
	if err != nil {
		return err
	}
	defer asker.Close()
	all, err := readThreads(c.Context(), asker, t.space, f.limit)
	if err != nil {
		return err
	}
	if f.json {
		return newEncoder(c.OutOrStdout()).Encode(all)
	}
	out := bufio.NewWriter(c.OutOrStdout())
	for _, th := range all.Threads {
		title := termsafe.Cut(termsafe.Words(th.Title), 100)
		if title == "" {
			title = s.Paint(s.Dim, "(not to be seen)")
		}
		turns := fmt.Sprintf("%d turns", th.LastTurn)
		if th.LastTurn == 1 {
			turns = "1 turn"
		}
		fmt.Fprintf(out, "%s  %s  %s  %s\n", s.Paint(s.Tool, termsafe.Words(string(th.ThreadID))), th.StartedAt.Local().Format(time.DateTime), turns, title)
	}
	return out.Flush()
}

// readThreads reads pages until there are enough threads; 0: all.
func readThreads(ctx context.Context, asker *api.Client, space string, most int) (*api.Threads, error) {
	all := &api.Threads{Threads: []api.Thread{}}
	for {
		limit := 100
		if most > 0 {
			limit = min(limit, most-len(all.Threads))
		}
		page, err := asker.Threads(ctx, space, limit, all.Next)
		if err != nil {
			return nil, err
		}
		again := page.Next == all.Next
		all.Threads = append(all.Threads, page.Threads...)
		all.Next, all.HasMore = page.Next, page.HasMore
		if !page.HasMore || again || most > 0 && len(all.Threads) >= most {
			return all, nil
		}
	}
}
