package tui

import (
	"slices"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Bounds of what is remembered of thinking.
const (
	maxMinds = 512
	maxSteps = 200     // of one; older ones are counted
	maxStep  = 4 << 10 // bytes
)

// mindState is how far somebody's thinking has come.
type mindState int

const (
	thinking mindState = iota
	thought
	cancelled
	stopped // who thought has left
)

// mind is what one participant thinks about one question, in a context and all
// those within.
type mind struct {
	agent    protocol.ParticipantID
	path     protocol.ContextPath
	question protocol.ID
	thread   *thread

	start, last, end time.Time // by the gateway's clock; start is zero if it was missed
	state            mindState
	why              string // of a cancellation

	steps   []step
	dropped int // steps before those
	calls   map[protocol.ID]call

	asked bool // for its reasoning, when it was cancelled
	open  bool // all steps are shown
	beat  int  // of the spinner
}

// step is one thing thought or done.
type step struct {
	text    string
	context protocol.ContextPath
	stream  string // on which it grows, until it comes as a whole; "": it does not
}

// call is a request in a context, or a proposal of one.
type call struct {
	tool     string
	from     protocol.ParticipantID
	to       []protocol.ParticipantID
	proposed bool
}

// isAnswered reports whether a response of a participant may end the call: of its
// sender, of an addressee, and of any participant if it has no addressees. A
// proposal has no response; the request that fulfills it has.
func (c call) isAnswered(by protocol.ParticipantID) bool {
	return !c.proposed && (by == c.from || len(c.to) == 0 || slices.Contains(c.to, by))
}

// minds are those who think, and who thought of late.
type minds struct {
	byPath map[protocol.ContextPath]*block
	order  []protocol.ContextPath
	all    bool // every block is open
}

func newMinds() minds { return minds{byPath: make(map[protocol.ContextPath]*block)} }

func (s *minds) running() int {
	n := 0
	for _, b := range s.byPath {
		if b.mind.state == thinking {
			n++
		}
	}
	return n
}

// add remembers a block, and forgets the oldest when there are too many.
func (s *minds) add(b *block) {
	s.byPath[b.mind.path] = b
	s.order = append(s.order, b.mind.path)
	if len(s.order) > maxMinds {
		delete(s.byPath, s.order[0])
		s.order = slices.Delete(s.order, 0, 1)
	}
}

// tick lets the time of everybody who thinks go on.
func (s *minds) tick(*model) {
	for _, b := range s.byPath {
		if b.mind.state == thinking {
			b.mind.beat++
			b.change()
		}
	}
}

// think takes in an envelope of somebody's reasoning.
func (m *model) think(env *protocol.Envelope) {
	if env.Kind == protocol.KindReasoningStart && env.Context == "" {
		m.beginThinking(env)
		return
	}
	if env.Kind == protocol.KindReasoningCancel && env.Context == "" {
		for _, id := range env.Correlation.IDs {
			m.endThinking(m.minds.byPath[protocol.ContextPath(id)], env)
		}
		return
	}
	if env.Context == "" {
		return
	}
	b := m.minds.byPath[protocol.ContextPath(rootOf(env.Context))]
	if b == nil {
		if !env.Kind.IsReasoning() || env.Kind.ClosesContext() {
			return
		}
		b = m.newMind(env, protocol.ContextPath(rootOf(env.Context)))
		b.mind.question = env.Correlation.First()
		if env.Kind == protocol.KindReasoningStart { // a client that names its contexts itself
			b.mind.start = env.TS
		}
	}
	b.mind.goOn(env, m.people.isHere(b.mind.agent))
	b.mind.add(env)
	if env.Kind.ClosesContext() && env.Context == b.mind.path {
		m.endThinking(b, env)
	}
	b.change()
}

func (m *model) beginThinking(env *protocol.Envelope) {
	path := protocol.ContextPath(env.ID)
	b := m.minds.byPath[path]
	if b == nil {
		b = m.newMind(env, path)
	}
	b.mind.agent, b.mind.start, b.mind.last = env.From, env.TS, env.TS
	b.mind.question = env.Correlation.First()
	b.mind.goOn(env, m.people.isHere(env.From))
	b.change()
}

func (m *model) newMind(env *protocol.Envelope, path protocol.ContextPath) *block {
	p, _ := m.threads.at(env.ID)
	b := &block{kind: thoughtBlock, context: path, mind: &mind{
		agent: env.From, path: path, thread: p.thread, last: env.TS, open: m.minds.all, calls: make(map[protocol.ID]call),
	}}
	m.minds.add(b)
	return m.show(b)
}

// goOn notes a sign of life. What is told of somebody who has left, because
// it is of before, is none.
func (d *mind) goOn(env *protocol.Envelope, here bool) {
	if env.TS.After(d.last) {
		d.last = env.TS
	}
	switch {
	case env.From != d.agent:
	case d.state == thinking && !here:
		d.state, d.end = stopped, d.last
	case d.state == stopped && here:
		d.state, d.end = thinking, time.Time{}
	}
}

// endThinking closes a block.
func (m *model) endThinking(b *block, env *protocol.Envelope) {
	if b == nil || b.mind.state == thought || b.mind.state == cancelled {
		return
	}
	d := b.mind
	d.end, d.state = env.TS, thought
	if env.Kind == protocol.KindReasoningCancel {
		d.state, d.why = cancelled, reasonFor(env, d.agent)
	}
	m.changed(b)
	if d.state == cancelled && env.From == d.agent && d.question != "" && m.isNew(env) { // no answer comes to stand above it
		d.asked = true
		m.do(readTurn{envelope: protocol.ID(d.path), agent: d.agent, show: true, mine: d.thread != nil && d.thread.mine})
	}
}

// conclude ends the thinking that a message answers, and asks for its
// reasoning.
func (m *model) conclude(answer *block, env *protocol.Envelope) {
	stream := payload[struct {
		ID string `json:"stream_id"`
	}](env).ID
	ask := false
	for _, b := range m.minds.byPath {
		d := b.mind
		switch {
		case d.agent != env.From || env.Context != "" || len(env.Correlation.IDs) == 0:
		case d.question != "" && env.Correlation.Names(d.question):
			d.drop(stream)
			m.endThinking(b, env)
			ask = ask || !d.asked
		case d.start.IsZero(): // it began before we came: this may be its answer
			ask = true
		}
	}
	if ask && m.isNew(env) {
		t := answer.chat.thread
		m.do(readTurn{envelope: env.ID, agent: env.From, show: true, mine: t != nil && t.mine})
	}
}

// isNew reports whether an envelope is of now, and not told of before.
func (m *model) isNew(env *protocol.Envelope) bool { return env.Seq > m.head || env.Seq == 0 }

// leaves notes that somebody has gone.
func (m *model) leaves(who protocol.ParticipantID) {
	for _, b := range m.minds.byPath {
		if d := b.mind; d.agent == who && d.state == thinking {
			d.state, d.end = stopped, d.last
			if now := m.skew.gateway(m.now()); now.After(d.end) {
				d.end = now
			}
			m.changed(b)
		}
	}
}

// elapsed is how long the thinking has lasted; false if that is unknown.
func (d *mind) elapsed(now time.Time) (time.Duration, bool) {
	if d.start.IsZero() {
		return 0, false
	}
	end := d.end
	if d.state == thinking {
		end = d.last
		if now.After(end) {
			end = now
		}
	}
	return max(0, end.Sub(d.start)), true
}
