package tui

import (
	"github.com/meup-protocol/meup/protocol"
)

// maxKnown bounds the envelopes with a known thread, in each of two
// generations.
const maxKnown = 1 << 14

// thread is one conversation. It has no root until its first chat is in the
// log.
type thread struct {
	number int // assigned by the terminal, in order of appearance
	root   protocol.ID
	last   protocol.ID              // the last message in the log, which the next one answers
	turn   int                      // the latest that is known
	mine   bool                     // this participant has sent a message in it
	to     []protocol.ParticipantID // the addressees of messages typed in it; nil: all participants
}

// place is the thread and the sender of an envelope.
type place struct {
	thread *thread
	from   protocol.ParticipantID
}

// threads maps envelopes to conversations, by the same rules as the gateway: an
// answer belongs to the thread of the answered envelope, and an envelope in a
// context belongs to the thread of that context.
type threads struct {
	active     *thread // the thread of the next message; nil: a new one
	young, old map[protocol.ID]place
	count      int
}

func newThreads() threads { return threads{young: make(map[protocol.ID]place)} }

func (t *threads) at(id protocol.ID) (place, bool) {
	p, ok := t.young[id]
	if !ok {
		p, ok = t.old[id]
	}
	return p, ok
}

func (t *threads) put(id protocol.ID, p place) {
	if len(t.young) >= maxKnown {
		t.young, t.old = make(map[protocol.ID]place), t.young
	}
	t.young[id] = p
}

// begin returns a thread without messages.
func (t *threads) begin() *thread {
	t.count++
	return &thread{number: t.count}
}

// answers returns the place of the first known envelope that env correlates to,
// preferring envelopes in a thread; the zero place if none is known.
func (t *threads) answers(env *protocol.Envelope) place {
	var found place
	for _, id := range env.Correlation.IDs {
		p, known := t.at(id)
		switch {
		case known && p.thread != nil:
			return p
		case known && found.from == "":
			found = p
		}
	}
	return found
}

// note finds the thread of an envelope and stores it. A top-level chat that
// answers nothing begins a thread.
func (t *threads) note(env *protocol.Envelope) *thread {
	if p, ok := t.at(env.ID); ok {
		return p.thread
	}
	p := t.answers(env)
	if p.thread == nil && env.Context != "" {
		p, _ = t.at(rootOf(env.Context))
	}
	if p.thread == nil && env.Kind == protocol.KindChat && env.Context == "" {
		p.thread = t.begin()
		p.thread.root = env.ID
	}
	t.put(env.ID, place{p.thread, env.From})
	t.putName(rootOf(env.Context), p, env.From)
	t.putName(protocol.ID(env.Context.Last()), p, env.From)
	return p.thread
}

// putName stores the place of a context under its name: a correlation to the
// name leads to the first envelope in the context.
func (t *threads) putName(name protocol.ID, p place, from protocol.ParticipantID) {
	if _, known := t.at(name); name != "" && !known {
		t.put(name, place{p.thread, from})
	}
}

// rootOf returns the id of the outermost context of a path.
func rootOf(c protocol.ContextPath) protocol.ID {
	for c.Depth() > 1 {
		c = c.Parent()
	}
	return protocol.ID(c)
}
