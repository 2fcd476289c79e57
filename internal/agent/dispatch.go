package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/protocol"
)

type dispatchResult bool

const (
	proceed  dispatchResult = false
	shutdown dispatchResult = true
)

// dispatch handles one received envelope. It does not block.
func (a *Agent) dispatch(work context.Context, env *protocol.Envelope) dispatchResult {
	mine := env.From == a.you && a.sentIDs.remove(env.ID)
	a.addressing.observe(env, a.opts.Space.Welcome)
	a.conversation.note(env)
	taken := !mine && a.inbox.deliver(env)
	switch env.Kind {
	case protocol.KindSystemWelcome: // the rights may have changed
		a.streamsOff.Store(a.mask == nil)
		a.queriesOff.Store(false)
		a.onJoin(work)
	case protocol.KindSystemPresence:
		a.onJoin(work)
	case protocol.KindChat:
		if env.From == a.you && !mine {
			a.onTakeover(env)
		} else if a.addressing.isQuestion(env) {
			a.admit(work, *env)
		}
	case protocol.KindChatCancel, protocol.KindReasoningCancel:
		if !mine {
			a.stop(env)
		}
	case protocol.KindMCPRequest, protocol.KindParticipantStatus:
		a.handleMCP(work, env, taken)
	default:
		if env.AddressedTo(a.you) && env.From != a.you {
			return a.handleControl(env)
		}
	}
	return proceed
}

// admit starts to answer a question, or replies that too many are queued.
func (a *Agent) admit(work context.Context, chat protocol.Envelope) {
	q := a.newQuestion(work, chat)
	switch a.start(q) {
	case duplicate:
		q.leave(q.root)
	case overloaded:
		q.leave(q.root)
		a.log.Warn("question refused: too many are waiting", "question", chat.ID, "from", chat.From)
		a.reply(q.reply("I have too many questions before me. Please ask again in a moment."))
	case accepted:
	}
}

// admission is the result of an attempt to start a question.
type admission int

const (
	accepted   admission = iota
	duplicate            // already in progress
	overloaded           // no free slot
)

// start starts a goroutine that answers the question, if a slot is free.
func (a *Agent) start(q *question) admission {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, there := a.running[q.chat.ID]; there {
		return duplicate
	}
	ofAsker := 0
	for _, other := range a.running {
		if other.chat.From == q.chat.From {
			ofAsker++
		}
	}
	places := a.opts.MaxQuestions + a.opts.MaxWaiting
	if len(a.running) >= places || ofAsker >= share(places) {
		return overloaded
	}
	a.running[q.chat.ID] = q
	a.group.Go(func() {
		defer a.drop(q)
		a.answer(q)
	})
	return accepted
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

// onTakeover cancels a question that another process of the same participant
// has answered.
func (a *Agent) onTakeover(env *protocol.Envelope) {
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
	return textutil.Shorten(p.Reason, 500)
}

// handleMCP handles the tool announcements of other participants and their
// requests to the agent. taken means that the envelope was delivered as an
// answer to a proposal.
func (a *Agent) handleMCP(work context.Context, env *protocol.Envelope, taken bool) {
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
		if !a.opts.OwnToolsOnly && a.peers.renew(env.From, a.opts.Now()) {
			a.group.Go(func() { a.pollTools(work, env.From) })
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
			if err := a.publish(work, env); err != nil {
				a.log.Warn("reply not sent", "kind", env.Kind, "err", err)
			}
		case <-work.Done():
			return
		}
	}
}

// closingTime bounds the final envelopes of a question that was given up.
const closingTime = 3 * time.Second
