package tui

import (
	"slices"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the reasoning that is kept.
const (
	maxReasonings = 512
	maxSteps      = 200     // of one participant; older ones are counted
	maxStep       = 4 << 10 // bytes
)

// reasoningState is the state of a participant's reasoning.
type reasoningState int

const (
	thinking reasoningState = iota
	thought
	cancelled
	stopped // the participant has left
)

// reasoning is the reasoning of one participant about one question, in a context and
// all contexts below it.
type reasoning struct {
	agent    protocol.ParticipantID
	path     protocol.ContextPath
	question protocol.ID
	thread   *thread

	start, last, end time.Time // by the gateway's clock; start is zero if it was missed
	state            reasoningState
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
	stream  string                 // on which it grows, until it comes as a whole; "": it does not
	by      protocol.ParticipantID // its author, if that is not the agent
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

// reasonings holds the reasoning in progress and the reasoning that ended recently.
type reasonings struct {
	byPath map[protocol.ContextPath]*block
	order  []protocol.ContextPath
	all    bool // every block is open
}

func newReasonings() reasonings { return reasonings{byPath: make(map[protocol.ContextPath]*block)} }

func (s *reasonings) running() int {
	n := 0
	for _, b := range s.byPath {
		if b.reasoning.state == thinking {
			n++
		}
	}
	return n
}

// add stores a block, and evicts the oldest when there are too many.
func (s *reasonings) add(b *block) {
	s.byPath[b.reasoning.path] = b
	s.order = append(s.order, b.reasoning.path)
	if len(s.order) > maxReasonings {
		delete(s.byPath, s.order[0])
		s.order = slices.Delete(s.order, 0, 1)
	}
}

// tick advances the spinners of all reasoning in progress.
func (s *reasonings) tick(*model) {
	for _, b := range s.byPath {
		if b.reasoning.state == thinking {
			b.reasoning.beat++
			b.change()
		}
	}
}

// handleReasoning handles an envelope of reasoning.
func (m *model) handleReasoning(env *protocol.Envelope) {
	if env.Kind == protocol.KindReasoningStart && env.Context == "" {
		m.beginThinking(env)
		return
	}
	if env.Kind == protocol.KindReasoningCancel && env.Context == "" {
		for _, id := range env.Correlation.IDs {
			m.endThinking(m.reasonings.byPath[protocol.ContextPath(id)], env)
		}
		return
	}
	if env.Context == "" {
		return
	}
	b := m.reasonings.byPath[protocol.ContextPath(rootOf(env.Context))]
	if b == nil {
		if !env.Kind.IsReasoning() || env.Kind.ClosesContext() {
			return
		}
		b = m.newReasoning(env, protocol.ContextPath(rootOf(env.Context)))
		b.reasoning.question = env.Correlation.First()
		if env.Kind == protocol.KindReasoningStart { // a client that names its contexts itself
			b.reasoning.start = env.TS
		}
	}
	b.reasoning.noteActivity(env, m.people.isConnected(b.reasoning.agent))
	b.reasoning.add(env)
	if env.Kind.ClosesContext() && env.Context == b.reasoning.path {
		m.endThinking(b, env)
	}
	b.change()
}

func (m *model) beginThinking(env *protocol.Envelope) {
	path := protocol.ContextPath(env.ID)
	b := m.reasonings.byPath[path]
	if b == nil {
		b = m.newReasoning(env, path)
	}
	b.reasoning.agent, b.reasoning.start, b.reasoning.last = env.From, env.TS, env.TS
	b.reasoning.question = env.Correlation.First()
	b.reasoning.noteActivity(env, m.people.isConnected(env.From))
	b.change()
}

func (m *model) newReasoning(env *protocol.Envelope, path protocol.ContextPath) *block {
	p, _ := m.threads.at(env.ID)
	b := &block{kind: reasoningBlock, context: path, reasoning: &reasoning{
		agent: env.From, path: path, thread: p.thread, last: env.TS, open: m.reasonings.all, calls: make(map[protocol.ID]call),
	}}
	m.reasonings.add(b)
	return m.show(b)
}

// noteActivity records activity in the reasoning. An envelope of the participant
// resumes the reasoning only while the participant is connected, since replayed
// envelopes may be older than its departure.
func (d *reasoning) noteActivity(env *protocol.Envelope, here bool) {
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
	if b == nil || b.reasoning.state == thought || b.reasoning.state == cancelled {
		return
	}
	d := b.reasoning
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

// endAnswered ends the reasoning that a message answers, and reads its turn to
// show it.
func (m *model) endAnswered(answer *block, env *protocol.Envelope) {
	stream := payload[struct {
		ID string `json:"stream_id"`
	}](env).ID
	ask := false
	for _, b := range m.reasonings.byPath {
		d := b.reasoning
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

// stopReasoning marks the reasoning of a participant that left as stopped.
func (m *model) stopReasoning(who protocol.ParticipantID) {
	for _, b := range m.reasonings.byPath {
		if d := b.reasoning; d.agent == who && d.state == thinking {
			d.state, d.end = stopped, d.last
			if now := m.skew.gateway(m.now()); now.After(d.end) {
				d.end = now
			}
			m.changed(b)
		}
	}
}

// elapsed returns the duration of the reasoning; false if it is unknown.
func (d *reasoning) elapsed(now time.Time) (time.Duration, bool) {
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
