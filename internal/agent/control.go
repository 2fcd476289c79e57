package agent

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/meup-protocol/meup/protocol"
)

// errRestarted is the cause that ends questions when the agent is restarted.
const errRestarted = publicError("the agent was restarted")

// handleControl handles a control envelope addressed to the agent; see
// participant.Runtime for pause, resume and shutdown.
func (a *Agent) handleControl(env *protocol.Envelope) {
	switch env.Kind {
	case protocol.KindParticipantRequestStatus:
		a.answerControl(env, protocol.KindParticipantStatus, a.status(""))
	case protocol.KindParticipantForget:
		a.chats.Forget(env)
		a.answerControl(env, protocol.KindParticipantStatus, a.status(""))
	case protocol.KindParticipantCompact:
		messages, tokens := a.chats.Compact(env)
		done := object(field{"status", "compacted"}, field{"freed_messages", messages}, field{"freed_tokens", tokens})
		if messages == 0 {
			done = object(field{"status", "skipped"}, field{"reason", "the conversation is short enough"})
		}
		a.answerControl(env, protocol.KindParticipantCompactDone, done)
	case protocol.KindParticipantClear:
		a.chats.Clear()
		a.answerControl(env, protocol.KindParticipantStatus, a.status("cleared"))
	case protocol.KindParticipantRestart: // the process, its connection and its tool servers remain
		a.chats.Clear()
		for _, q := range a.questions.All() {
			q.root.cancel(errRestarted)
		}
		a.answerControl(env, protocol.KindParticipantStatus, a.status("restarted"))
	}
}

func (a *Agent) answerControl(env *protocol.Envelope, kind protocol.Kind, payload json.RawMessage) {
	a.reply(protocol.Envelope{
		Kind: kind, To: []protocol.ParticipantID{env.From}, Correlation: protocol.CorrelateTo(env.ID), Payload: payload,
	})
}

// status returns the payload of participant.status. An empty state means the
// current activity.
func (a *Agent) status(state string) json.RawMessage {
	contexts := []protocol.ContextPath{}
	for _, q := range a.questions.All() {
		q.mu.Lock()
		contexts = slices.AppendSeq(contexts, maps.Keys(q.problems))
		q.mu.Unlock()
	}
	switch {
	case state != "":
	case len(contexts) > 0:
		state = "reasoning"
	default:
		state = "idle"
	}
	fields := []field{
		{"status", state}, {"contexts", contexts}, {"paused", a.runtime.Gate.Closed()},
		{"messages_in_context", a.chats.Len()}, {"tokens", a.chats.Tokens()},
	}
	if a.opts.ContextTokens > 0 {
		fields = append(fields, field{"max_tokens", a.opts.ContextTokens})
	}
	return object(fields...)
}
