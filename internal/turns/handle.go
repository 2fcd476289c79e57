package turns

import (
	"context"
	"errors"
	"iter"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

// Handle answers questions about one space. Each method first waits until the log
// as it was at the call has been applied, so that a writer finds its own
// envelopes. One goroutine may use it. Errors: [ErrUnknown] wrapped, the log's,
// ctx's, ErrClosed.
type Handle struct {
	store  *Store
	tailer *tailer
	space  *space.Space
}

// viewerOf returns a participant of a space as a Viewer.
func viewerOf(sp *space.Space, who protocol.ParticipantID) Viewer {
	sight := sp.SightOf(who)
	return Viewer{
		Sees:    func(e *Entry) bool { return sight.Sees(e.Envelope, e.Thread) },
		Present: sp.IsPresent,
	}
}

// ready waits until the log has been applied. A tailer that was dropped meanwhile
// is replaced.
func (h *Handle) ready(ctx context.Context) error {
	for {
		err := h.tailer.reach(ctx, h.store, h.space.Head())
		if !errors.Is(err, errDropped) {
			return err
		}
		again, err := h.store.In(h.space)
		if err != nil {
			return err
		}
		h.tailer = again.tailer
	}
}

// History returns a page of a thread, as [Tracker.History] does.
func (h *Handle) History(ctx context.Context, who protocol.ParticipantID, thread protocol.ID, limit, before int) (*History, error) {
	if err := h.ready(ctx); err != nil {
		return nil, err
	}
	return h.tailer.tracker.History(ctx, thread, limit, before, viewerOf(h.space, who))
}

// Threads returns a page of the threads, as [Tracker.Threads] does.
func (h *Handle) Threads(ctx context.Context, who protocol.ParticipantID, limit int, before protocol.Seq) ([]ThreadInfo, protocol.Seq, error) {
	if err := h.ready(ctx); err != nil {
		return nil, 0, err
	}
	list, next := h.tailer.tracker.Threads(limit, before, viewerOf(h.space, who))
	return list, next, nil
}

// TurnOf returns the turn that an envelope belongs to, and its thread. For a
// viewer that may not see the envelope it does not exist.
func (h *Handle) TurnOf(ctx context.Context, who protocol.ParticipantID, id protocol.ID) (protocol.ID, *TurnInfo, error) {
	if err := h.ready(ctx); err != nil {
		return "", nil, err
	}
	if _, refused := h.space.Envelope(ctx, who, id); refused != nil {
		if refused.Code == protocol.CodeNotFound {
			return "", nil, ErrUnknown
		}
		return "", nil, refused
	}
	thread, number, ok := h.tailer.tracker.TurnOf(id)
	if !ok {
		return "", nil, ErrUnknown
	}
	info, err := h.tailer.tracker.Turn(ctx, thread, number, viewerOf(h.space, who))
	if err != nil {
		return "", nil, err
	}
	return thread, &info, nil
}

// All yields all turns of a thread, as [Tracker.All] does.
func (h *Handle) All(ctx context.Context, who protocol.ParticipantID, thread protocol.ID) iter.Seq2[*TurnInfo, error] {
	return func(yield func(*TurnInfo, error) bool) {
		if err := h.ready(ctx); err != nil {
			yield(nil, err)
			return
		}
		h.tailer.tracker.All(ctx, thread, viewerOf(h.space, who))(yield)
	}
}
