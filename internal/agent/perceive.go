package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
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
	a.talk.note(env)
	if a.backlog != nil {
		old := a.backlog.note(env, a.you, a.attention)
		if a.backlog.done {
			a.catchUp(work)
		}
		if old {
			return goOn
		}
	}
	if env.From != a.you || env.Kind == protocol.KindMCPWithdraw {
		a.inbox.deliver(env)
	}
	switch env.Kind {
	case protocol.KindSystemWelcome: // the rights may be others now
		a.mute.Store(a.mask == nil)
		a.unasked.Store(false)
		a.meet(work)
	case protocol.KindSystemPresence:
		a.meet(work)
	case protocol.KindChat:
		if a.attention.wants(env) {
			a.take(work, *env)
		}
	case protocol.KindChatCancel, protocol.KindReasoningCancel:
		if env.From != a.you {
			a.stop(env)
		}
	case protocol.KindMCPRequest, protocol.KindParticipantStatus:
		a.hear(work, env)
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
		q.leave(q.root)
	case busy:
		q.leave(q.root)
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
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.running, q.chat.ID)
}

// stop ends the work that an envelope means: a question that is withdrawn, or
// whatever is reasoned about in a context that somebody closed.
func (a *Agent) stop(env *protocol.Envelope) {
	a.mu.Lock()
	defer a.mu.Unlock()
	why := &cancelled{by: env.From, reason: reasonOf(env)}
	for _, q := range a.running {
		if env.Kind == protocol.KindChatCancel {
			if env.Correlation.Names(q.chat.ID) {
				q.root.cancel(why)
			}
			continue
		}
		if p := q.at(env.Context); p != nil {
			why.context = env.Context
			p.cancel(why)
		}
	}
}

// cancelled is why a question, or a part of it, was given up.
type cancelled struct {
	by      protocol.ParticipantID
	reason  string
	context protocol.ContextPath // which is closed already; "": the question was withdrawn
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
		a.gate.close(pauseOf(env))
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

// pauseOf is how long a pause is to be; 0: until it is ended.
func pauseOf(env *protocol.Envelope) time.Duration {
	var p struct {
		Seconds float64 `json:"timeout_seconds"`
	}
	if json.Unmarshal(env.Payload, &p) != nil || p.Seconds <= 0 || p.Seconds > maxPause.Seconds() {
		return 0
	}
	return time.Duration(p.Seconds * float64(time.Second))
}

// hear takes in what others say of their tools and ask of the agent's.
func (a *Agent) hear(work context.Context, env *protocol.Envelope) {
	if env.From == a.you {
		return
	}
	var p struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Offers []string        `json:"offers"`
	}
	if json.Unmarshal(env.Payload, &p) != nil {
		return
	}
	switch {
	case p.Method == "notifications/tools/list_changed", env.Kind == protocol.KindParticipantStatus && slices.Contains(p.Offers, "tools"):
		if !a.opts.OwnToolsOnly && a.neighbours.renew(env.From, a.opts.Now()) {
			a.group.Go(func() { a.interview(work, env.From) })
		}
	case env.Kind == protocol.KindMCPRequest && env.AddressedTo(a.you) && len(p.ID) > 0 && !a.awaits(env):
		a.decline(work, env, p.ID, p.Method)
	}
}

// awaits reports whether a request fulfils a proposal that somebody here waits
// for.
func (a *Agent) awaits(env *protocol.Envelope) bool {
	return slices.ContainsFunc(env.Correlation.IDs, a.inbox.expects)
}

// decline answers a request that somebody makes of the agent itself: it uses
// tools and offers none, and whoever asks should not wait to find that out.
func (a *Agent) decline(work context.Context, env *protocol.Envelope, id json.RawMessage, method string) {
	answer := field{"error", rpcFault{rpcNoSuchMethod, "this participant offers no tools"}}
	if method == "ping" {
		answer = field{"result", struct{}{}}
	}
	a.errand(work, protocol.Envelope{
		Kind: protocol.KindMCPResponse, To: []protocol.ParticipantID{env.From}, Context: env.Context,
		Correlation: protocol.CorrelateTo(env.ID),
		Payload:     object(field{"jsonrpc", "2.0"}, field{"id", id}, answer),
	})
}

func (a *Agent) status() json.RawMessage {
	a.mu.Lock()
	contexts := make([]protocol.ContextPath, 0, len(a.running))
	for _, q := range a.running {
		contexts = append(contexts, q.paths()...)
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
