package agent

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// errRestarted is the cause that ends questions when the agent is restarted.
var errRestarted = errors.New("the agent was restarted")

// handleControl handles a control envelope addressed to the agent.
func (a *Agent) handleControl(env *protocol.Envelope) dispatchResult {
	switch env.Kind {
	case protocol.KindParticipantShutdown:
		return shutdown
	case protocol.KindParticipantPause:
		a.gate.close(pauseOf(env))
	case protocol.KindParticipantResume:
		a.gate.open()
	case protocol.KindParticipantRequestStatus:
		a.answerControl(env, protocol.KindParticipantStatus, a.status(""))
	case protocol.KindParticipantForget:
		a.forget(env)
		a.answerControl(env, protocol.KindParticipantStatus, a.status(""))
	case protocol.KindParticipantCompact:
		a.answerControl(env, protocol.KindParticipantCompactDone, a.compact(env))
	case protocol.KindParticipantClear:
		a.conversation.chats = nil
		a.answerControl(env, protocol.KindParticipantStatus, a.status("cleared"))
	case protocol.KindParticipantRestart:
		a.restart()
		a.answerControl(env, protocol.KindParticipantStatus, a.status("restarted"))
	}
	return proceed
}

func (a *Agent) answerControl(env *protocol.Envelope, kind protocol.Kind, payload json.RawMessage) {
	a.reply(protocol.Envelope{
		Kind: kind, To: []protocol.ParticipantID{env.From}, Correlation: protocol.CorrelateTo(env.ID), Payload: payload,
	})
}

// pauseOf returns the duration of a pause; 0: until it is resumed.
func pauseOf(env *protocol.Envelope) time.Duration {
	doc, err := protocol.ParseJSON(env.Payload, protocol.MaxDepth)
	if err != nil {
		return 0
	}
	return protocol.PauseDuration(doc.Root())
}

// forget removes messages of the conversation: the number in entries, or half
// if the request has none; the oldest first unless direction is newest.
func (a *Agent) forget(env *protocol.Envelope) {
	var p struct {
		Direction string  `json:"direction"`
		Entries   float64 `json:"entries"`
	}
	_ = json.Unmarshal(env.Payload, &p) // without these fields the defaults apply
	n := (len(a.conversation.chats) + 1) / 2
	if p.Entries >= 1 {
		n = int(min(p.Entries, float64(len(a.conversation.chats))))
	}
	if p.Direction == "newest" {
		a.conversation.chats = a.conversation.chats[:len(a.conversation.chats)-n]
		return
	}
	a.conversation.drop(n)
}

// compact removes the oldest messages of the conversation until target_tokens
// remain, or half of it, and returns the payload of compact-done.
func (a *Agent) compact(env *protocol.Envelope) json.RawMessage {
	var p struct {
		Target *float64 `json:"target_tokens"`
	}
	_ = json.Unmarshal(env.Payload, &p) // without a target the default applies
	before, messages := a.conversation.tokens(), len(a.conversation.chats)
	target := float64(before / 2)
	if p.Target != nil {
		target = max(0, *p.Target)
	}
	for float64(a.conversation.tokens()) > target {
		a.conversation.drop(1)
	}
	freed := messages - len(a.conversation.chats)
	if freed == 0 {
		return object(field{"status", "skipped"}, field{"reason", "the conversation is short enough"})
	}
	return object(field{"status", "compacted"}, field{"freed_messages", freed}, field{"freed_tokens", before - a.conversation.tokens()})
}

// restart cancels all questions and clears the conversation. The process, its
// connection and its tool servers remain.
func (a *Agent) restart() {
	a.conversation.chats = nil
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.running {
		q.root.cancel(errRestarted)
	}
}

// status returns the payload of participant.status. An empty state means the
// current activity.
func (a *Agent) status(state string) json.RawMessage {
	a.mu.Lock()
	contexts := make([]protocol.ContextPath, 0, len(a.running))
	for _, q := range a.running {
		contexts = append(contexts, q.paths()...)
	}
	a.mu.Unlock()
	switch {
	case state != "":
	case len(contexts) > 0:
		state = "reasoning"
	default:
		state = "idle"
	}
	fields := []field{
		{"status", state}, {"contexts", contexts}, {"paused", a.gate.closed()},
		{"messages_in_context", len(a.conversation.chats)}, {"tokens", a.conversation.tokens()},
	}
	if a.opts.ContextTokens > 0 {
		fields = append(fields, field{"max_tokens", a.opts.ContextTokens})
	}
	return object(fields...)
}
