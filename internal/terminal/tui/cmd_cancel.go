package tui

import (
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// patienceWithAgents is how long agents have to end their reasoning themselves
// after the question was withdrawn.
const patienceWithAgents = 5 * time.Second

// calledOff is a withdrawn question for which reasoning is still in progress.
type calledOff struct {
	question protocol.ID
	to       []protocol.ParticipantID
	until    time.Time // when their contexts are closed
}

// cancelQuestion withdraws the last question. Agents that reason about it
// should stop by themselves; otherwise insist closes their contexts. If this
// participant may not withdraw a message, it closes the contexts at once.
func (m *model) cancelQuestion(string) {
	b := m.lastQuestion()
	switch {
	case b == nil:
		m.say(errorBlock, "There is no question of yours to cancel.")
		return
	case b.chat.state == waiting:
		m.say(errorBlock, "Your last message is not sent yet.")
		return
	case m.isCalledOff(b.chat.id):
		m.say(errorBlock, "Your last question is being cancelled.")
		return
	case len(m.thinkingAbout(b.chat.id)) == 0 && b.chat.answered:
		m.say(errorBlock, "Nothing is being reasoned for your last question: it is answered.")
		return
	case len(m.thinkingAbout(b.chat.id)) == 0:
		m.say(errorBlock, "Nothing is being reasoned for your last question.")
		return
	}
	q := calledOff{b.chat.id, b.chat.to, m.now().Add(patienceWithAgents)}
	m.calledOff = append(m.calledOff, q)
	env := protocol.Envelope{
		Kind: protocol.KindChatCancel, To: q.to, Correlation: protocol.CorrelateTo(q.question),
		Payload: []byte(`{"reason":"no_longer_needed"}`),
	}
	m.askAs(m.newID(), request{
		what: "Cancelling", otherwise: func() { m.stopThinking(q) }, failed: func(error) bool { m.forgetCalledOff(q.question); return false },
	}, env)
}

func (m *model) isCalledOff(question protocol.ID) bool {
	return slices.ContainsFunc(m.calledOff, func(q calledOff) bool { return q.question == question })
}

func (m *model) forgetCalledOff(question protocol.ID) {
	m.calledOff = slices.DeleteFunc(m.calledOff, func(q calledOff) bool { return q.question == question })
}

// insist closes the contexts that are still open for withdrawn questions after
// their deadline.
func (m *model) insist() {
	for _, q := range slices.Clone(m.calledOff) {
		switch {
		case len(m.thinkingAbout(q.question)) == 0:
			m.forgetCalledOff(q.question)
		case !m.now().Before(q.until):
			m.forgetCalledOff(q.question)
			m.stopThinking(q)
		}
	}
}

// stopThinking closes the contexts of the reasoning about a question. It shows
// an error for each context that this participant may not close.
func (m *model) stopThinking(q calledOff) {
	for _, d := range m.thinkingAbout(q.question) {
		m.ask("Cancelling", protocol.Envelope{
			Kind: protocol.KindReasoningCancel, To: q.to, Context: d.path, Correlation: protocol.CorrelateTo(rootOf(d.path)),
			Payload: []byte(`{"reason":"no_longer_needed"}`),
		}, func() {
			m.say(errorBlock, "You may not stop the reasoning of "+termsafe.Line(string(d.agent))+".")
		})
	}
}

// thinkingAbout returns the reasoning in progress about a message.
func (m *model) thinkingAbout(question protocol.ID) []*mind {
	var list []*mind
	for _, path := range m.minds.order {
		if b := m.minds.byPath[path]; b != nil && b.mind.question == question && b.mind.state == thinking {
			list = append(list, b.mind)
		}
	}
	return list
}
