package agent

import (
	"slices"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the stored conversation.
const (
	maxChats     = 40   // messages
	maxHistory   = 16   // messages for one question
	maxChatChars = 4000 // characters per message
)

// conversation stores the recent chats of the main conversation, oldest first.
// Only the goroutine of Run uses it.
type conversation struct {
	you   protocol.ParticipantID
	chats []protocol.Envelope
}

// note stores a chat of the main conversation.
func (t *conversation) note(env *protocol.Envelope) {
	if env.Kind != protocol.KindChat || env.Context != "" {
		return
	}
	t.chats = append(t.chats, *env)
	t.drop(len(t.chats) - maxChats)
}

// drop removes the n oldest messages.
func (t *conversation) drop(n int) { t.chats = slices.Delete(t.chats, 0, max(0, n)) }

// bytesPerToken approximates the bytes per token of English text.
const bytesPerToken = 4

// tokens estimates the tokens of the conversation.
func (t *conversation) tokens() int {
	bytes := 0
	for i := range t.chats {
		bytes += min(len(chatText(&t.chats[i])), maxChatChars)
	}
	return (bytes + bytesPerToken - 1) / bytesPerToken
}

// before returns the chats before a question that every recipient of the answer
// has received: a private chat of two participants is not disclosed to a third.
func (t *conversation) before(question *protocol.Envelope) []llm.Message {
	var list []llm.Message
	for i := range t.chats {
		env := &t.chats[i]
		if env.ID == question.ID || env.Seq >= question.Seq && question.Seq != 0 || !t.shared(env, question) {
			continue
		}
		text := textutil.Shorten(chatText(env), maxChatChars)
		if text == "" {
			continue
		}
		if env.From == t.you {
			list = append(list, llm.Message{Role: llm.Assistant, Text: text})
			continue
		}
		list = append(list, llm.Message{Role: llm.User, Text: string(env.From) + ": " + text})
	}
	return list[max(0, len(list)-maxHistory):]
}

// shared reports whether a chat may be used to answer a question: a chat to
// all, and, for a private question, a chat sent or received by the agent that
// every recipient of the answer also sent or received.
func (t *conversation) shared(env, question *protocol.Envelope) bool {
	if len(env.To) == 0 {
		return true
	}
	if len(question.To) == 0 || env.From != t.you && !env.AddressedTo(t.you) {
		return false
	}
	return !slices.ContainsFunc(audience(question, t.you), func(id protocol.ParticipantID) bool {
		return env.From != id && !env.AddressedTo(id)
	})
}
