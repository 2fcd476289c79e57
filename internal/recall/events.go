package recall

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the events that are kept for those who come back. An event tells
// all of its turn so far, so what falls out is told by a later one, or by the
// history.
const (
	maxEvents     = 1024
	maxEventBytes = 16 << 20 // of what they hold on to, about
)

// recent are the youngest events, in order of Seq.
type recent struct {
	list  []turns.Event
	bytes int
}

func (r *recent) add(e turns.Event) {
	r.list = append(r.list, e)
	r.bytes += e.Bytes()
	drop := 0
	for len(r.list)-drop > 1 && (len(r.list)-drop > maxEvents || r.bytes > maxEventBytes) {
		r.bytes -= r.list[drop].Bytes()
		drop++
	}
	if drop > 0 {
		r.list = slices.Delete(r.list, 0, drop)
	}
}

// between returns the events with after < Seq <= upTo.
func (r *recent) between(after, upTo protocol.Seq) []turns.Event {
	var out []turns.Event
	for _, e := range r.list {
		if e.Seq > after && e.Seq <= upTo {
			out = append(out, e)
		}
	}
	return out
}

// Listener hears of the steps of agents, in order of the log. Only one goroutine
// may use it.
type Listener struct {
	room   *room
	space  *space.Space
	who    protocol.ParticipantID
	wake   func()
	told   protocol.Seq // events up to here have been told
	behind bool         // the log is applied more slowly than it grows
}

// Close ends the listening.
func (l *Listener) Close() {
	l.room.mu.Lock()
	defer l.room.mu.Unlock()
	delete(l.room.listeners, l)
}

// Update is an event as one participant is told it.
type Update struct {
	Name string
	Seq  protocol.Seq
	Data json.RawMessage
}

// lag is how long what was said may wait for what is to be told of it. As a
// rule that is there at once.
const lag = 50 * time.Millisecond

// UpTo yields what there is to tell of the log up to a Seq, beyond what was
// told before. It gives the log a moment to be applied so far; what comes later
// is told later, for which wake is called.
func (l *Listener) UpTo(ctx context.Context, seq protocol.Seq) iter.Seq[Update] {
	return func(yield func(Update) bool) {
		upTo := min(seq, l.await(ctx, seq))
		if upTo <= l.told {
			return
		}
		l.room.mu.Lock()
		events := l.room.events.between(l.told, upTo)
		l.room.mu.Unlock()
		l.told = upTo
		if len(events) == 0 {
			return
		}
		v := viewer(l.space, l.who)
		for i := range events {
			data, ok := events[i].Data(v)
			if ok && !yield(Update{events[i].Name, events[i].Seq, data}) {
				return
			}
		}
	}
}

// await returns up to where there is something to tell.
func (l *Listener) await(ctx context.Context, seq protocol.Seq) protocol.Seq {
	read, built := l.room.applied()
	switch {
	case !built:
		return 0
	case read >= seq:
		l.behind = false
		return read
	case l.behind:
		return read
	}
	ctx, cancel := context.WithTimeout(ctx, lag)
	defer cancel()
	l.behind = l.room.applies(ctx, seq) != nil
	read, _ = l.room.applied()
	return read
}
