package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
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
	// backlogQuiet ends the backlog when nothing more comes of it: the end of
	// the log may be an envelope that this agent may not see.
	backlogQuiet = time.Second
)

// backlog is what was said before the agent came, while it is being read.
type backlog struct {
	head   protocol.Seq // where it ends
	all    bool         // CatchUpAll
	oldest time.Time    // of what is answered
	spoken bool         // the agent has said something in this space before
	done   bool

	chats []protocol.Envelope // questions without an answer, oldest first
	// What the agent itself has begun and not ended, by what ended it would be.
	contexts  map[protocol.ContextPath]protocol.Envelope // reasoning.start
	requests  map[protocol.ID]protocol.Envelope          // of its own tools
	proposals map[protocol.ID]protocol.Envelope
}

func newBacklog(how CatchUp, head protocol.Seq, now time.Time) *backlog {
	return &backlog{
		head: head, all: how == CatchUpAll, oldest: now.Add(-maxAge), done: head == 0,
		contexts:  make(map[protocol.ContextPath]protocol.Envelope),
		requests:  make(map[protocol.ID]protocol.Envelope),
		proposals: make(map[protocol.ID]protocol.Envelope),
	}
}

// note takes in one envelope and reports whether it is an old one; done is set
// once there are no more.
func (b *backlog) note(env *protocol.Envelope, you protocol.ParticipantID, t *attention) bool {
	if env.Kind == "" || b.done { // nothing came for a while
		b.done = true
		return env.Kind == ""
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
		if env.From != you && t.wants(env) && b.wanted(env) {
			b.chats = append(b.chats, *env)
			b.chats = b.chats[max(0, len(b.chats)-maxBacklog):]
		}
	case protocol.KindChatCancel:
		b.settle(env.Correlation)
	case protocol.KindReasoningConclusion, protocol.KindReasoningCancel:
		delete(b.contexts, env.Context)
	case protocol.KindMCPRequest, protocol.KindMCPReject, protocol.KindMCPWithdraw, protocol.KindMCPResponse:
		for _, id := range env.Correlation.IDs {
			delete(b.proposals, id)
			if env.Kind == protocol.KindMCPResponse {
				delete(b.requests, id)
			}
		}
	}
	return true
}

// wanted reports whether an old question is still to be answered.
func (b *backlog) wanted(env *protocol.Envelope) bool {
	return b.all || b.spoken && env.TS.After(b.oldest)
}

// noteOwn keeps what the agent has begun.
func (b *backlog) noteOwn(env *protocol.Envelope, you protocol.ParticipantID) {
	switch env.Kind {
	case protocol.KindChat:
		b.settle(env.Correlation)
	case protocol.KindReasoningStart:
		if path, ok := env.Opens(); ok {
			b.contexts[path] = *env
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
	b.chats = slices.DeleteFunc(b.chats, func(chat protocol.Envelope) bool { return c.Names(chat.ID) })
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

// catchUp ends the backlog: what the agent left open when it went is closed,
// and what is still without an answer is answered.
func (a *Agent) catchUp(work context.Context) {
	b := a.backlog
	a.backlog = nil
	rest := b.leftovers()
	a.log.Info("caught up", "questions", len(b.chats), "left_open", len(rest))
	a.group.Go(func() {
		for i := range rest {
			rest[i].Seq = 0
			if err := a.say(work, rest[i]); err != nil {
				a.log.Warn("left open", "context", rest[i].Context, "kind", rest[i].Kind, "err", err)
			}
		}
	})
	for _, chat := range b.chats {
		a.take(work, chat)
	}
}
