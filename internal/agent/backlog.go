package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// CatchUp says which questions are answered that were asked while the agent was
// not there. What it had begun itself is closed in any case but CatchUpOff.
type CatchUp string

// The ways to catch up.
const (
	// CatchUpOff begins with what is said from now on.
	CatchUpOff CatchUp = "off"
	// CatchUpAuto answers what was asked since the agent spoke in this space
	// for the first time, and within the last hour: one that comes back goes on
	// with its work, and a new one does not stir up old talk.
	CatchUpAuto CatchUp = "auto"
	// CatchUpAll answers whatever is without an answer.
	CatchUpAll CatchUp = "all"
)

// ParseCatchUp reads the name of a way to catch up.
func ParseCatchUp(s string) (CatchUp, error) {
	switch c := CatchUp(s); c {
	case CatchUpOff, CatchUpAuto, CatchUpAll:
		return c, nil
	}
	return "", fmt.Errorf("unknown way to catch up %q: there are %s, %s and %s", s, CatchUpAuto, CatchUpAll, CatchUpOff)
}

const (
	// maxBacklog bounds the old questions that are answered; older ones are
	// left.
	maxBacklog = 64
	// maxAge bounds how old they may be with CatchUpAuto.
	maxAge = time.Hour
	// backlogQuiet is how long nothing comes until the agent finds out whether
	// there is more: the end of the log may be an envelope that it may not see.
	backlogQuiet = time.Second
)

// backlog is what was said before the agent came, while it is being read.
type backlog struct {
	head   protocol.Seq // where it ends
	all    bool         // CatchUpAll
	oldest time.Time    // of what is answered
	spoken bool         // the agent has said something in this space before
	asked  bool         // an envelope is on its way that comes behind all of it
	mute   atomic.Bool  // it was refused
	done   bool

	chats []oldChat // questions without an answer, oldest first
	// What the agent itself has begun and not ended, by what ended it would be.
	contexts  map[protocol.ContextPath]protocol.Envelope // reasoning.start
	requests  map[protocol.ID]protocol.Envelope          // of its own tools
	proposals map[protocol.ID]protocol.Envelope
	begun     map[protocol.ID]bool              // chats that it had begun to answer
	waiting   map[protocol.ID]protocol.Envelope // requests to the agent without a response
}

// oldChat is a question, and whether the agent had been there when it was
// asked.
type oldChat struct {
	protocol.Envelope
	spoken bool
}

func newBacklog(how CatchUp, head protocol.Seq, now time.Time) *backlog {
	return &backlog{
		head: head, all: how == CatchUpAll, oldest: now.Add(-maxAge), done: head == 0,
		contexts:  make(map[protocol.ContextPath]protocol.Envelope),
		requests:  make(map[protocol.ID]protocol.Envelope),
		proposals: make(map[protocol.ID]protocol.Envelope),
		begun:     make(map[protocol.ID]bool),
		waiting:   make(map[protocol.ID]protocol.Envelope),
	}
}

// note takes in one envelope and reports whether it is an old one; done is set
// once there are no more.
func (b *backlog) note(env *protocol.Envelope, you protocol.ParticipantID, t *attention) bool {
	if env.Kind == "" {
		return true // nothing came for a while
	}
	if env.Seq == 0 || env.Seq > b.head {
		b.done = env.Seq != 0
		return false
	}
	b.done = env.Seq == b.head
	if env.From == you {
		b.spoken = true
		b.noteOwn(env, you)
	}
	switch env.Kind {
	case protocol.KindChat:
		if env.From != you && t.wants(env) {
			b.chats = append(b.chats, oldChat{*env, b.spoken})
			b.chats = b.chats[max(0, len(b.chats)-maxBacklog):]
		}
	case protocol.KindChatCancel:
		b.settle(env.Correlation)
	case protocol.KindReasoningConclusion:
		delete(b.contexts, env.Context)
	case protocol.KindReasoningCancel:
		maps.DeleteFunc(b.contexts, func(path protocol.ContextPath, start protocol.Envelope) bool {
			return path == env.Context || env.Context == "" && env.Correlation.Names(start.ID)
		})
	case protocol.KindMCPRequest, protocol.KindMCPReject, protocol.KindMCPWithdraw, protocol.KindMCPResponse:
		b.noteCall(env, you)
	}
	return true
}

// noteCall keeps what is asked of the agent, and forgets what was decided and
// answered.
func (b *backlog) noteCall(env *protocol.Envelope, you protocol.ParticipantID) {
	response := env.Kind == protocol.KindMCPResponse
	for _, id := range env.Correlation.IDs {
		delete(b.proposals, id)
		if response {
			delete(b.requests, id)
		}
		if response && env.From == you {
			delete(b.waiting, id)
		}
	}
	if env.Kind == protocol.KindMCPRequest && env.From != you && env.AddressedTo(you) && len(b.waiting) < maxReplies {
		b.waiting[env.ID] = *env
	}
}

// wanted are the old questions that are still to be answered.
func (b *backlog) wanted() []protocol.Envelope {
	var list []protocol.Envelope
	for _, chat := range b.chats {
		recent := (chat.spoken || b.begun[chat.ID]) && chat.TS.After(b.oldest)
		if b.all || recent {
			list = append(list, chat.Envelope)
		}
	}
	return list
}

// noteOwn keeps what the agent has begun.
func (b *backlog) noteOwn(env *protocol.Envelope, you protocol.ParticipantID) {
	switch env.Kind {
	case protocol.KindChat:
		b.settle(env.Correlation)
	case protocol.KindReasoningStart:
		if path, ok := env.Opens(); ok {
			b.contexts[path] = *env
			for _, id := range env.Correlation.IDs {
				b.begun[id] = true
			}
		}
	case protocol.KindMCPRequest:
		if len(env.To) == 0 || env.AddressedTo(you) {
			b.requests[env.ID] = *env
		}
	case protocol.KindMCPProposal:
		b.proposals[env.ID] = *env
	}
}

// settle forgets questions that were answered or withdrawn.
func (b *backlog) settle(c protocol.Correlation) {
	b.chats = slices.DeleteFunc(b.chats, func(chat oldChat) bool { return c.Names(chat.ID) })
}

// leftovers are the envelopes that end what the agent had begun: responses,
// withdrawals, and the contexts, the innermost first.
func (b *backlog) leftovers() []protocol.Envelope {
	const why = "the agent was restarted"
	var out []protocol.Envelope
	for id, request := range b.requests {
		out = append(out, protocol.Envelope{
			Kind: protocol.KindMCPResponse, To: request.To, Context: request.Context, Correlation: protocol.CorrelateTo(id), Seq: request.Seq,
			Payload: object(field{"jsonrpc", "2.0"}, field{"id", requestID(&request)}, field{"error", rpcFault{rpcCancelled, why}}),
		})
	}
	for id, proposal := range b.proposals {
		out = append(out, protocol.Envelope{
			Kind: protocol.KindMCPWithdraw, To: proposal.To, Context: proposal.Context, Correlation: protocol.CorrelateTo(id), Seq: proposal.Seq,
			Payload: object(field{"reason", "no_longer_needed"}),
		})
	}
	slices.SortFunc(out, func(x, y protocol.Envelope) int { return cmp.Compare(x.Seq, y.Seq) })
	var ends []protocol.Envelope
	for path, start := range b.contexts {
		end := protocol.Envelope{Kind: protocol.KindReasoningCancel, To: start.To, Context: path, Seq: start.Seq, Payload: object(field{"reason", why})}
		if len(start.To) > 0 {
			end.Correlation = protocol.CorrelateTo(start.ID)
		}
		ends = append(ends, end)
	}
	slices.SortFunc(ends, func(x, y protocol.Envelope) int { return cmp.Compare(y.Seq, x.Seq) })
	return append(out, ends...)
}

// requestID is the id in the JSON-RPC request, or null.
func requestID(env *protocol.Envelope) json.RawMessage {
	var rpc struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(env.Payload, &rpc) != nil || len(rpc.ID) == 0 {
		return json.RawMessage("null")
	}
	return rpc.ID
}

// silence is what to do when nothing has come for a while: to say something
// that only the agent itself hears, since what comes before it is old. Where it
// may not, the silence has to do.
func (a *Agent) silence(work context.Context) {
	b := a.backlog
	if b.mute.Load() {
		b.done = true
	}
	if b.asked {
		return
	}
	b.asked = true
	a.group.Go(func() {
		err := a.say(work, protocol.Envelope{
			Kind: protocol.KindParticipantStatus, To: []protocol.ParticipantID{a.you}, Payload: object(field{"status", "catching up"}),
		})
		b.mute.Store(err != nil)
	})
}

// catchUp ends the backlog: what the agent left open when it went is closed,
// and what is still without an answer is answered.
func (a *Agent) catchUp(work context.Context) {
	b := a.backlog
	a.backlog = nil
	rest, wanted := b.leftovers(), b.wanted()
	a.log.Info("caught up", "questions", len(wanted), "left_open", len(rest))
	for _, env := range b.waiting {
		a.hear(work, &env, false)
	}
	var questions []*question
	for _, chat := range wanted {
		questions = append(questions, a.newQuestion(work, chat))
	}
	a.group.Go(func() {
		for i := range rest {
			rest[i].Seq = 0
			if err := a.say(work, rest[i]); err != nil {
				a.log.Warn("left open", "context", rest[i].Context, "kind", rest[i].Kind, "err", err)
			}
		}
		for _, q := range questions {
			a.beginWhenFree(work, q)
		}
	})
}

// beginWhenFree begins to answer a question as soon as there is a place.
func (a *Agent) beginWhenFree(work context.Context, q *question) {
	for {
		switch a.begin(q) {
		case begun:
			return
		case twice:
			q.leave(q.root)
			return
		case busy:
		}
		select {
		case <-a.freed:
		case <-work.Done():
			q.leave(q.root)
			return
		}
	}
}
