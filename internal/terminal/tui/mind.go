package tui

import (
	"slices"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the reasoning that is kept.
const (
	maxMinds = 512
	maxSteps = 200     // of one mind; older ones are counted
	maxStep  = 4 << 10 // bytes
)

// mindState is the state of a participant's reasoning.
type mindState int

const (
	thinking mindState = iota
	thought
	cancelled
	stopped // the participant has left
)

// mind is the reasoning of one participant about one question, in a context and
// all contexts below it.
type mind struct {
	agent    protocol.ParticipantID
	path     protocol.ContextPath
	question protocol.ID
	thread   *thread

	start, last, end time.Time // by the gateway's clock; start is zero if it was missed
	state            mindState
	why              string // of a cancellation

	steps   []step
	dropped int // steps before those in steps
	calls   map[protocol.ID]call

	asked bool // the reasoning was read after a cancellation
	open  bool // all steps are shown
	beat  int  // of the spinner
}

// step is one thought or action.
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

// isAnswered reports whether a response of a participant may end the call: of
// its sender, of an addressee, and of any participant if it has no addressees.
// A proposal has no response; the request that fulfills it has.
func (c call) isAnswered(by protocol.ParticipantID) bool {
	return !c.proposed && (by == c.from || len(c.to) == 0 || slices.Contains(c.to, by))
}

// minds holds the reasoning in progress and the reasoning that ended recently.
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

// add stores a block, and evicts the oldest when there are too many.
func (s *minds) add(b *block) {
	s.byPath[b.mind.path] = b
	s.order = append(s.order, b.mind.path)
	if len(s.order) > maxMinds {
		delete(s.byPath, s.order[0])
		s.order = slices.Delete(s.order, 0, 1)
	}
}

// tick advances the spinners of all reasoning in progress.
func (s *minds) tick(*model) {
	for _, b := range s.byPath {
		if b.mind.state == thinking {
			b.mind.beat++
			b.change()
		}
	}
}

// think handles an envelope of reasoning.
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

// goOn records activity in the reasoning. An envelope of the participant
// resumes the reasoning only while the participant is connected, since replayed
// envelopes may be older than its departure.
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
	if d.state == cancelled && env.From == d.agent && d.question != "" && m.isNew(env) { // no answer will follow it
		d.asked = true
		m.do(readTurn{envelope: protocol.ID(d.path), agent: d.agent, show: true, mine: d.thread != nil && d.thread.mine})
	}
}

// conclude ends the reasoning that a message answers, and reads its turn to
// show it.
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
		case d.start.IsZero(): // it began before this participant connected: this may be its answer
			ask = true
		}
	}
	if ask && m.isNew(env) {
		t := answer.chat.thread
		m.do(readTurn{envelope: env.ID, agent: env.From, show: true, mine: t != nil && t.mine})
	}
}

// isNew reports whether an envelope is new and not a replayed one.
func (m *model) isNew(env *protocol.Envelope) bool { return env.Seq > m.head || env.Seq == 0 }

// leaves marks the reasoning of a participant that left as stopped.
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

// elapsed returns the duration of the reasoning; false if it is unknown.
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
