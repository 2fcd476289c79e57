package recall

import (
	"context"
	"iter"
	"slices"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// Turns answers for one space. Each method waits until everything that was in
// the log when it was called is taken into account, so that who has just
// written finds it. Errors: [turns.ErrUnknown] wrapped, the log's, ctx's,
// ErrClosed.
type Turns struct {
	keeper *Keeper
	room   *room
	space  *space.Space
}

// viewer is a participant as the projection asks about it.
func viewer(s *space.Space, who protocol.ParticipantID) turns.Viewer {
	sight := s.SightOf(who)
	return turns.Viewer{
		Sees:    func(e *turns.Entry) bool { return sight.Sees(e.Envelope, e.Thread) },
		Present: s.IsPresent,
	}
}

// ready waits until the log has been read.
func (t *Turns) ready(ctx context.Context) error {
	return t.room.reach(ctx, t.keeper, t.space.Head())
}

// History returns a page of a thread, as [turns.Projection.History] does.
func (t *Turns) History(ctx context.Context, who protocol.ParticipantID, thread protocol.ID, limit, before int) (*turns.History, error) {
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	return t.room.projection.History(ctx, thread, limit, before, viewer(t.space, who))
}

// Threads returns a page of the threads, as [turns.Projection.Threads] does.
func (t *Turns) Threads(ctx context.Context, who protocol.ParticipantID, limit int, before protocol.Seq) ([]turns.ThreadInfo, protocol.Seq, error) {
	if err := t.ready(ctx); err != nil {
		return nil, 0, err
	}
	list, next := t.room.projection.Threads(limit, before, viewer(t.space, who))
	return list, next, nil
}

// TurnOf returns the turn that an envelope belongs to, and its thread.
func (t *Turns) TurnOf(ctx context.Context, who protocol.ParticipantID, id protocol.ID) (protocol.ID, *turns.TurnInfo, error) {
	if err := t.ready(ctx); err != nil {
		return "", nil, err
	}
	thread, number, ok := t.room.projection.TurnOf(id)
	if !ok {
		return "", nil, turns.ErrUnknown
	}
	info, err := t.room.projection.Turn(ctx, thread, number, viewer(t.space, who))
	if err != nil {
		return "", nil, err
	}
	return thread, &info, nil
}

// All yields all turns of a thread, oldest first, and at most one error, at the
// end. What is unknown is told before anything else.
func (t *Turns) All(ctx context.Context, who protocol.ParticipantID, thread protocol.ID) iter.Seq2[*turns.TurnInfo, error] {
	return func(yield func(*turns.TurnInfo, error) bool) {
		newest, err := t.History(ctx, who, thread, 1, 0)
		if err != nil {
			yield(nil, err)
			return
		}
		last := 0
		if n := len(newest.Turns); n > 0 {
			last = newest.Turns[n-1].TurnNumber
		}
		for told := 0; told < last; {
			told, err = t.page(ctx, who, thread, told, yield)
			if err != nil {
				yield(nil, err)
				return
			}
			if told < 0 {
				return
			}
		}
	}
}

// window is how many turns are read at a time when all are wanted.
const window = 20

// page yields the turns behind a number, some of them, and returns the number
// up to which there are no others; -1 when no more are wanted.
func (t *Turns) page(ctx context.Context, who protocol.ParticipantID, thread protocol.ID, told int,
	yield func(*turns.TurnInfo, error) bool,
) (int, error) {
	var parts [][]turns.TurnInfo // the youngest first: large turns come in several
	for before := told + window + 1; before > told+1; {
		h, err := t.room.projection.History(ctx, thread, window, before, viewer(t.space, who))
		if err != nil {
			return 0, err
		}
		if len(h.Turns) == 0 {
			break
		}
		parts = append(parts, h.Turns)
		before = h.Turns[0].TurnNumber
	}
	for _, part := range slices.Backward(parts) {
		for i := range part {
			if part[i].TurnNumber > told && !yield(&part[i], nil) {
				return -1, nil
			}
		}
	}
	return told + window, nil
}
