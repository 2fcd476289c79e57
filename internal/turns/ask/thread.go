package ask

import (
	"slices"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// maxTurns bounds the questions of a thread that are followed: the newest.
const maxTurns = 32

// Thread follows all questions of a thread. Which envelope belongs to which question, the
// index of turns tells: unlike Follow, a Thread has no rules of its own for that.
type Thread struct {
	turns []*threadTurn // the oldest first
}

// threadTurn is a question of a thread. What follows its end has events too.
type threadTurn struct {
	*turn
	number int
	ended  bool
	due    time.Time // when it ends if nothing follows; zero: more is expected
}

// Ask adds a question. A participant that is no agent answers with a chat that begins a turn
// too: then the answer comes first.
func (t *Thread) Ask(e *protocol.Envelope, number int) (list []*Event) {
	for _, of := range t.turns {
		if e.Correlation.Names(of.question.ID) {
			list = append(list, of.apply(e, false)...)
		}
	}
	t.turns = append(t.turns, &threadTurn{turn: newTurn(Question{ID: e.ID, From: e.From, To: e.To}), number: number})
	t.turns = t.turns[max(0, len(t.turns)-maxTurns):]
	return append(list, &Event{Type: Asked, Envelope: e, Text: textOf(e, "message"), Question: e.ID, Turn: number})
}

// Apply returns the events of an envelope of a turn. number is 0 for an envelope that is not
// in the log: it has events if a turn has its stream.
func (t *Thread) Apply(e *protocol.Envelope, number int) (list []*Event) {
	for _, of := range t.turns {
		if number == 0 || of.number == number {
			list = append(list, of.apply(e, number != 0)...)
		}
	}
	return list
}

// apply returns the events of an envelope, and notes when the turn ends if nothing follows.
func (t *threadTurn) apply(e *protocol.Envelope, belongs bool) []*Event {
	list := t.marked(t.fold(e, belongs))
	if !belongs && len(list) == 0 {
		return nil
	}
	t.due = time.Time{}
	if !t.ended && t.quiet() {
		t.due = e.TS.Add(settle)
	}
	return list
}

// marked names the question of events, and leaves out another end.
func (t *threadTurn) marked(list []*Event) []*Event {
	return slices.DeleteFunc(list, func(e *Event) bool {
		e.Question, e.Turn = t.question.ID, t.number
		again := e.Type == Ended && t.ended
		t.ended = t.ended || e.Type == Ended
		return again
	})
}

// Expire returns the ends of the turns that seemed to be over at a time, and when to call it
// again; zero: no turn seems to be.
func (t *Thread) Expire(now time.Time) (list []*Event, next time.Time) {
	for _, of := range t.turns {
		switch {
		case of.due.IsZero():
		case !of.due.After(now):
			of.due = time.Time{}
			list = append(list, of.marked([]*Event{of.end()})...)
		case next.IsZero() || of.due.Before(next):
			next = of.due
		}
	}
	return list, next
}
