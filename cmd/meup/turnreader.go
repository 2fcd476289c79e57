package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/protocol"
)

// turnReader is the shared part of the commands that read turns.
type turnReader struct {
	api    *api.Client
	space  string
	thread protocol.ID
}

// openTurns selects the thread: the named one, or the newest.
func openTurns(ctx context.Context, t *target, thread string) (*turnReader, error) {
	asker, err := t.http()
	if err != nil {
		return nil, err
	}
	q := &turnReader{api: asker, space: t.space, thread: protocol.ID(thread)}
	if thread != "" {
		return q, nil
	}
	list, err := asker.Threads(ctx, t.space, 1, 0)
	if err != nil {
		return nil, err
	}
	if len(list.Threads) == 0 {
		return nil, fmt.Errorf("space %q has no conversation yet", t.space)
	}
	q.thread = list.Threads[0].ThreadID
	return q, nil
}

// page reads turns of the thread. An unknown thread is not a connection error.
func (q *turnReader) page(ctx context.Context, page api.Page) (*api.History, error) {
	h, err := q.api.History(ctx, q.space, q.thread, page)
	if notFound(err) {
		return nil, &program.ExitError{Code: program.ExitFailed, Err: safeError{err}}
	}
	return h, err
}

// turn returns one turn; nil if there is none.
func (q *turnReader) turn(ctx context.Context, n int) (*api.Turn, error) {
	h, err := q.page(ctx, api.Page{Limit: 1, Before: n + 1})
	if err != nil || len(h.Turns) == 0 || h.Turns[0].TurnNumber != n {
		return nil, err
	}
	return &h.Turns[0], nil
}

// newestCompleted returns the last turn that is completed; nil if none is.
func (q *turnReader) newestCompleted(ctx context.Context) (*api.Turn, error) {
	for page := (api.Page{Limit: 10}); ; {
		h, err := q.page(ctx, page)
		if err != nil {
			return nil, err
		}
		for _, t := range slices.Backward(h.Turns) {
			if t.State == api.TurnCompleted {
				return &t, nil
			}
		}
		if !h.HasMore || len(h.Turns) == 0 {
			return nil, nil
		}
		page.Before = h.Turns[0].TurnNumber
	}
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
