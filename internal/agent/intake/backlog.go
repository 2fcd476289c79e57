package intake

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/protocol"
)

// CatchUp selects the questions to answer that were asked while the agent was not
// connected. Except with CatchUpOff, the agent always closes its own unfinished work.
type CatchUp string

// The ways to catch up.
const (
	// CatchUpOff ignores everything before the agent joined.
	CatchUpOff CatchUp = "off"
	// CatchUpAuto answers questions of the last hour that were asked after the agent's
	// first envelope in this space. An agent that reconnects resumes its work,
	// and a new one does not answer old questions.
	CatchUpAuto CatchUp = "auto"
	// CatchUpAll answers questions of any age without an answer: the newest maxBacklog of them, and
	// none that another participant has taken and that does not name the agent.
	CatchUpAll CatchUp = "all"
)

// ParseCatchUp parses the name of a way to catch up.
func ParseCatchUp(s string) (CatchUp, error) {
	switch m := CatchUp(s); m {
	case CatchUpOff, CatchUpAuto, CatchUpAll:
		return m, nil
	}
	return "", fmt.Errorf("unknown way to catch up %q: there are %s, %s and %s", s, CatchUpAuto, CatchUpAll, CatchUpOff)
}

// BacklogOptions configures ReadBacklog. All fields but Observe are required.
type BacklogOptions struct {
	Mode    CatchUp // not CatchUpOff
	History participant.History
	You     protocol.ParticipantID // the agent
	Space   protocol.SpaceInfo     // when the agent joined: the entries up to Seq are read
	Now     time.Time
	// Observe is called for each entry that is read, in order. It reports
	// whether the entry is a question for the agent, and one that names it, in to or
	// in the text. Without it there are no questions.
	Observe func(*protocol.Envelope) (isQuestion, named bool)
	// Result reads the response to a tool call.
	Result func(*protocol.Envelope) contextwindow.Result
}

const (
	// maxBacklog bounds the old questions that are answered; the newest are
	// kept.
	maxBacklog = 64
	// maxAge bounds their age with Auto.
	maxAge = time.Hour
	// recentEntries and ownEntries bound the part of the log that is read to
	// catch up: the newest recentEntries, and ownEntries up to the agent's last
	// envelope. All reads the whole log.
	recentEntries = 2000
	ownEntries    = 1000
	// searchPages bounds the pages of history in which the agent's last
	// envelope is searched, and the questions that it had begun to answer; the gateway scans up to 10,000 entries per page.
	searchPages = 5
	// attemptPages bounds the pages that are read from the oldest attempt without an answer on.
	attemptPages = 10
	pageEntries  = 1000
	// maxWaiting bounds the requests to the agent without a response.
	maxWaiting = 1024
)

// Backlog is what the log has from before the agent joined: the work that it left unfinished
// when it ended, and the questions that were asked while it was away.
type Backlog struct {
	o      BacklogOptions
	spoken bool // the agent has sent an envelope to this space before

	chats []oldChat // questions without an answer, oldest first
	// The agent's own unfinished work, keyed by the id or path that closes it.
	contexts  map[protocol.ContextPath]protocol.Envelope // reasoning.start
	requests  map[protocol.ID]protocol.Envelope          // to its own tools; To is the audience of the response
	proposals map[protocol.ID]protocol.Envelope
	begun     map[protocol.ID]bool              // chats that it had started to answer
	waiting   map[protocol.ID]protocol.Envelope // requests to the agent without a response
	settled   map[protocol.ID]bool              // chats that are answered or withdrawn
	said      map[protocol.ID]protocol.Envelope // the agent's own chats, by the chats that they correlate to, before the log is read

	attempts  map[protocol.ID][]protocol.ID // the chats that an outermost reasoning.start of the agent correlates to
	ended     map[protocol.ID]bool          // attempts with an end that is not of a later process
	sent      map[protocol.ID]*sentCall     // calls that were made for the agent, by the request
	sentOrder []protocol.ID                 // oldest first
}

// oldChat is a question, whether the agent had sent an envelope before it, and whether
// it names the agent.
type oldChat struct {
	protocol.Envelope
	spoken, named bool
}

// note records one entry of the log.
func (b *Backlog) note(env *protocol.Envelope) {
	var isQuestion, named bool
	if b.o.Observe != nil {
		isQuestion, named = b.o.Observe(env)
	}
	if env.From == b.o.You {
		b.spoken = true
		b.noteOwn(env)
	}
	switch env.Kind {
	case protocol.KindReasoningStart:
		b.notePart(env)
		b.noteTaken(env)
	case protocol.KindChat:
		b.noteTaken(env)
		if said, ok := b.said[env.ID]; ok && (len(said.To) == 0 || said.AddressedTo(env.From)) {
			b.settled[env.ID] = true
		} else if isQuestion {
			b.chats = append(b.chats, oldChat{*env, b.spoken, named})
			b.chats = b.chats[max(0, len(b.chats)-maxBacklog):]
		}
	case protocol.KindChatCancel:
		b.settle(env.Correlation)
	case protocol.KindReasoningConclusion:
		delete(b.contexts, env.Context)
		b.ended[protocol.ID(env.Context)] = true
	case protocol.KindReasoningCancel:
		if env.From != b.o.You || env.ParsePayload().Get("reason").Text() != wasRestarted {
			for _, id := range append([]protocol.ID{protocol.ID(env.Context)}, env.Correlation.IDs...) {
				b.ended[id] = true
			}
		}
		maps.DeleteFunc(b.contexts, func(path protocol.ContextPath, start protocol.Envelope) bool {
			return path == env.Context || env.Context == "" && env.Correlation.Names(start.ID)
		})
	case protocol.KindMCPRequest, protocol.KindMCPReject, protocol.KindMCPWithdraw, protocol.KindMCPResponse:
		b.noteCall(env)
	}
}

// noteCall records a request to the agent, and removes the work that an
// envelope settles. For a proposal the rule is the same as while the agent
// waits for it. A request to the agent is settled only by the agent's own
// response.
func (b *Backlog) noteCall(env *protocol.Envelope) {
	own := false // it asks for a call that the agent proposed
	for _, id := range env.Correlation.IDs {
		if p, open := b.proposals[id]; open {
			outcome := exchange.Settles(&p, env)
			if outcome != exchange.Pending {
				delete(b.proposals, id)
			}
			if outcome == exchange.Fulfilled {
				b.noteSent(env, p.Context)
				own = env.AddressedTo(b.o.You)
				if own {
					b.requests[env.ID] = fulfilling(env, &p)
				}
			}
		}
		if env.Kind == protocol.KindMCPResponse && env.From == b.o.You {
			delete(b.requests, id)
			delete(b.waiting, id)
		}
	}
	if env.Kind == protocol.KindMCPResponse {
		b.noteResult(env)
	}
	if env.Kind == protocol.KindMCPRequest && env.From != b.o.You && !own && env.AddressedTo(b.o.You) && len(b.waiting) < maxWaiting {
		b.waiting[env.ID] = *env
	}
}

// fulfilling returns another participant's request for a proposed call of the
// agent's own tools, with the audience and the context of its response.
func fulfilling(env, p *protocol.Envelope) protocol.Envelope {
	request := *env
	request.To = append([]protocol.ParticipantID{env.From}, slices.DeleteFunc(slices.Clone(p.To), func(id protocol.ParticipantID) bool { return id == env.From })...)
	request.Context = cmp.Or(env.Context, p.Context)
	return request
}

// Questions returns the old questions to answer.
func (b *Backlog) Questions() []protocol.Envelope {
	var list []protocol.Envelope
	oldest := b.o.Now.Add(-maxAge)
	for _, chat := range b.chats {
		recent := (chat.spoken || b.begun[chat.ID]) && chat.TS.After(oldest)
		if b.o.Mode == CatchUpAll || recent {
			list = append(list, chat.Envelope)
		}
	}
	return list
}

// noteOwn records work that the agent started.
func (b *Backlog) noteOwn(env *protocol.Envelope) {
	switch env.Kind {
	case protocol.KindChat:
		b.settle(protocol.Correlation{IDs: slices.DeleteFunc(slices.Clone(env.Correlation.IDs), func(id protocol.ID) bool {
			return b.saidToAnother(env, id)
		})})
	case protocol.KindReasoningStart:
		if path, ok := env.Opens(); ok {
			b.contexts[path] = *env
			if env.Context == "" {
				b.attempts[env.ID] = env.Correlation.IDs
			}
			for _, id := range env.Correlation.IDs {
				b.begun[id] = true
			}
		}
	case protocol.KindMCPRequest:
		b.noteSent(env, env.Context)
		if len(env.To) == 0 || env.AddressedTo(b.o.You) {
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

// notePart records a context in which another agent asked this one to reason.
func (b *Backlog) notePart(env *protocol.Envelope) {
	path, ok := env.Opens()
	if !ok || env.Context == "" || !participant.AsksFor(env, b.o.You) {
		return
	}
	part := *env
	if len(env.To) > 0 {
		part.To = []protocol.ParticipantID{env.From}
	}
	b.contexts[path] = part
}

// noteTaken removes questions that another participant has begun to answer, or has answered.
// Who was connected then is not in the log: a question to all that would be this agent's today
// was not then.
func (b *Backlog) noteTaken(env *protocol.Envelope) {
	if env.From == b.o.You || env.Context != "" {
		return
	}
	b.chats = slices.DeleteFunc(b.chats, func(chat oldChat) bool {
		return !chat.named && chat.From != env.From && !b.begun[chat.ID] && env.Correlation.Names(chat.ID)
	})
}

// saidToAnother reports whether a chat about a question does not reach the asker.
func (b *Backlog) saidToAnother(env *protocol.Envelope, question protocol.ID) bool {
	return len(env.To) > 0 && slices.ContainsFunc(b.chats, func(chat oldChat) bool {
		return chat.ID == question && !env.AddressedTo(chat.From)
	})
}

// settle removes questions that were answered or withdrawn.
func (b *Backlog) settle(c protocol.Correlation) {
	for _, id := range c.IDs {
		b.settled[id] = true
	}
	b.chats = slices.DeleteFunc(b.chats, func(chat oldChat) bool { return c.Names(chat.ID) })
}

// Requests returns the requests to the agent that have no response.
func (b *Backlog) Requests() []protocol.Envelope { return slices.Collect(maps.Values(b.waiting)) }

// restarted is the error of a call of an own tool that an earlier process left open.
var restarted = client.RPCError{
	Code: participant.CodeFailed, Message: "restarted: whether the call took effect is not known", Data: json.RawMessage(`{"reason":"restarted"}`),
}

// The reasons with which contexts are closed whose questions are answered later.
const (
	wasRestarted = "the agent was restarted" // by a later process
	ShuttingDown = "the agent is shutting down"
)

// Leftovers returns the envelopes that close the agent's unfinished work:
// responses, withdrawals, and the ends of contexts, innermost first.
func (b *Backlog) Leftovers() []protocol.Envelope {
	var out []protocol.Envelope
	for id, request := range b.requests {
		out = append(out, protocol.Envelope{
			Kind: protocol.KindMCPResponse, To: request.To, Context: request.Context, Correlation: protocol.CorrelateTo(id), Seq: request.Seq,
			Payload: participant.Response(participant.RequestID(&request), nil, &restarted),
		})
	}
	for id, p := range b.proposals {
		out = append(out, protocol.Envelope{
			Kind: protocol.KindMCPWithdraw, To: p.To, Context: p.Context, Correlation: protocol.CorrelateTo(id), Seq: p.Seq,
			Payload: reason("no_longer_needed"),
		})
	}
	slices.SortFunc(out, func(x, y protocol.Envelope) int { return cmp.Compare(x.Seq, y.Seq) })
	var ends []protocol.Envelope
	for path, start := range b.contexts {
		end := protocol.Envelope{Kind: protocol.KindReasoningCancel, To: start.To, Context: path, Seq: start.Seq, Payload: reason(wasRestarted)}
		if len(start.To) > 0 {
			end.Correlation = protocol.CorrelateTo(start.ID)
		}
		ends = append(ends, end)
	}
	slices.SortFunc(ends, func(x, y protocol.Envelope) int { return cmp.Compare(y.Seq, x.Seq) })
	out = append(out, ends...)
	for i := range out {
		out[i].Seq = 0
	}
	return out
}

func reason(why string) json.RawMessage {
	return append(protocol.AppendString([]byte(`{"reason":`), why), '}')
}

// ReadBacklog reads the entries that catching up needs. With Auto their number is
// bounded, independent of the length of the log: the newest entries, those up to the
// agent's last envelope, where it may have left work unfinished, those from its oldest
// attempt without an answer on, and the questions of that work.
func ReadBacklog(ctx context.Context, o BacklogOptions) (*Backlog, error) {
	o.History = participant.Patient(o.History)
	b := &Backlog{
		o:         o,
		contexts:  make(map[protocol.ContextPath]protocol.Envelope),
		requests:  make(map[protocol.ID]protocol.Envelope),
		proposals: make(map[protocol.ID]protocol.Envelope),
		begun:     make(map[protocol.ID]bool),
		waiting:   make(map[protocol.ID]protocol.Envelope),
		settled:   make(map[protocol.ID]bool),
		said:      make(map[protocol.ID]protocol.Envelope),
		attempts:  make(map[protocol.ID][]protocol.ID),
		ended:     make(map[protocol.ID]bool),
		sent:      make(map[protocol.ID]*sentCall),
	}
	head := o.Space.Seq
	if o.Mode == CatchUpAll {
		err := b.readEntries(ctx, 0, head, math.MaxInt)
		return b, err
	}
	last, err := b.lastOwn(ctx)
	if err != nil {
		return nil, err
	}
	recent, since, err := b.newest(ctx, recentEntries, head)
	if err != nil {
		return nil, err
	}
	missing := ownEntries
	for i := range recent {
		if recent[i].Seq <= last {
			missing--
		}
	}
	if last > 0 && since > 0 && missing > 0 {
		own, _, err := b.newest(ctx, missing, min(last, since))
		if err != nil {
			return nil, err
		}
		recent = append(own, recent...)
	}
	first := protocol.Seq(0) // before it, entries are not read; 0: there are none
	if since > 0 && len(recent) > 0 {
		first = recent[0].Seq
	}
	if first > 0 && last > 0 {
		begun, err := b.unanswered(ctx)
		if err == nil && begun > 0 && begun < first {
			err = b.readEntries(ctx, begun-1, first-1, attemptPages)
			first = begun
		}
		if err != nil {
			return nil, err
		}
	}
	for i := range recent {
		b.note(&recent[i])
	}
	if first > 0 && b.o.Observe != nil {
		err = b.readBegun(ctx, first)
	}
	return b, err
}

// unanswered returns the position of the agent's oldest attempt of the last hour that it did
// not answer and that nothing else ended; 0: none. It notes the agent's answers.
func (b *Backlog) unanswered(ctx context.Context) (oldest protocol.Seq, err error) {
	q := api.EnvelopeQuery{
		From: []protocol.ParticipantID{b.o.You}, FromTime: b.o.Now.Add(-maxAge), Before: b.o.Space.Seq + 1, Descending: true, Limit: pageEntries, Log: b.o.Space.Log,
		Kinds: []string{string(protocol.KindChat), string(protocol.KindReasoningStart), string(protocol.KindReasoningCancel)},
	}
	ended := make(map[protocol.ID]bool)
	for range searchPages {
		page, err := b.o.History.Envelopes(ctx, b.o.Space.Name, q)
		if err != nil {
			return 0, err
		}
		for _, env := range page.Envelopes { // newest first
			switch {
			case env.Kind == protocol.KindChat:
				for _, id := range env.Correlation.IDs {
					b.said[id] = env
				}
			case env.Kind == protocol.KindReasoningCancel:
				reason := env.ParsePayload().Get("reason").Text()
				ended[protocol.ID(env.Context)] = reason != wasRestarted && reason != ShuttingDown
			case env.Kind == protocol.KindReasoningStart && env.Context == "" && !ended[env.ID]:
				if slices.ContainsFunc(env.Correlation.IDs, func(id protocol.ID) bool { return b.said[id].ID == "" }) {
					oldest = env.Seq
				}
			}
		}
		if !page.HasMore {
			break
		}
		q.Before = page.Next
	}
	return oldest, nil
}

// readBegun adds the questions from before a Seq that the agent had begun to answer after it.
func (b *Backlog) readBegun(ctx context.Context, before protocol.Seq) error {
	missing := make(map[protocol.ID]bool)
	for _, ids := range b.attempts {
		for _, id := range ids {
			missing[id] = !b.settled[id] && !slices.ContainsFunc(b.chats, func(chat oldChat) bool { return chat.ID == id })
		}
	}
	maps.DeleteFunc(missing, func(_ protocol.ID, is bool) bool { return !is })
	q := api.EnvelopeQuery{Before: before, Descending: true, Kinds: []string{string(protocol.KindChat)}, Limit: pageEntries, Log: b.o.Space.Log}
	for range searchPages {
		if len(missing) == 0 {
			return nil
		}
		page, err := b.o.History.Envelopes(ctx, b.o.Space.Name, q)
		if err != nil {
			return err
		}
		for _, env := range page.Envelopes {
			if missing[env.ID] && env.From != b.o.You {
				b.chats = slices.Insert(b.chats, 0, oldChat{Envelope: env})
			}
			delete(missing, env.ID)
		}
		if !page.HasMore {
			return nil
		}
		q.Before = page.Next
	}
	return nil
}

// lastOwn returns the seq of the agent's last envelope; 0 if none was found.
func (b *Backlog) lastOwn(ctx context.Context) (protocol.Seq, error) {
	q := api.EnvelopeQuery{From: []protocol.ParticipantID{b.o.You}, Descending: true, Limit: 1, Log: b.o.Space.Log, Before: b.o.Space.Seq + 1}
	for range searchPages {
		page, err := b.o.History.Envelopes(ctx, b.o.Space.Name, q)
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

// newest returns the newest n entries up to a Seq, oldest first, and the Since that
// excludes the older ones. Positions are not consecutive: in a log on NATS they are
// a thousand apart.
func (b *Backlog) newest(ctx context.Context, n int, upTo protocol.Seq) (list []protocol.Envelope, since protocol.Seq, err error) {
	q := api.EnvelopeQuery{Before: upTo + 1, Descending: true, Log: b.o.Space.Log}
	for range searchPages {
		q.Limit = min(n-len(list), pageEntries)
		page, err := b.o.History.Envelopes(ctx, b.o.Space.Name, q)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, page.Envelopes...)
		q.Before = page.Next
		if !page.HasMore {
			q.Before = 1
		}
		if !page.HasMore || len(list) >= n {
			break
		}
	}
	slices.Reverse(list)
	return list, q.Before - 1, nil
}

// readEntries reads the entries with since < seq <= upTo, in at most some pages.
func (b *Backlog) readEntries(ctx context.Context, since, upTo protocol.Seq, pages int) error {
	q := api.EnvelopeQuery{Since: since, Before: upTo + 1, Limit: pageEntries, Log: b.o.Space.Log}
	for range pages {
		page, err := b.o.History.Envelopes(ctx, b.o.Space.Name, q)
		if err != nil {
			return err
		}
		for i := range page.Envelopes {
			b.note(&page.Envelopes[i])
		}
		if !page.HasMore {
			return nil
		}
		q.Since = page.Next
	}
	return nil
}
