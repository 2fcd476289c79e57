// Package review is a participant that judges the proposals of others, by rules or by a model. It says
// what it thinks in one mcp.opinion for each proposal. If the gateway lets it decide at that moment,
// it then decides.
//
// It is asked only what a careful person could be asked: the question, the exact call, labels, and
// decisions of people on similar calls ([dossier]). What cannot be judged, in time or at all, is left to
// people (abstain).
//
// Goroutines: the goroutine of Run reads the space. It starts one for each proposal that it accepts, at
// most MaxWork + MaxWaiting, and one for those that were pending at the start. Run returns when all
// have ended. Proposals that were skipped because the connection was lost for too long are left to people.
package review

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// Log is the part of *api.Client that a reviewer reads.
type Log interface {
	Envelopes(ctx context.Context, space string, query api.EnvelopeQuery) (*api.Envelopes, error)
	Envelope(ctx context.Context, space string, id protocol.ID) ([]byte, error)
	Proposals(ctx context.Context, space, state string, limit int, before protocol.Seq) (*api.Proposals, error)
	Decisions(ctx context.Context, space string, query api.DecisionQuery) (*api.Decisions, error)
}

// Options configures a Reviewer. Space, Log, Key, and Rules or Model are required.
type Options struct {
	Space participant.Space
	Log   Log
	// Key makes the ids of the envelopes of all processes of the participant the same, and unknown
	// to others, who could use them first: its token.
	Key []byte

	Rules *Rules    // asked first; nil: none
	Model llm.Model // asked about what the rules leave; nil: none
	// Effort is how much the model thinks.
	Effort string
	// Shadow: it never decides, also if the gateway would let it.
	Shadow bool
	// Root is the folder of the tools, which relative paths of rules are relative to; "": the
	// working directory that the host of a call reports.
	Root string

	MaxWork    int           // proposals that are judged at once; 0: 4
	MaxWaiting int           // proposals that wait; 0: 64
	Timeout    time.Duration // of one judgment; 0: 1 min
	MaxCall    int           // bytes of a proposal that is judged; 0: 32 KiB
	Logger     *slog.Logger  // nil discards
}

// Bounds of reading the log at the start, and of the text of an opinion.
const (
	pendingPages = 5
	pendingPage  = 100
	ownPages     = 5
	ownPage      = 1000
	readTime     = 30 * time.Second
	maxReason    = 500 // characters; the protocol has room for more
)

// Reviewer judges the proposals of one space.
type Reviewer struct {
	opts    Options
	log     *slog.Logger
	you     protocol.ParticipantID
	runtime *participant.Runtime
	joined  protocol.SpaceInfo
	cases   participant.Requests[*work]
	turns   chan struct{} // one token for each judgment in progress
	reading chan struct{} // a token while the gateway is asked
	hints   hints
	full    bool // proposals are not accepted now; owned by the goroutine of Run
}

// work is a proposal that is judged, or waits for that.
type work struct {
	proposal protocol.Envelope
	call     exchange.Call
	answered atomic.Bool // its opinion is on the way: another one of this participant is the same
	ctx      context.Context
	cancel   context.CancelCauseFunc
}

var (
	errShutdown = errors.New("the reviewer is shutting down")
	errSettled  = errors.New("the proposal is settled")
	errTwin     = errors.New("another process of this participant has judged it")
)

// New returns a reviewer for a client that has joined.
func New(opts Options) *Reviewer {
	opts.MaxWork = cmp.Or(opts.MaxWork, 4)
	opts.MaxWaiting = cmp.Or(opts.MaxWaiting, 64)
	opts.Timeout = cmp.Or(opts.Timeout, time.Minute)
	opts.MaxCall = cmp.Or(opts.MaxCall, 32<<10)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	runtime := participant.New(opts.Space, opts.Logger, errShutdown)
	return &Reviewer{
		opts: opts, log: runtime.Log, you: runtime.You, runtime: runtime, joined: opts.Space.Welcome().Space,
		cases: participant.Requests[*work]{Places: opts.MaxWork + opts.MaxWaiting},
		turns: make(chan struct{}, opts.MaxWork), reading: make(chan struct{}, 1),
	}
}

// Run judges the proposals that are pending and those that come, until ctx ends, an authorized
// participant shuts the reviewer down (both return nil), or the client ends.
func (r *Reviewer) Run(ctx context.Context) error {
	return r.runtime.Run(ctx, func() {
		r.catchUp()
		r.log.Info("reviewer ready")
	}, func(env *protocol.Envelope, old bool) {
		if !old {
			r.handle(env)
		}
	})
}

func (r *Reviewer) handle(env *protocol.Envelope) {
	switch {
	case env.Kind == protocol.KindMCPProposal && env.From != r.you:
		// One proposer has at most a quarter of the room; its proposals that find none are left to people.
		w := r.newWork(env)
		admission := r.cases.Admit(env, w)
		if admission == participant.Accepted {
			r.full = false
			r.runtime.Group.Go(func() { r.review(w) })
			return
		}
		w.cancel(nil)
		if admission == participant.Overloaded {
			if !r.full {
				r.log.Warn("proposals are left to people: too many are waiting", "from", env.From, "proposal", env.ID)
			}
			r.full = true
		}
	case env.Kind == protocol.KindMCPOpinion && env.From == r.you:
		for _, id := range env.Correlation.IDs {
			if w := r.cases.Get(id); w != nil && !w.answered.Load() {
				w.cancel(errTwin)
			}
		}
	case env.Kind == protocol.KindParticipantRequestStatus && env.From != r.you && env.AddressedTo(r.you):
		r.runtime.Group.Go(func() { r.sendStatus(env) })
	case slices.Contains(exchange.DecisionKinds, env.Kind):
		for _, w := range r.cases.All() {
			if exchange.SettlesCall(&w.proposal, w.call, env) != exchange.Pending {
				w.cancel(errSettled)
			}
		}
	}
}

// sendStatus answers a request for the status.
func (r *Reviewer) sendStatus(request *protocol.Envelope) {
	status := struct {
		Status    string `json:"status"`
		Proposals int    `json:"proposals"` // judged now, or waiting
		Paused    bool   `json:"paused"`
	}{"idle", len(r.cases.All()), r.runtime.Gate.Closed()}
	if status.Proposals > 0 {
		status.Status = "working"
	}
	_, err := r.opts.Space.Send(r.runtime.Final, protocol.Envelope{
		Kind: protocol.KindParticipantStatus, To: []protocol.ParticipantID{request.From},
		Correlation: protocol.CorrelateTo(request.ID), Payload: llm.Marshal(status),
	})
	if err != nil {
		r.log.Warn("status not sent", "to", request.From, "err", err)
	}
}

func (r *Reviewer) newWork(env *protocol.Envelope) *work {
	w := &work{proposal: *env, call: exchange.CallOf(env)}
	w.ctx, w.cancel = context.WithCancelCause(r.runtime.Work)
	return w
}

// catchUp judges the proposals that are pending and have no opinion of this participant, oldest first.
func (r *Reviewer) catchUp() {
	ctx, cancel := context.WithTimeout(r.runtime.Work, readTime)
	defer cancel()
	pending, err := r.pending(ctx)
	if err != nil {
		if ctx.Err() == nil {
			r.log.Warn("proposals from before the start are left to people", "err", err)
		}
		return
	}
	var list []*work
	for i := range pending {
		w := r.newWork(&pending[i])
		r.cases.Hold(&w.proposal, w)
		list = append(list, w)
	}
	r.runtime.Group.Go(func() {
		for _, w := range list {
			r.review(w)
		}
	})
}

// pending returns the pending proposals of others without an opinion of this participant, oldest first.
func (r *Reviewer) pending(ctx context.Context) ([]protocol.Envelope, error) {
	var list []protocol.Envelope
	before := r.joined.Seq + 1
	for range pendingPages {
		page, err := inTurn(ctx, r, func() (*api.Proposals, error) {
			return r.opts.Log.Proposals(ctx, r.joined.Name, "pending", pendingPage, before)
		})
		if err != nil {
			return nil, err
		}
		for _, p := range page.Proposals {
			if p.Envelope.From != r.you {
				list = append(list, p.Envelope.Envelope)
			}
		}
		if !page.HasMore {
			break
		}
		before = page.Next
	}
	if len(list) == 0 {
		return nil, nil
	}
	slices.Reverse(list)
	judged, err := r.judged(ctx, list[0].Seq)
	return slices.DeleteFunc(list, func(p protocol.Envelope) bool { return judged[p.ID] }), err
}

// judged returns the proposals since a position on which this participant has an opinion.
func (r *Reviewer) judged(ctx context.Context, since protocol.Seq) (map[protocol.ID]bool, error) {
	out := make(map[protocol.ID]bool)
	q := api.EnvelopeQuery{
		Kinds: []string{string(protocol.KindMCPOpinion)}, From: []protocol.ParticipantID{r.you}, Descending: true, Limit: ownPage, Log: r.joined.Log, Before: r.joined.Seq + 1,
	}
	for range ownPages {
		page, err := inTurn(ctx, r, func() (*api.Envelopes, error) { return r.opts.Log.Envelopes(ctx, r.joined.Name, q) })
		if err != nil {
			return nil, fmt.Errorf("read own opinions: %w", err)
		}
		for i := range page.Envelopes {
			for _, id := range page.Envelopes[i].Correlation.IDs {
				out[id] = true
			}
		}
		if !page.HasMore || page.Next <= since {
			break
		}
		q.Before = page.Next
	}
	return out, nil
}

// review judges a proposal, says so, and decides if the gateway lets it.
func (r *Reviewer) review(w *work) {
	defer r.cases.Remove(w.proposal.ID)
	defer w.cancel(nil)
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-w.ctx.Done():
		return
	}
	if r.runtime.Gate.Wait(w.ctx) != nil || w.call.Expired(r.opts.Space.Welcome().Now()) {
		return
	}
	o := r.judge(w)
	w.answered.Store(true)
	if w.ctx.Err() != nil {
		return
	}
	opinion := exchange.Opinion(&w.proposal, o.verdict, o.reason)
	opinion.ID = r.id("opinion", w.proposal.ID)
	receipt, sent := r.send(w, opinion)
	if !sent {
		return
	}
	// An opinion that is given in shadow never becomes a decision, nor does one that another process of
	// this participant has given otherwise: the gateway says so of the first one alone.
	decides := receipt.Decides && !r.opts.Shadow
	r.log.Info("proposal judged", "proposal", w.proposal.ID, "from", w.proposal.From, "verdict", o.verdict, "decides", decides)
	if !decides {
		return
	}
	decision := exchange.Rejection(&w.proposal, textutil.ShortenChars(o.reason, maxReason))
	decision.ID = r.id("decision", w.proposal.ID)
	if o.verdict == protocol.OpinionApprove {
		var err error
		decision, err = exchange.Approval(&w.proposal, decision.ID, "")
		if err != nil {
			r.log.Info("not decided", "proposal", w.proposal.ID, "why", err)
			return
		}
	}
	r.send(w, decision)
}

// id returns the id of an envelope about a proposal.
func (r *Reviewer) id(what string, proposal protocol.ID) protocol.ID {
	mac := func() hash.Hash { return hmac.New(sha256.New, r.opts.Key) }
	return protocol.ID(uuid.NewHash(mac(), uuid.NameSpaceOID, []byte(what+" of "+string(r.you)+" on "+string(proposal)), 8).String())
}

// send publishes an envelope about a proposal, after a pause if there is one.
func (r *Reviewer) send(w *work, e protocol.Envelope) (receipt client.Receipt, sent bool) {
	for {
		generation := r.runtime.Gate.Generation()
		receipt, err := r.opts.Space.Send(w.ctx, e)
		refusal := protocol.AsError(err)
		switch {
		case err == nil:
			return receipt, true
		case w.ctx.Err() != nil:
			return receipt, false
		case refusal.Code == protocol.CodePaused:
			if r.runtime.Gate.WaitRefused(w.ctx, generation) != nil {
				return receipt, false
			}
			continue
		case slices.Contains([]protocol.Code{protocol.CodeProposalSettled, protocol.CodeProposalMismatch}, refusal.Code),
			e.Kind != protocol.KindMCPOpinion && refusal.Code == protocol.CodeCapabilityViolation: // it was demoted
			r.log.Info("others decide", "kind", e.Kind, "proposal", w.proposal.ID, "why", err)
		default:
			r.log.Warn("envelope not sent", "kind", e.Kind, "proposal", w.proposal.ID, "err", err)
		}
		return receipt, false
	}
}

// judge returns the opinion on a proposal: that of the rules, or else of the model.
func (r *Reviewer) judge(w *work) opinion {
	if len(w.proposal.Payload) > r.opts.MaxCall {
		return opinion{protocol.OpinionAbstain, fmt.Sprintf("The call has more than %d bytes.", r.opts.MaxCall)}
	}
	ctx, cancel := context.WithTimeout(w.ctx, r.opts.Timeout)
	defer cancel()
	request := requestOf(&w.proposal, r.opts.Root)
	o, about := opinion{protocol.OpinionAbstain, "There are no rules."}, false
	if r.opts.Rules != nil {
		o, about = r.opts.Rules.judge(&request)
	}
	if about || r.opts.Model == nil {
		return o
	}
	d := newDossier(&request) // what is known elsewhere and cannot be read is absent
	d.Question = r.question(ctx, w)
	d.Precedents = r.precedents(ctx, d, w)
	if d.Call.Host != "" {
		d.Labels.HostSays = r.hints.of(ctx, r, d.Call.Host)[d.Call.Tool]
	}
	o, err := ask(ctx, r.opts.Model, r.opts.Effort, d)
	switch {
	case err == nil:
		return o
	case w.ctx.Err() != nil:
		return opinion{protocol.OpinionAbstain, "It was not judged to the end."}
	case ctx.Err() != nil:
		r.log.Warn("the model gave no verdict in time", "proposal", w.proposal.ID)
		return opinion{protocol.OpinionAbstain, "The model gave no verdict in time."}
	}
	r.log.Warn("the model gave no verdict", "proposal", w.proposal.ID, "err", err)
	return opinion{protocol.OpinionAbstain, "The model gave no verdict."}
}

// opinion is a verdict with its grounds.
type opinion struct{ verdict, reason string }

// inTurn reads from the gateway, one request at a time, since the gateway bounds the memory of the
// requests of a participant.
func inTurn[T any](ctx context.Context, r *Reviewer, read func() (T, error)) (out T, err error) {
	select {
	case r.reading <- struct{}{}:
		defer func() { <-r.reading }()
	case <-ctx.Done():
		return out, ctx.Err()
	}
	return participant.Again(ctx, read)
}

// Kinds are the kinds of envelopes that a reviewer has to receive.
func Kinds() []string {
	list := []string{string(protocol.KindMCPOpinion), "participant.*"}
	for _, k := range exchange.DecisionKinds {
		list = append(list, string(k))
	}
	return list
}
