package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/participant"
	"github.com/meup-protocol/meup/internal/proposal"
	"github.com/meup-protocol/meup/protocol"
)

// CatchUp selects the questions to answer that were asked while the agent was
// not connected. Except with CatchUpOff, the agent always closes its own
// unfinished work.
type CatchUp string

// The ways to catch up.
const (
	// CatchUpOff ignores everything before the agent joined.
	CatchUpOff CatchUp = "off"
	// CatchUpAuto answers questions of the last hour that were asked after the
	// agent's first envelope in this space. An agent that reconnects resumes
	// its work, and a new one does not answer old questions.
	CatchUpAuto CatchUp = "auto"
	// CatchUpAll answers every question without an answer.
	CatchUpAll CatchUp = "all"
)

// ParseCatchUp parses the name of a way to catch up.
func ParseCatchUp(s string) (CatchUp, error) {
	switch c := CatchUp(s); c {
	case CatchUpOff, CatchUpAuto, CatchUpAll:
		return c, nil
	}
	return "", fmt.Errorf("unknown way to catch up %q: there are %s, %s and %s", s, CatchUpAuto, CatchUpAll, CatchUpOff)
}

const (
	// maxBacklog bounds the old questions that are answered; the newest are
	// kept.
	maxBacklog = 64
	// maxAge bounds their age with CatchUpAuto.
	maxAge = time.Hour
	// recentEntries and ownEntries bound the part of the log that is read to
	// catch up: the newest recentEntries, and ownEntries up to the agent's last
	// envelope. CatchUpAll reads the whole log.
	recentEntries = 2000
	ownEntries    = 1000
	// searchPages bounds the pages of history in which the agent's last
	// envelope is searched; the gateway scans up to 10,000 entries per page.
	searchPages = 5
	pageEntries = 1000
	// catchUpTime bounds reading the log.
	catchUpTime = 30 * time.Second
)

// backlog collects unfinished work in the log from before the agent joined.
type backlog struct {
	all    bool      // CatchUpAll
	oldest time.Time // bound for the questions to answer
	spoken bool      // the agent has sent an envelope to this space before

	chats []oldChat // questions without an answer, oldest first
	// The agent's own unfinished work, keyed by the id or path that closes it.
	contexts  map[protocol.ContextPath]protocol.Envelope // reasoning.start
	requests  map[protocol.ID]protocol.Envelope          // to its own tools; To is the audience of the response
	proposals map[protocol.ID]protocol.Envelope
	begun     map[protocol.ID]bool              // chats that it had started to answer
	waiting   map[protocol.ID]protocol.Envelope // requests to the agent without a response
}

// oldChat is a question, and whether the agent had sent an envelope before it.
type oldChat struct {
	protocol.Envelope
	spoken bool
}

func newBacklog(how CatchUp, now time.Time) *backlog {
	return &backlog{
		all: how == CatchUpAll, oldest: now.Add(-maxAge),
		contexts:  make(map[protocol.ContextPath]protocol.Envelope),
		requests:  make(map[protocol.ID]protocol.Envelope),
		proposals: make(map[protocol.ID]protocol.Envelope),
		begun:     make(map[protocol.ID]bool),
		waiting:   make(map[protocol.ID]protocol.Envelope),
	}
}

// note records one entry of the log.
func (b *backlog) note(env *protocol.Envelope, you protocol.ParticipantID, t *addressing) {
	if env.From == you {
		b.spoken = true
		b.noteOwn(env, you)
	}
	switch env.Kind {
	case protocol.KindChat:
		if env.From != you && t.isQuestion(env) {
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
}

// noteCall records a request to the agent, and removes the work that an
// envelope settles. For a proposal the rule is the same as while the agent
// waits for it. A request to the agent is settled only by the agent's own
// response.
func (b *backlog) noteCall(env *protocol.Envelope, you protocol.ParticipantID) {
	for _, id := range env.Correlation.IDs {
		if p, open := b.proposals[id]; open && proposal.Settles(&p, env) != proposal.Pending {
			delete(b.proposals, id)
		}
		if env.Kind == protocol.KindMCPResponse && env.From == you {
			delete(b.requests, id)
			delete(b.waiting, id)
		}
	}
	if env.Kind == protocol.KindMCPRequest && env.From != you && env.AddressedTo(you) && len(b.waiting) < maxReplies {
		b.waiting[env.ID] = *env
	}
}

// wanted returns the old questions to answer.
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

// noteOwn records work that the agent started.
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
			request := *env
			if start, known := b.contexts[env.Context]; known {
				request.To = start.To // the request itself is addressed to the agent alone
			}
			b.requests[env.ID] = request
		}
	case protocol.KindMCPProposal:
		b.proposals[env.ID] = *env
	}
}

// settle removes questions that were answered or withdrawn.
func (b *backlog) settle(c protocol.Correlation) {
	b.chats = slices.DeleteFunc(b.chats, func(chat oldChat) bool { return c.Names(chat.ID) })
}

// leftovers returns the envelopes that close the agent's unfinished work:
// responses, withdrawals, and the ends of contexts, innermost first.
func (b *backlog) leftovers() []protocol.Envelope {
	const why = "the agent was restarted"
	var out []protocol.Envelope
	for id, request := range b.requests {
		out = append(out, protocol.Envelope{
			Kind: protocol.KindMCPResponse, To: request.To, Context: request.Context, Correlation: protocol.CorrelateTo(id), Seq: request.Seq,
			Payload: participant.Response(requestID(&request), nil, &client.RPCError{Code: participant.CodeCancelled, Message: why}),
		})
	}
	for id, p := range b.proposals {
		out = append(out, protocol.Envelope{
			Kind: protocol.KindMCPWithdraw, To: p.To, Context: p.Context, Correlation: protocol.CorrelateTo(id), Seq: p.Seq,
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

// requestID returns the JSON-RPC id of a request, or null.
func requestID(env *protocol.Envelope) json.RawMessage {
	request, err := participant.ParseRequest(env)
	if err != nil {
		return json.RawMessage("null")
	}
	return request.ID
}

// readBacklog reads the entries that catching up needs. With CatchUpAuto their
// number is bounded, independent of the length of the log: the newest entries,
// and those up to the agent's last envelope, where it may have left work
// unfinished.
func (a *Agent) readBacklog(ctx context.Context) (*backlog, error) {
	b := newBacklog(a.opts.CatchUp, a.opts.Now())
	if b.all {
		return b, a.readEntries(ctx, b, 0, a.head)
	}
	last, err := a.lastOwn(ctx)
	if err != nil {
		return nil, err
	}
	recent, own := a.head-min(a.head, recentEntries), last-min(last, ownEntries)
	switch {
	case last == 0:
	case last < recent:
		if err := a.readEntries(ctx, b, own, last); err != nil {
			return nil, err
		}
	default:
		recent = min(recent, own)
	}
	return b, a.readEntries(ctx, b, recent, a.head)
}

// lastOwn returns the seq of the agent's last envelope; 0 if none was found.
func (a *Agent) lastOwn(ctx context.Context) (protocol.Seq, error) {
	q := api.EnvelopeQuery{From: []protocol.ParticipantID{a.you}, Descending: true, Limit: 1, Log: a.logID, Before: a.head + 1}
	for range searchPages {
		page, err := a.opts.History.Envelopes(ctx, a.space, q)
		switch {
		case err != nil:
			return 0, err
		case len(page.Envelopes) > 0:
			return page.Envelopes[0].Seq, nil
		case !page.HasMore:
			return 0, nil
		}
		q.Before = page.Next
	}
	return 0, nil
}

// readEntries reads the entries with since < seq <= upTo.
func (a *Agent) readEntries(ctx context.Context, b *backlog, since, upTo protocol.Seq) error {
	q := api.EnvelopeQuery{Since: since, Before: upTo + 1, Limit: pageEntries, Log: a.logID}
	for {
		page, err := a.opts.History.Envelopes(ctx, a.space, q)
		if err != nil {
			return err
		}
		for i := range page.Envelopes {
			env := &page.Envelopes[i]
			a.addressing.observe(env, a.opts.Space.Welcome)
			a.conversation.note(env)
			b.note(env, a.you, a.addressing)
		}
		if !page.HasMore {
			return nil
		}
		q.Since = page.Next
	}
}

// catchUp closes work that the agent left unfinished when it ended, and answers
// questions without an answer.
func (a *Agent) catchUp(ctx context.Context) {
	reading, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	b, err := a.readBacklog(reading)
	if err != nil {
		if ctx.Err() == nil {
			a.log.Warn("the log cannot be read: old questions are not answered", "err", err)
		}
		return
	}
	rest, wanted := b.leftovers(), b.wanted()
	a.log.Info("caught up", "questions", len(wanted), "left_open", len(rest))
	for _, env := range b.waiting {
		a.handleMCP(&env, false)
	}
	var questions []*question
	for _, chat := range wanted {
		q := a.newQuestion(chat)
		a.questions.Hold(&q.chat, q)
		questions = append(questions, q)
	}
	a.runtime.Group.Go(func() {
		for i := range rest {
			rest[i].Seq = 0
			if err := a.publish(a.runtime.Work, rest[i]); err != nil {
				a.log.Warn("left open", "context", rest[i].Context, "kind", rest[i].Kind, "err", err)
			}
		}
		for _, q := range questions {
			a.startWhenFree(q)
		}
	})
}

// startWhenFree starts to answer a question as soon as a place is free, unless
// the question is withdrawn before.
func (a *Agent) startWhenFree(q *question) {
	for q.root.ctx.Err() == nil {
		if a.start(q) == participant.Accepted {
			return
		}
		select {
		case <-a.freed:
		case <-q.root.ctx.Done():
		}
	}
	a.drop(q)
	a.replyError(q, context.Cause(q.root.ctx))
}
