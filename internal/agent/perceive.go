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

// perceive does with an envelope what it asks for. It never waits.
func (a *Agent) perceive(work context.Context, env *protocol.Envelope) verdict {
	mine := env.From == a.you && a.own.heard(env.ID)
	a.attention.note(env, a.opts.Space.Welcome)
	a.talk.note(env)
	taken := !mine && a.inbox.deliver(env)
	switch env.Kind {
	case protocol.KindSystemWelcome: // the rights may be others now
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

// take begins to answer a question, or says that there are too many.
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

// beginning is what became of the attempt to begin a question.
type beginning int

const (
	begun beginning = iota
	twice           // it is under way already
	busy            // there is no place
)

// begin answers a question on a goroutine of its own, if there is a place.
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

// share returns how many of the places one asker may take, so that the others
// find some.
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

// yield ends the work on a question that another process of the same
// participant has answered.
func (a *Agent) yield(env *protocol.Envelope) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range env.Correlation.IDs {
		if q := a.running[id]; q != nil {
			q.root.cancel(errTakenOver)
		}
	}
}

// stop ends the work that an envelope means: a question that is withdrawn, or
// whatever is reasoned about in a context that somebody closed.
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

// cancelled is why a question, or a part of it, was given up.
type cancelled struct {
	by      protocol.ParticipantID
	reason  string
	context protocol.ContextPath // which is closed already; "": the question was withdrawn
	// takenOver: by another process of the same participant, which goes on.
	takenOver bool
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

// hear takes in what others say of their tools and ask of the agent's. Taken:
// it answers a proposal that somebody here waits for.
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
		if len(p.ID) == 0 { // as clients of MEW send it
			p.ID = protocol.AppendString(nil, string(env.ID))
		}
		a.decline(env, p.ID, p.Method)
	}
}

// decline answers a request that somebody makes of the agent itself: it uses
// tools and offers none, and whoever asks should not wait to find that out.
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

// reply sends a short answer behind those that wait already.
func (a *Agent) reply(env protocol.Envelope) {
	select {
	case a.replies <- env:
	default:
		a.log.Warn("reply left out: too many are waiting", "kind", env.Kind, "answers", env.Correlation.First())
	}
}

// sendReplies sends them until work ends.
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

// closingTime bounds what is still said about a question that was given up.
const closingTime = 3 * time.Second
