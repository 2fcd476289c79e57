package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

type verdict bool

const (
	goOn     verdict = false
	shutdown verdict = true
)

// perceive does with an envelope what it asks for. It never waits.
func (a *Agent) perceive(work context.Context, env *protocol.Envelope) verdict {
	a.attention.note(env, a.opts.Space.Welcome)
	if a.backlog != nil {
		old := a.backlog.note(env, a.you, a.attention)
		if a.backlog.done {
			a.catchUp(work)
		}
		if old {
			return goOn
		}
	}
	switch env.Kind {
	case protocol.KindChat:
		if a.attention.wants(env) {
			a.take(work, *env)
		}
	case protocol.KindChatCancel:
		a.cancelQuestions(env, func(q *question) bool { return env.Correlation.Names(q.chat.ID) })
	case protocol.KindReasoningCancel:
		if env.From != a.you {
			a.cancelQuestions(env, func(q *question) bool { return q.path == env.Context })
		}
	case protocol.KindMCPRequest:
		if env.AddressedTo(a.you) && env.From != a.you {
			a.decline(work, env)
		}
	case protocol.KindParticipantPause, protocol.KindParticipantResume, protocol.KindParticipantRequestStatus, protocol.KindParticipantShutdown:
		if env.AddressedTo(a.you) && env.From != a.you {
			return a.obey(work, env)
		}
	}
	return goOn
}

// take begins to answer a question, or says that there are too many.
func (a *Agent) take(work context.Context, chat protocol.Envelope) {
	q := a.newQuestion(work, chat)
	a.mu.Lock()
	_, twice := a.running[chat.ID]
	busy := len(a.running) >= a.opts.MaxQuestions+a.opts.MaxWaiting
	if !twice && !busy {
		a.running[chat.ID] = q
	}
	a.mu.Unlock()
	switch {
	case twice:
		q.cancel(nil)
	case busy:
		q.cancel(nil)
		a.log.Warn("question refused: too many are waiting", "question", chat.ID, "from", chat.From)
		a.errand(work, q.reply("I have too many questions before me. Please ask again in a moment."))
	default:
		a.group.Go(func() {
			defer a.drop(q)
			a.answer(q)
		})
	}
}

func (a *Agent) drop(q *question) {
	q.cancel(nil)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.running, q.chat.ID)
}

// cancelQuestions stops those questions that an envelope means.
func (a *Agent) cancelQuestions(env *protocol.Envelope, meant func(*question) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.running {
		if meant(q) {
			q.cancel(&cancelled{by: env.From, reason: reasonOf(env), closed: env.Kind == protocol.KindReasoningCancel})
		}
	}
}

// cancelled is why a question was given up.
type cancelled struct {
	by     protocol.ParticipantID
	reason string
	closed bool // the context is closed already
}

// Error says who wanted it and why.
func (c *cancelled) Error() string {
	if c.reason == "" {
		return fmt.Sprintf("cancelled by %s", c.by)
	}
	return fmt.Sprintf("cancelled by %s: %s", c.by, c.reason)
}

func reasonOf(env *protocol.Envelope) string {
	var p struct {
		Reason string `json:"reason"`
	}
	_ = json.Unmarshal(env.Payload, &p) // a reason of another form is none
	return cut(p.Reason, 500)
}

// obey does what somebody asks of the agent as a participant.
func (a *Agent) obey(work context.Context, env *protocol.Envelope) verdict {
	switch env.Kind {
	case protocol.KindParticipantShutdown:
		return shutdown
	case protocol.KindParticipantPause:
		a.gate.close()
	case protocol.KindParticipantResume:
		a.gate.open()
	case protocol.KindParticipantRequestStatus:
		a.errand(work, protocol.Envelope{
			Kind: protocol.KindParticipantStatus, To: []protocol.ParticipantID{env.From},
			Correlation: protocol.CorrelateTo(env.ID), Payload: a.status(),
		})
	}
	return goOn
}

// decline answers a request that somebody makes of the agent itself: it uses
// tools and offers none, and whoever asks should not wait to find that out.
func (a *Agent) decline(work context.Context, env *protocol.Envelope) {
	var rpc struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(env.Payload, &rpc) != nil || len(rpc.ID) == 0 {
		return // a notification
	}
	answer := field{"error", rpcFault{rpcNoSuchMethod, "this participant offers no tools"}}
	if rpc.Method == "ping" {
		answer = field{"result", struct{}{}}
	}
	a.errand(work, protocol.Envelope{
		Kind: protocol.KindMCPResponse, To: []protocol.ParticipantID{env.From}, Context: env.Context,
		Correlation: protocol.CorrelateTo(env.ID),
		Payload:     object(field{"jsonrpc", "2.0"}, field{"id", rpc.ID}, answer),
	})
}

func (a *Agent) status() json.RawMessage {
	a.mu.Lock()
	contexts := make([]protocol.ContextPath, 0, len(a.running))
	for _, q := range a.running {
		contexts = append(contexts, q.path)
	}
	a.mu.Unlock()
	state := "idle"
	if len(contexts) > 0 {
		state = "reasoning"
	}
	return object(field{"status", state}, field{"contexts", contexts}, field{"paused", a.gate.closed()})
}

// errand sends one envelope without being waited for. Too many of them at once
// are left out: they are courtesies.
func (a *Agent) errand(work context.Context, env protocol.Envelope) {
	select {
	case a.errands <- struct{}{}:
	default:
		return
	}
	a.group.Go(func() {
		defer func() { <-a.errands }()
		ctx, cancel := context.WithTimeout(work, closingTime)
		defer cancel()
		if _, err := a.opts.Space.Send(ctx, env); err != nil {
			a.log.Warn("reply not sent", "kind", env.Kind, "err", err)
		}
	})
}

// closingTime bounds what is still said about a question that was given up.
const closingTime = 3 * time.Second
