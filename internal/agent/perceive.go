package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

type verdict bool

const (
	goOn     verdict = false
	shutdown verdict = true
)

// perceive dispatches one received envelope. It does not block.
func (a *Agent) perceive(work context.Context, env *protocol.Envelope) verdict {
	mine := env.From == a.you && a.own.heard(env.ID)
	a.attention.note(env, a.opts.Space.Welcome)
	a.talk.note(env)
	taken := !mine && a.inbox.deliver(env)
	switch env.Kind {
	case protocol.KindSystemWelcome: // the rights may have changed
		a.mute.Store(a.mask == nil)
		a.unasked.Store(false)
		a.meet(work)
	case protocol.KindSystemPresence:
		a.meet(work)
	case protocol.KindChat:
		if env.From == a.you && !mine {
			a.yield(env)
		} else if a.attention.wants(env) {
			a.take(work, *env)
		}
	case protocol.KindChatCancel, protocol.KindReasoningCancel:
		if !mine {
			a.stop(env)
		}
	case protocol.KindMCPRequest, protocol.KindParticipantStatus:
		a.hear(work, env, taken)
	default:
		if env.AddressedTo(a.you) && env.From != a.you {
			return a.obey(env)
		}
	}
	return goOn
}

// take starts to answer a question, or replies that too many are queued.
func (a *Agent) take(work context.Context, chat protocol.Envelope) {
	q := a.newQuestion(work, chat)
	switch a.begin(q) {
	case twice:
		q.leave(q.root)
	case busy:
		q.leave(q.root)
		a.log.Warn("question refused: too many are waiting", "question", chat.ID, "from", chat.From)
		a.reply(q.reply("I have too many questions before me. Please ask again in a moment."))
	case begun:
	}
}

// beginning is the result of an attempt to start a question.
type beginning int

const (
	begun beginning = iota
	twice           // already in progress
	busy            // no free slot
)

// begin starts a goroutine that answers the question, if a slot is free.
func (a *Agent) begin(q *question) beginning {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, there := a.running[q.chat.ID]; there {
		return twice
	}
	ofAsker := 0
	for _, other := range a.running {
		if other.chat.From == q.chat.From {
			ofAsker++
		}
	}
	places := a.opts.MaxQuestions + a.opts.MaxWaiting
	if len(a.running) >= places || ofAsker >= share(places) {
		return busy
	}
	a.running[q.chat.ID] = q
	a.group.Go(func() {
		defer a.drop(q)
		a.answer(q)
	})
	return begun
}

// share returns the maximum number of slots for one asker, so that slots remain
// for others.
func share(places int) int { return max(1, places/4) }

func (a *Agent) drop(q *question) {
	a.mu.Lock()
	delete(a.running, q.chat.ID)
	a.mu.Unlock()
	select {
	case a.freed <- struct{}{}:
	default:
	}
}

// yield cancels a question that another process of the same participant has
// answered.
func (a *Agent) yield(env *protocol.Envelope) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range env.Correlation.IDs {
		if q := a.running[id]; q != nil {
			q.root.cancel(errTakenOver)
		}
	}
}

// stop cancels the work that an envelope ends: a withdrawn question, or the
// problems of a context that was closed.
func (a *Agent) stop(env *protocol.Envelope) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.running {
		why := &cancelled{by: env.From, reason: reasonOf(env), takenOver: env.From == a.you}
		if env.Kind == protocol.KindChatCancel {
			if env.Correlation.Names(q.chat.ID) {
				q.root.cancel(why)
			}
			continue
		}
		for _, p := range q.closedBy(env) {
			why := *why
			why.context = p.path
			p.cancel(&why)
		}
	}
}

// cancelled is the cause that ends a question or a part of it.
type cancelled struct {
	by      protocol.ParticipantID
	reason  string
	context protocol.ContextPath // already closed; "": the question was withdrawn
	// takenOver: another process of the same participant cancelled it and
	// continues it.
	takenOver bool
}

// Error names the participant that cancelled and its reason.
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
	_ = json.Unmarshal(env.Payload, &p) // a reason of another type is ignored
	return cut(p.Reason, 500)
}

// hear handles the tool announcements of other participants and their requests
// to the agent. taken means that the envelope was delivered as an answer to a
// proposal.
func (a *Agent) hear(work context.Context, env *protocol.Envelope, taken bool) {
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
	case env.Kind == protocol.KindMCPRequest && env.AddressedTo(a.you) && p.Method != "" && !strings.HasPrefix(p.Method, "notifications/") && !taken:
		if len(p.ID) == 0 { // MEW clients omit the id
			p.ID = protocol.AppendString(nil, string(env.ID))
		}
		a.decline(env, p.ID, p.Method)
	}
}

// decline responds to a request to the agent itself. The agent uses tools and
// offers none; a response saves the requester a timeout.
func (a *Agent) decline(env *protocol.Envelope, id json.RawMessage, method string) {
	answer := field{"error", rpcFault{rpcNoSuchMethod, "this participant offers no tools"}}
	if method == "ping" {
		answer = field{"result", struct{}{}}
	}
	a.reply(protocol.Envelope{
		Kind: protocol.KindMCPResponse, To: []protocol.ParticipantID{env.From}, Context: env.Context,
		Correlation: protocol.CorrelateTo(env.ID),
		Payload:     object(field{"jsonrpc", "2.0"}, field{"id", id}, answer),
	})
}

// reply queues a short reply.
func (a *Agent) reply(env protocol.Envelope) {
	select {
	case a.replies <- env:
	default:
		a.log.Warn("reply left out: too many are waiting", "kind", env.Kind, "answers", env.Correlation.First())
	}
}

// sendReplies sends the queued replies until work ends.
func (a *Agent) sendReplies(work context.Context) {
	for {
		select {
		case env := <-a.replies:
			if err := a.say(work, env); err != nil {
				a.log.Warn("reply not sent", "kind", env.Kind, "err", err)
			}
		case <-work.Done():
			return
		}
	}
}

// closingTime bounds the final envelopes of a question that was given up.
const closingTime = 3 * time.Second
