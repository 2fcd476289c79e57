package recall

import (
	"context"
	"encoding/json"
	"slices"

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

// Listener hears of the steps of agents, in order of the log.
type Listener struct {
	turns *Turns
	who   protocol.ParticipantID
	wake  func()
	told  protocol.Seq // events up to here have been returned
}

// Listen returns a listener for a participant that has heard of everything up
// to a Seq. wake is called when there is more to hear; it must be quick and not
// call back. Close must be called.
func (t *Turns) Listen(who protocol.ParticipantID, after protocol.Seq, wake func()) *Listener {
	l := &Listener{turns: t, who: who, wake: wake, told: after}
	r := t.room
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listeners[l] = struct{}{}
	return l
}

// Close ends the listening.
func (l *Listener) Close() {
	r := l.turns.room
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.listeners, l)
}

// Update is an event as one participant is told it.
type Update struct {
	Name string
	Seq  protocol.Seq
	Data json.RawMessage
}

// UpTo returns what there is to tell of the log up to a Seq, beyond what was
// returned before. It waits until the log has been read as far, but not for the
// log to be read for the first time: until then there is nothing to tell.
// Only one goroutine may call it.
func (l *Listener) UpTo(ctx context.Context, seq protocol.Seq) []Update {
	t := l.turns
	if !t.room.isBuilt() || t.room.reach(ctx, t.keeper, seq) != nil {
		return nil
	}
	t.room.mu.Lock()
	events := t.room.events.between(l.told, seq)
	t.room.mu.Unlock()
	if seq > l.told {
		l.told = seq
	}
	if len(events) == 0 {
		return nil
	}
	var out []Update
	v := viewer(t.space, l.who)
	for i := range events {
		if data, ok := events[i].Data(v); ok {
			out = append(out, Update{events[i].Name, events[i].Seq, data})
		}
	}
	return out
}

func (r *room) isBuilt() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.built
}
