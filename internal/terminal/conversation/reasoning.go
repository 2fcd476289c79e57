package conversation

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/protocol"
)

// maxReasonings bounds the reasoning that is kept.
const maxReasonings = 512

// reasonings holds the reasoning in progress and the reasoning that ended recently.
type reasonings struct {
	byPath map[protocol.ContextPath]*Block
	order  []protocol.ContextPath
	all    bool // every block is open
}

// inProgress returns the blocks of the reasoning in progress, oldest first.
func (s *reasonings) inProgress() []*Block {
	var list []*Block
	for _, path := range s.order {
		if b := s.byPath[path]; b != nil && b.Reasoning.State == block.Thinking {
			list = append(list, b)
		}
	}
	return list
}

// add stores a block, and evicts the oldest when there are too many.
func (s *reasonings) add(b *Block) {
	s.byPath[b.Reasoning.Path] = b
	s.order = append(s.order, b.Reasoning.Path)
	if len(s.order) > maxReasonings {
		delete(s.byPath, s.order[0])
		s.order = slices.Delete(s.order, 0, 1)
	}
}

func (m *Model) handleReasoning(env *protocol.Envelope) {
	if env.Kind == protocol.KindReasoningStart && env.Context == "" {
		path := protocol.ContextPath(env.ID)
		b := m.reasonings.byPath[path]
		if b == nil {
			b = m.newReasoning(env, path)
		}
		b.Reasoning.Agent, b.Reasoning.Last = env.From, env.TS
		b.Reasoning.Begin(env, m.refer)
		b.Reasoning.NoteActivity(env, m.participants.isConnected(env.From))
		b.Change()
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
		b.Reasoning.Question = env.Correlation.First()
		if env.Kind == protocol.KindReasoningStart { // a client that names its contexts itself
			b.Reasoning.Begin(env, m.refer)
		}
	}
	b.Reasoning.NoteActivity(env, m.participants.isConnected(b.Reasoning.Agent))
	b.Reasoning.Add(env, m.refer)
	if env.Kind.ClosesContext() && env.Context == b.Reasoning.Path {
		m.endThinking(b, env)
	}
	b.Change()
}

func (m *Model) newReasoning(env *protocol.Envelope, path protocol.ContextPath) *Block {
	p, _ := m.threads.at(env.ID)
	b := &Block{Kind: ReasoningBlock, Context: path, Reasoning: block.NewReasoning(env.From, path, env.TS), thread: p.thread}
	b.Reasoning.Open = m.reasonings.all
	m.reasonings.add(b)
	return m.show(b)
}

// endThinking closes a block.
func (m *Model) endThinking(b *Block, env *protocol.Envelope) {
	if b == nil || b.Reasoning.State == block.Thought || b.Reasoning.State == block.Canceled {
		return
	}
	d := b.Reasoning
	d.End, d.State = env.TS, block.Thought
	if env.Kind == protocol.KindReasoningCancel {
		d.State, d.Why = block.Canceled, block.ReasonFor(env, d.Agent)
	}
	m.changed(b)
	if d.State == block.Canceled && env.From == d.Agent && d.Question != "" && m.isNew(env) { // no answer will follow it
		d.Read = true
		m.do(ReadTurn{Envelope: protocol.ID(d.Path), Agent: d.Agent, Show: true, Mine: b.thread != nil && b.thread.mine})
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
		case d.Question != "" && env.Correlation.Names(d.Question):
			d.DropStream(stream, d.Agent) // it is the answer
			m.endThinking(b, env)
			ask = ask || !d.Read
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
			d.State, d.End = block.Stopped, d.Last
			if now := m.GatewayTime(); now.After(d.End) {
				d.End = now
			}
			m.changed(b)
		}
	}
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
// should stop by themselves; otherwise forceCancel closes their contexts. If this
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
	case slices.ContainsFunc(m.pendingCancels, func(q pendingCancel) bool { return q.question == b.Chat.id }):
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
			Kind: protocol.KindReasoningCancel, To: q.to, Context: d.Path, Correlation: protocol.CorrelateTo(rootOf(d.Path)),
			Payload: []byte(`{"reason":"no_longer_needed"}`),
		}, func() {
			m.printLines(ErrorBlock, "You are not allowed to stop the reasoning of "+termsafe.Line(string(d.Agent))+".")
		})
	}
}

// thinkingAbout returns the reasoning in progress about a message.
func (m *Model) thinkingAbout(question protocol.ID) []*block.Reasoning {
	var list []*block.Reasoning
	for _, b := range m.reasonings.inProgress() {
		if b.Reasoning.Question == question {
			list = append(list, b.Reasoning)
		}
	}
	return list
}

func (m *Model) handleStream(env *protocol.Envelope) {
	p := payload[struct {
		Stream string          `json:"stream_id"`
		Data   json.RawMessage `json:"data"`
		Owner  string          `json:"owner"`
		Reason string          `json:"reason"`
	}](env)
	if env.Kind == protocol.KindStreamClose {
		if p.Reason != protocol.StreamWithdrawn { // the complete text follows, or this one stays as it is
			return
		}
		for _, b := range m.reasonings.byPath {
			if b.Reasoning.DropStream(p.Stream, env.From) {
				b.Change()
			}
		}
		return
	}
	b := m.reasonings.byPath[protocol.ContextPath(rootOf(env.Context))]
	if env.Context == "" { // an answer that grows is shown in the block until it is complete
		for _, of := range m.reasonings.inProgress() {
			if d := of.Reasoning; d.Agent == env.From && d.Question != "" && env.Correlation.Names(d.Question) {
				within := *env
				within.Context = d.Path
				b, env = of, &within
				break
			}
		}
	}
	if b == nil || p.Stream == "" || b.Reasoning.State != block.Thinking {
		return
	}
	from := env.From
	if from == protocol.GatewayID { // it opens the streams that MEW clients request
		from = protocol.ParticipantID(p.Owner)
	}
	if b.Reasoning.AddPiece(env, p.Stream, from, p.Data) {
		b.Change()
	}
}
