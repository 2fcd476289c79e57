package recall

import (
	"context"
	"errors"
	"iter"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// Turns answers for one space. Each method waits until everything that was in
// the log when it was called is taken into account, so that who has just
// written finds it. One goroutine may use it. Errors: [turns.ErrUnknown] wrapped, the log's, ctx's,
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

// ready waits until the log has been read. A room that was forgotten meanwhile
// is made anew.
func (t *Turns) ready(ctx context.Context) error {
	for {
		err := t.room.reach(ctx, t.keeper, t.space.Head())
		if !errors.Is(err, errForgotten) {
			return err
		}
		again, err := t.keeper.In(t.space)
		if err != nil {
			return err
		}
		t.room = again.room
	}
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

// TurnOf returns the turn that an envelope belongs to, and its thread. Who may
// not see the envelope is not told that there is one.
func (t *Turns) TurnOf(ctx context.Context, who protocol.ParticipantID, id protocol.ID) (protocol.ID, *turns.TurnInfo, error) {
	if err := t.ready(ctx); err != nil {
		return "", nil, err
	}
	if _, refused := t.space.Envelope(ctx, who, id); refused != nil {
		if refused.Code == protocol.CodeNotFound {
			return "", nil, turns.ErrUnknown
		}
		return "", nil, refused
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

// All yields all turns of a thread, as [turns.Projection.All] does.
func (t *Turns) All(ctx context.Context, who protocol.ParticipantID, thread protocol.ID) iter.Seq2[*turns.TurnInfo, error] {
	return func(yield func(*turns.TurnInfo, error) bool) {
		if err := t.ready(ctx); err != nil {
			yield(nil, err)
			return
		}
		t.room.projection.All(ctx, thread, viewer(t.space, who))(yield)
	}
}
