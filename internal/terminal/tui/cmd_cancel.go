package tui

import (
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

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
func (m *model) cancelQuestion(string) {
	b := m.lastQuestion()
	switch {
	case b == nil:
		m.printLines(errorBlock, "There is no question of yours to cancel.")
		return
	case b.chat.state == waiting:
		m.printLines(errorBlock, "Your last message is not sent yet.")
		return
	case m.isPendingCancel(b.chat.id):
		m.printLines(errorBlock, "Your last question is being cancelled.")
		return
	case len(m.thinkingAbout(b.chat.id)) == 0 && b.chat.answered:
		m.printLines(errorBlock, "Nothing is being reasoned for your last question: it is answered.")
		return
	case len(m.thinkingAbout(b.chat.id)) == 0:
		m.printLines(errorBlock, "Nothing is being reasoned for your last question.")
		return
	}
	q := pendingCancel{b.chat.id, b.chat.to, m.now().Add(cancelTimeout)}
	m.pendingCancels = append(m.pendingCancels, q)
	env := protocol.Envelope{
		Kind: protocol.KindChatCancel, To: q.to, Correlation: protocol.CorrelateTo(q.question),
		Payload: []byte(`{"reason":"no_longer_needed"}`),
	}
	m.askAs(m.newID(), request{
		what: "Cancelling", otherwise: func() { m.stopThinking(q) }, failed: func(error) bool { m.dropPendingCancel(q.question); return false },
	}, env)
}

func (m *model) isPendingCancel(question protocol.ID) bool {
	return slices.ContainsFunc(m.pendingCancels, func(q pendingCancel) bool { return q.question == question })
}

func (m *model) dropPendingCancel(question protocol.ID) {
	m.pendingCancels = slices.DeleteFunc(m.pendingCancels, func(q pendingCancel) bool { return q.question == question })
}

// forceCancel closes the contexts that are still open for withdrawn questions after
// their deadline.
func (m *model) forceCancel() {
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
func (m *model) stopThinking(q pendingCancel) {
	for _, d := range m.thinkingAbout(q.question) {
		m.ask("Cancelling", protocol.Envelope{
			Kind: protocol.KindReasoningCancel, To: q.to, Context: d.path, Correlation: protocol.CorrelateTo(rootOf(d.path)),
			Payload: []byte(`{"reason":"no_longer_needed"}`),
		}, func() {
			m.printLines(errorBlock, "You may not stop the reasoning of "+termsafe.Line(string(d.agent))+".")
		})
	}
}

// thinkingAbout returns the reasoning in progress about a message.
func (m *model) thinkingAbout(question protocol.ID) []*reasoning {
	var list []*reasoning
	for _, path := range m.reasonings.order {
		if b := m.reasonings.byPath[path]; b != nil && b.reasoning.question == question && b.reasoning.state == thinking {
			list = append(list, b.reasoning)
		}
	}
	return list
}
