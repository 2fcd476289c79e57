package intake

import (
	"encoding/json"
	"slices"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the stored conversation.
const (
	maxChats     = 40   // messages
	maxHistory   = 16   // messages for one question
	maxChatChars = 4000 // characters per message
)

// RecentChats stores the recent chats of the main conversation, oldest first, which a model
// gets with a question. It is not safe for concurrent use.
type RecentChats struct {
	You   protocol.ParticipantID // the agent
	chats []protocol.Envelope
}

// Note stores a chat of the main conversation.
func (t *RecentChats) Note(env *protocol.Envelope) {
	if env.Kind != protocol.KindChat || env.Context != "" {
		return
	}
	t.chats = append(t.chats, *env)
	t.drop(len(t.chats) - maxChats)
}

// drop removes the n oldest messages.
func (t *RecentChats) drop(n int) { t.chats = slices.Delete(t.chats, 0, max(0, n)) }

// Clear removes all messages.
func (t *RecentChats) Clear() { t.chats = nil }

// Len returns the number of messages.
func (t *RecentChats) Len() int { return len(t.chats) }

// bytesPerToken approximates the bytes per token of English text.
const bytesPerToken = 4

// Tokens estimates the tokens of the conversation.
func (t *RecentChats) Tokens() int {
	bytes := 0
	for i := range t.chats {
		bytes += min(len(ChatText(&t.chats[i])), maxChatChars)
	}
	return (bytes + bytesPerToken - 1) / bytesPerToken
}

// Forget removes the number of messages in entries, or half if the request has
// none; the oldest first unless direction is newest.
func (t *RecentChats) Forget(request *protocol.Envelope) {
	var p struct {
		Direction string  `json:"direction"`
		Entries   float64 `json:"entries"`
	}
	_ = json.Unmarshal(request.Payload, &p) // without these fields the defaults apply
	n := (t.Len() + 1) / 2
	if p.Entries >= 1 {
		n = int(min(p.Entries, float64(t.Len())))
	}
	if p.Direction == "newest" {
		t.chats = t.chats[:len(t.chats)-n]
		return
	}
	t.drop(n)
}

// Compact removes the oldest messages until target_tokens remain, or half of
// the tokens, and returns the removed messages and tokens.
func (t *RecentChats) Compact(request *protocol.Envelope) (messages, tokens int) {
	var p struct {
		Target *float64 `json:"target_tokens"`
	}
	_ = json.Unmarshal(request.Payload, &p) // without a target the default applies
	before, had := t.Tokens(), t.Len()
	target := float64(before / 2)
	if p.Target != nil {
		target = max(0, *p.Target)
	}
	for float64(t.Tokens()) > target {
		t.drop(1)
	}
	return had - t.Len(), before - t.Tokens()
}

// Before returns the chats before a question that every recipient of the answer
// has received: a private chat of two participants is not disclosed to a third.
func (t *RecentChats) Before(question *protocol.Envelope) []llm.Message {
	var list []llm.Message
	for i := range t.chats {
		env := &t.chats[i]
		if env.ID == question.ID || env.Seq >= question.Seq && question.Seq != 0 || !t.shared(env, question) {
			continue
		}
		text := textutil.ShortenChars(ChatText(env), maxChatChars)
		if text == "" {
			continue
		}
		if env.From == t.You {
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
func (t *RecentChats) shared(env, question *protocol.Envelope) bool {
	if len(env.To) == 0 {
		return true
	}
	if len(question.To) == 0 || env.From != t.You && !env.AddressedTo(t.You) {
		return false
	}
	return !slices.ContainsFunc(ChatAudience(question, t.You), func(id protocol.ParticipantID) bool {
		return env.From != id && !env.AddressedTo(id)
	})
}

// ChatText returns the text of a chat, from either of the fields.
func ChatText(env *protocol.Envelope) string {
	var p struct {
		Message string `json:"message"`
		Text    string `json:"text"`
	}
	_ = json.Unmarshal(env.Payload, &p) // a payload of another form has no text
	if p.Message != "" {
		return p.Message
	}
	return p.Text
}

// ChatAudience returns the participants of a private chat except you, the sender
// first. It is nil for a chat to all.
func ChatAudience(chat *protocol.Envelope, you protocol.ParticipantID) []protocol.ParticipantID {
	if len(chat.To) == 0 {
		return nil
	}
	var list []protocol.ParticipantID
	for _, id := range append([]protocol.ParticipantID{chat.From}, chat.To...) {
		if id != you && !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}
