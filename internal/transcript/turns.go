package transcript

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// page is how many turns are read at once.
const page = 32

// Turns yields all turns of a thread that a viewer may see, oldest first, some
// at a time. The error is the last that it yields; it wraps [turns.ErrUnknown],
// or is the log's.
func Turns(ctx context.Context, p *turns.Projection, thread protocol.ID, v turns.Viewer) iter.Seq2[*turns.TurnInfo, error] {
	return func(yield func(*turns.TurnInfo, error) bool) {
		newest, err := p.History(ctx, thread, page, 0, v)
		if err != nil {
			yield(nil, err)
			return
		}
		if !newest.HasMore || len(newest.Turns) == 0 { // none: the log has dropped them
			each(newest.Turns, yield)
			return
		}
		last := newest.Turns[len(newest.Turns)-1].TurnNumber
		for low := 1; low <= last; low += page {
			if !between(ctx, p, thread, v, low, yield) {
				return
			}
		}
	}
}

// between yields the turns from low on, page numbers far. A page of history
// ends early where turns are very large; what is missing is read one by one.
func between(ctx context.Context, p *turns.Projection, thread protocol.ID, v turns.Viewer, low int, yield func(*turns.TurnInfo, error) bool) bool {
	h, err := p.History(ctx, thread, page, low+page, v)
	if err != nil {
		yield(nil, err)
		return false
	}
	first := low
	if len(h.Turns) > 0 && len(h.Turns) < page && h.HasMore {
		first = h.Turns[0].TurnNumber
	}
	for n := low; n < first; n++ {
		t, err := p.Turn(ctx, thread, n, v)
		if errors.Is(err, turns.ErrUnknown) {
			continue // not to be seen
		}
		if !yield(&t, err) || err != nil {
			return false
		}
	}
	return each(slices.DeleteFunc(h.Turns, func(t turns.TurnInfo) bool { return t.TurnNumber < low }), yield)
}

func each(list []turns.TurnInfo, yield func(*turns.TurnInfo, error) bool) bool {
	for i := range list {
		if !yield(&list[i], nil) {
			return false
		}
	}
	return true
}
