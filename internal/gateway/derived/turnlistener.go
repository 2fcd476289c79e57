package derived

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// TurnListener receives the steps of agents in one space, in order of the log. One
// goroutine may use it.
type TurnListener struct {
	tailer *tailer
	space  *space.Space
	who    ring.Viewer
	wake   func()
	sent   protocol.Seq // events up to here were received
	behind bool         // the log grows faster than it is applied, or is not applied yet
}

// Close ends the listening.
func (l *TurnListener) Close() {
	l.tailer.mu.Lock()
	defer l.tailer.mu.Unlock()
	delete(l.tailer.listeners, l)
}

// TurnUpdate is an event as one participant receives it.
type TurnUpdate struct {
	Name string
	Seq  protocol.Seq
	Data json.RawMessage
}

// maxLag bounds how long an envelope waits for its update. Usually the update is
// there at once.
const maxLag = 50 * time.Millisecond

// UpTo yields the updates of the log up to a Seq that were not received before.
// It waits up to maxLag for the log to be applied so far; wake is called for
// updates that come later. An update that the log cannot be read for is yielded
// by a later call.
func (l *TurnListener) UpTo(ctx context.Context, seq protocol.Seq) iter.Seq[TurnUpdate] {
	return func(yield func(TurnUpdate) bool) {
		upTo := min(seq, l.await(ctx, seq))
		if upTo <= l.sent {
			return
		}
		l.tailer.mu.Lock()
		events, tracker := l.tailer.events.Between(l.sent, upTo), l.tailer.tracker
		l.tailer.mu.Unlock()
		if tracker == nil { // the index is being opened again
			return
		}
		v := viewerOf(l.space, l.who)
		for _, e := range events {
			data, err := tracker.Data(ctx, e, v)
			if err != nil {
				l.tailer.log.Warn("read the log for an event", "seq", e.Seq, "error", err)
				return
			}
			l.sent = e.Seq
			if data != nil && !yield(TurnUpdate{e.Name(), e.Seq, data}) {
				return
			}
		}
		l.sent = upTo
	}
}

// await returns the Seq up to which events are known.
func (l *TurnListener) await(ctx context.Context, seq protocol.Seq) protocol.Seq {
	read, built := l.tailer.progress()
	switch {
	case built && read >= seq:
		l.behind = false
		return read
	case !l.behind:
		read, built = l.wait(ctx, seq)
	}
	if !built {
		return 0
	}
	return read
}

// wait waits up to maxLag for a Seq to be applied.
func (l *TurnListener) wait(ctx context.Context, seq protocol.Seq) (protocol.Seq, bool) {
	ctx, cancel := context.WithTimeout(ctx, maxLag)
	defer cancel()
	l.behind = l.tailer.waitApplied(ctx, seq) != nil
	return l.tailer.progress()
}

// progress returns how far the log has been applied; false while it is applied
// for the first time.
func (t *tailer) progress() (protocol.Seq, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.read, t.built
}
