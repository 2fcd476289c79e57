package conversation

import (
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the reasoning that is kept.
const (
	maxReasonings = 512
	maxSteps      = 200     // of one participant; older ones are counted
	maxStep       = 4 << 10 // bytes
)

// ReasoningState is the state of a participant's reasoning.
type ReasoningState int

const (
	Thinking ReasoningState = iota
	Thought
	Canceled
	Stopped // the participant has left
)

// Reasoning is the reasoning of one participant about one question, in a context and
// all contexts below it.
type Reasoning struct {
	Agent    protocol.ParticipantID
	path     protocol.ContextPath
	question protocol.ID
	thread   *Thread

	Start, last, end time.Time // by the gateway's clock; start is zero if it was missed
	State            ReasoningState
	Why              string // of a cancellation

	steps   []Step
	Dropped int // steps before those in steps
	calls   map[protocol.ID]call

	asked bool // the reasoning was read after a cancellation
	Open  bool // all steps are shown
	Beat  int  // of the spinner
}

// Step is one thought or action.
type Step struct {
	Text    string
	context protocol.ContextPath
	Stream  string                 // on which it grows, until it comes as a whole; "": it does not
	By      protocol.ParticipantID // its author, if that is not the agent
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
	byPath map[protocol.ContextPath]*Block
	order  []protocol.ContextPath
	all    bool // every block is open
}

func newReasonings() reasonings { return reasonings{byPath: make(map[protocol.ContextPath]*Block)} }

// inProgress returns the blocks of the reasoning in progress, oldest first.
func (s *reasonings) inProgress() []*Block {
	var list []*Block
	for _, path := range s.order {
		if b := s.byPath[path]; b != nil && b.Reasoning.State == Thinking {
			list = append(list, b)
		}
	}
	return list
}

// add stores a block, and evicts the oldest when there are too many.
func (s *reasonings) add(b *Block) {
	s.byPath[b.Reasoning.path] = b
	s.order = append(s.order, b.Reasoning.path)
	if len(s.order) > maxReasonings {
		delete(s.byPath, s.order[0])
		s.order = slices.Delete(s.order, 0, 1)
	}
}

// handleReasoning handles an envelope of reasoning.
func (m *Model) handleReasoning(env *protocol.Envelope) {
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
		b.Reasoning.question = env.Correlation.First()
		if env.Kind == protocol.KindReasoningStart { // a client that names its contexts itself
			b.Reasoning.Start = env.TS
		}
	}
	b.Reasoning.noteActivity(env, m.participants.isConnected(b.Reasoning.Agent))
	b.Reasoning.add(env)
	if env.Kind.ClosesContext() && env.Context == b.Reasoning.path {
		m.endThinking(b, env)
	}
	b.Change()
}

func (m *Model) beginThinking(env *protocol.Envelope) {
	path := protocol.ContextPath(env.ID)
	b := m.reasonings.byPath[path]
	if b == nil {
		b = m.newReasoning(env, path)
	}
	b.Reasoning.Agent, b.Reasoning.Start, b.Reasoning.last = env.From, env.TS, env.TS
	b.Reasoning.question = env.Correlation.First()
	b.Reasoning.noteActivity(env, m.participants.isConnected(env.From))
	b.Change()
}

func (m *Model) newReasoning(env *protocol.Envelope, path protocol.ContextPath) *Block {
	p, _ := m.threads.at(env.ID)
	b := &Block{Kind: ReasoningBlock, Context: path, Reasoning: &Reasoning{
		Agent: env.From, path: path, thread: p.thread, last: env.TS, Open: m.reasonings.all, calls: make(map[protocol.ID]call),
	}}
	m.reasonings.add(b)
	return m.show(b)
}

// noteActivity records activity in the reasoning. An envelope of the participant
// resumes the reasoning only while the participant is connected, since replayed
// envelopes may be older than its departure.
func (d *Reasoning) noteActivity(env *protocol.Envelope, here bool) {
	if env.TS.After(d.last) {
		d.last = env.TS
	}
	switch {
	case env.From != d.Agent:
	case d.State == Thinking && !here:
		d.State, d.end = Stopped, d.last
	case d.State == Stopped && here:
		d.State, d.end = Thinking, time.Time{}
	}
}

// endThinking closes a block.
func (m *Model) endThinking(b *Block, env *protocol.Envelope) {
	if b == nil || b.Reasoning.State == Thought || b.Reasoning.State == Canceled {
		return
	}
	d := b.Reasoning
	d.end, d.State = env.TS, Thought
	if env.Kind == protocol.KindReasoningCancel {
		d.State, d.Why = Canceled, reasonFor(env, d.Agent)
	}
	m.changed(b)
	if d.State == Canceled && env.From == d.Agent && d.question != "" && m.isNew(env) { // no answer will follow it
		d.asked = true
		m.do(ReadTurn{Envelope: protocol.ID(d.path), Agent: d.Agent, Show: true, Mine: d.thread != nil && d.thread.mine})
	}
}

// endAnswered ends the reasoning that a message answers, and reads its turn to
// show it.
func (m *Model) endAnswered(answer *Block, env *protocol.Envelope) {
	stream := payload[struct {
		ID string `json:"stream_id"`
	}](env).ID
	ask := false
	for _, b := range m.reasonings.byPath {
		d := b.Reasoning
		switch {
		case d.Agent != env.From || env.Context != "" || len(env.Correlation.IDs) == 0:
		case d.question != "" && env.Correlation.Names(d.question):
			d.drop(stream)
			m.endThinking(b, env)
			ask = ask || !d.asked
		case d.Start.IsZero(): // it began before this participant connected: this may be its answer
			ask = true
		}
	}
	if ask && m.isNew(env) {
		t := answer.Chat.Thread
		m.do(ReadTurn{Envelope: env.ID, Agent: env.From, Show: true, Mine: t != nil && t.mine})
	}
}

// isNew reports whether an envelope is new and not a replayed one.
func (m *Model) isNew(env *protocol.Envelope) bool { return env.Seq > m.head || env.Seq == 0 }

// stopReasoning marks the reasoning of a participant that left as stopped.
func (m *Model) stopReasoning(who protocol.ParticipantID) {
	for _, b := range m.reasonings.inProgress() {
		if d := b.Reasoning; d.Agent == who {
			d.State, d.end = Stopped, d.last
			if now := m.GatewayTime(); now.After(d.end) {
				d.end = now
			}
			m.changed(b)
		}
	}
}

// Elapsed returns the duration of the reasoning; false if it is unknown.
func (d *Reasoning) Elapsed(now time.Time) (time.Duration, bool) {
	if d.Start.IsZero() {
		return 0, false
	}
	end := d.end
	if d.State == Thinking {
		end = d.last
		if now.After(end) {
			end = now
		}
	}
	return max(0, end.Sub(d.Start)), true
}

// cancelTimeout is how long agents have to end their reasoning themselves
// after the question was withdrawn.
const cancelTimeout = 5 * time.Second

// pendingCancel is a withdrawn question for which reasoning is still in progress.
type pendingCancel struct {
	question protocol.ID
	to       []protocol.ParticipantID
	until    time.Time // when their contexts are closed
}

// cancelQuestion withdraws the last question. Agents that reason about it
// should stop by themselves; otherwise insist closes their contexts. If this
// participant may not withdraw a message, it closes the contexts at once.
func (m *Model) cancelQuestion(string) {
	b := m.lastQuestion()
	switch {
	case b == nil:
		m.printLines(ErrorBlock, "No question to cancel.")
		return
	case b.Chat.State == Waiting:
		m.printLines(ErrorBlock, "Your last message is not sent yet.")
		return
	case m.isPendingCancel(b.Chat.id):
		m.printLines(ErrorBlock, "Your last question is being canceled.")
		return
	case len(m.thinkingAbout(b.Chat.id)) == 0 && b.Chat.answered:
		m.printLines(ErrorBlock, "Your last question is answered.")
		return
	case len(m.thinkingAbout(b.Chat.id)) == 0:
		m.printLines(ErrorBlock, "No reasoning about your last question is in progress.")
		return
	}
	q := pendingCancel{b.Chat.id, b.Chat.To, m.now().Add(cancelTimeout)}
	m.pendingCancels = append(m.pendingCancels, q)
	env := protocol.Envelope{
		Kind: protocol.KindChatCancel, To: q.to, Correlation: protocol.CorrelateTo(q.question),
		Payload: []byte(`{"reason":"no_longer_needed"}`),
	}
	m.askAs(m.newID(), request{
		what: "Canceling", otherwise: func() { m.stopThinking(q) }, failed: func(error) bool { m.dropPendingCancel(q.question); return false },
	}, env)
}

func (m *Model) isPendingCancel(question protocol.ID) bool {
	return slices.ContainsFunc(m.pendingCancels, func(q pendingCancel) bool { return q.question == question })
}

func (m *Model) dropPendingCancel(question protocol.ID) {
	m.pendingCancels = slices.DeleteFunc(m.pendingCancels, func(q pendingCancel) bool { return q.question == question })
}

// forceCancel closes the contexts that are still open for withdrawn questions after
// their deadline.
func (m *Model) forceCancel() {
	for _, q := range slices.Clone(m.pendingCancels) {
		switch {
		case len(m.thinkingAbout(q.question)) == 0:
			m.dropPendingCancel(q.question)
		case !m.now().Before(q.until):
			m.dropPendingCancel(q.question)
			m.stopThinking(q)
		}
	}
}

// stopThinking closes the contexts of the reasoning about a question. It shows
// an error for each context that this participant may not close.
func (m *Model) stopThinking(q pendingCancel) {
	for _, d := range m.thinkingAbout(q.question) {
		m.ask("Canceling", protocol.Envelope{
			Kind: protocol.KindReasoningCancel, To: q.to, Context: d.path, Correlation: protocol.CorrelateTo(rootOf(d.path)),
			Payload: []byte(`{"reason":"no_longer_needed"}`),
		}, func() {
			m.printLines(ErrorBlock, "You are not allowed to stop the reasoning of "+termsafe.Line(string(d.Agent))+".")
		})
	}
}

// thinkingAbout returns the reasoning in progress about a message.
func (m *Model) thinkingAbout(question protocol.ID) []*Reasoning {
	var list []*Reasoning
	for _, b := range m.reasonings.inProgress() {
		if b.Reasoning.question == question {
			list = append(list, b.Reasoning)
		}
	}
	return list
}
