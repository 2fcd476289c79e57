package main

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/internal/terminal/connect"
	"github.com/meup-protocol/meup/protocol"
)

// readSession reads the newest turns and jobs of a session (most of them, 0: all)
// that began before a seq (0: all), oldest first.
func readSession(ctx context.Context, t *connect.Target, session string, most int, before protocol.Seq) (*api.History, error) {
	all := &api.History{SessionID: session, Turns: []api.Turn{}}
	for {
		page := api.SessionPage{Limit: 100, Before: before}
		if most > 0 {
			page.Limit = min(page.Limit, most-len(all.Turns))
		}
		h, err := t.API.SessionHistory(ctx, t.Space, session, page)
		if err != nil {
			return nil, unknown(err)
		}
		all.Turns = append(slices.Clip(h.Turns), all.Turns...)
		all.HasMore, all.Next = h.HasMore, h.Next
		if !h.HasMore || h.Next == 0 || before > 0 && h.Next >= before || most > 0 && len(all.Turns) >= most {
			return all, nil
		}
		before = h.Next
	}
}

// selectInSession returns all turns and jobs of a session (n -1), or the most recent
// completed one (n 0).
func selectInSession(ctx context.Context, t *connect.Target, session string, n int) ([]api.Turn, error) {
	if n < 0 {
		h, err := readSession(ctx, t, session, 0, 0)
		if err != nil {
			return nil, err
		}
		return h.Turns, nil
	}
	for before := protocol.Seq(0); ; {
		h, err := readSession(ctx, t, session, 10, before)
		if err != nil {
			return nil, err
		}
		for i, turn := range slices.Backward(h.Turns) {
			if turn.State == api.TurnCompleted {
				return h.Turns[i : i+1], nil
			}
		}
		if !h.HasMore || h.Next == 0 || before > 0 && h.Next >= before {
			return nil, fmt.Errorf("session %s has no completed turn", session)
		}
		before = h.Next
	}
}

// readJobs reads pages until there are enough jobs; 0: all.
func readJobs(ctx context.Context, t *connect.Target, most int) (*api.Jobs, error) {
	list, next, more, err := connect.Pages(most, func(limit int, before protocol.Seq) ([]api.Job, protocol.Seq, bool, error) {
		page, err := t.API.Jobs(ctx, t.Space, limit, before)
		if err != nil {
			return nil, 0, false, err
		}
		return page.Jobs, page.Next, page.HasMore, nil
	})
	return &api.Jobs{Jobs: list, Next: next, HasMore: more}, err
}

// selectJob returns one of the newest jobs by the beginning or the end of its id.
func selectJob(ctx context.Context, t *connect.Target, id string) (*api.History, error) {
	list, err := readJobs(ctx, t, maxSelect)
	if err != nil {
		return nil, err
	}
	found, err := connect.Select(id, "job", "meup reasoning --jobs", list.Jobs, func(j *api.Job) protocol.ID { return j.JobID })
	if err != nil {
		return nil, err
	}
	h, err := t.API.Job(ctx, t.Space, found.JobID)
	return h, unknown(err)
}

// listJobs prints the jobs of a space.
func listJobs(c *cobra.Command, t *connect.Target, f *reasoningFlags, s block.Style) error {
	all, err := readJobs(c.Context(), t, f.limit)
	if err != nil {
		return err
	}
	if f.json {
		return newEncoder(c.OutOrStdout()).Encode(all)
	}
	if len(all.Jobs) == 0 {
		connect.Warn(c.ErrOrStderr(), "no jobs yet")
	}
	out := bufio.NewWriter(c.OutOrStdout())
	for _, j := range all.Jobs {
		fmt.Fprintf(out, "%s  %s  %s", s.Paint(s.Tool, termsafe.Words(string(j.JobID))), j.StartedAt.Local().Format(time.DateTime), termsafe.Words(string(j.From)))
		if title := termsafe.Cut(termsafe.Words(j.Title), 100); title != "" {
			fmt.Fprintf(out, "  %s", title)
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}
