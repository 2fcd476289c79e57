package conversation

import (
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/protocol"
)

// feedback is the payload of a feedback.
type feedback struct {
	Value string `json:"value"`
	Note  string `json:"note,omitempty"`
}

// rates returns the command that sends feedback about the last answer.
func rates(value string) func(*Model, string) {
	return func(m *Model, note string) {
		for _, b := range slices.Backward(m.scrollback.blocks) {
			c := b.Chat
			if c == nil || c.From == m.You || c.Context != "" {
				continue
			}
			to := c.To
			if len(to) > 0 { // those that see the answer
				to = slices.DeleteFunc(append([]protocol.ParticipantID{c.From}, to...), func(id protocol.ParticipantID) bool { return id == m.You })
			}
			m.ask("Feedback", protocol.Envelope{Kind: protocol.KindFeedback, To: to, Correlation: protocol.CorrelateTo(c.id), Payload: encode(feedback{value, note})}, nil)
			return
		}
		m.printLines(ErrorBlock, "Nothing to rate: there is no answer.")
	}
}

// showFeedback shows what a participant thinks of an envelope.
func (m *Model) showFeedback(env *protocol.Envelope) {
	m.threads.note(env)
	what := "an envelope"
	if p := m.threads.answers(env); p.from != "" {
		what = "a step of " + string(p.from)
	}
	for _, id := range env.Correlation.IDs {
		if b := m.scrollback.chats[id]; b != nil {
			what = "a message of " + string(b.Chat.From)
		}
	}
	m.printLines(NoticeBlock, string(env.From)+" rated "+what+": "+strings.TrimSuffix(block.Summary(env), ".")+".")
}
