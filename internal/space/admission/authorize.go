package admission

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// authorize checks an envelope against the current state of the space and records
// the Seq of that state in the draft. When the log has a later state entry at the
// time of the append, the journal rejects the draft as stale and it is authorized
// again.
func (b *batch) authorize(ctx context.Context, p *candidate) error {
	st := b.space.State.Load()
	p.draft.CheckedAtStateSeq = st.Seq
	e := &p.draft.Envelope
	c := Case{State: st, Sender: b.from.Viewer, Now: b.now, Usage: b.space.Usage.Load(), Envelope: e, Payload: p.In.Payload, Proposals: p.proposals}
	d := c.Decide()
	if !d.Allowed {
		denied := d.By != nil && d.By.Deny()
		// A call that its sender could make, if its budget was not used up, may be
		// proposed: a budget asks, and ends no work.
		proposes := e.Kind == protocol.KindMCPProposal && b.ask(&c) != nil && st.MayCall(e, p.In.Payload, b.now).Allowed
		if denied || !proposes && !b.allowedForMEW(ctx, p) {
			return b.violation(st, e.Kind)
		}
	}
	if err := b.checkBudget(&c); err != nil {
		return err
	}
	if err := st.CheckKicked(b.from.ID); err != nil {
		return err
	}
	if st.IsPaused(b.from.ID, b.now) && !passesPause(e.Kind) {
		return protocol.Errorf(protocol.CodePaused, "You are paused; until you are resumed you can send participant.status, mcp.response, chat.acknowledge and cancellations alone.")
	}
	if err := b.checkStream(p); err != nil {
		return err
	}
	if err := c.CheckEffect(); err != nil {
		return b.refusal(st, e.Kind, err)
	}
	switch e.Kind {
	case protocol.KindMCPRequest, protocol.KindMCPReject:
		p.reason = b.reasonOf(&c, d)
		p.draft.Private = p.note()
	case protocol.KindMCPProposal:
		p.reason = nil
		if ask := b.ask(&c); ask != nil && st.NeedsNoQuestion(e, p.In.Payload, b.now) {
			p.reason = &ring.Reason{Policy: st.Policy, Limit: ask.Limit}
		}
		p.draft.Private = p.note()
	case protocol.KindMCPOpinion:
		p.result.Decides = c.mayFollowOpinion()
	case protocol.KindReasoningStart:
		return b.checkStart(p)
	case protocol.KindBudgetExtend:
		return st.CheckExtend(e, p.In.Payload)
	case protocol.KindSpaceInvite:
		return b.checkInvite(st, p)
	case protocol.KindReviewerPromote:
		return b.checkProof(ctx, &c, d, p)
	default:
		if e.Kind.IsAdministrative() {
			return st.CheckChange(e, p.In.Payload)
		}
	}
	return nil
}

// reasonOf returns what is recorded with an admitted call or rejection.
func (b *batch) reasonOf(c *Case, d capability.Decision) *ring.Reason {
	r := &ring.Reason{Policy: c.State.Policy, Rule: textutil.Shorten(d.By.String(), maxRule), Grant: d.Grant, Decider: c.decider}
	if len(c.Proposals) == 1 {
		x := c.Proposals[0]
		r.Late = exchange.ReadCall(x.Payload).Expired(c.Now) || b.space.Contexts.HasEnded(x.Envelope.Context)
	}
	return r
}

// maxRule bounds the text of a rule that is recorded, in bytes. One that was cut ends with
// "…", and so is no JSON.
const maxRule = 512

// passesPause reports whether a paused participant may send the kind.
func passesPause(k protocol.Kind) bool {
	switch k {
	case protocol.KindParticipantStatus, protocol.KindMCPResponse, protocol.KindChatAcknowledge:
		return true
	}
	_, name := k.Split()
	return name == "cancel"
}

// allowedForMEW reports whether an envelope that no capability allows comes from a client
// of MEW that may send it: such clients may answer a request that another participant
// addressed to them or to all, and write into streams whose owner permits it (section 9).
func (b *batch) allowedForMEW(ctx context.Context, p *candidate) bool {
	e := &p.In.Envelope
	if b.from.Dialect == protocol.DialectMEW04 && e.Kind == protocol.KindStreamData {
		return true // checkStream checks the writers of the stream
	}
	if b.from.Dialect != protocol.DialectMEW04 || e.Kind != protocol.KindMCPResponse {
		return false
	}
	for _, id := range e.Correlation.IDs {
		x, err := b.parent(ctx, id)
		if err != nil || x.envelope.Kind != protocol.KindMCPRequest || x.envelope.From == b.from.ID || len(x.envelope.To) > 0 && !x.envelope.AddressedTo(b.from.ID) {
			return false
		}
	}
	return true
}

func (b *batch) violation(st *authority.State, kind protocol.Kind) *protocol.Error {
	err := protocol.Errorf(protocol.CodeCapabilityViolation, "Your capabilities do not allow this %s.", b.from.Dialect.SpellKind(kind))
	if b.from.Observe {
		err.Message = "This connection observes; it may send system.subscribe alone."
	}
	err.AttemptedKind = b.from.Dialect.SpellKind(kind)
	err.YourCapabilities = st.CapabilitiesOf(b.from.ID, b.from.Dialect, b.now)
	return err
}

// checkStart checks the context that a reasoning.start opens against the limits
// of contexts.
func (b *batch) checkStart(p *candidate) error {
	limits := b.space.State.Load().Settings(b.from.ID).Limits
	depth := limits.ContextDepth
	if depth <= 0 {
		depth = protocol.DefaultContextDepth
	}
	path, _ := p.draft.Envelope.Opens()
	if _, ok := protocol.ParseContextPath(string(path), depth); !ok {
		return protocol.Errorf(protocol.CodeInvalidContext, "The context %s would be deeper than %d segments or longer than %d bytes.", path, depth, protocol.MaxContextBytes)
	}
	open := b.space.Contexts.OpenOf(b.from.ID)
	for _, w := range b.waiting { // will open theirs
		if w.In.Envelope.Kind == protocol.KindReasoningStart {
			open++
		}
	}
	if limits.OpenContexts > 0 && open >= limits.OpenContexts {
		err := protocol.Errorf(protocol.CodeRateLimited, "You have %d contexts open; conclude or cancel one first.", open)
		err.Limit, err.RetryAfterMS = "open_contexts", 1000
		return err
	}
	return nil
}

// checkInvite checks an invitation and creates its token. Only the token's hash is
// stored.
func (b *batch) checkInvite(st *authority.State, p *candidate) error {
	g, hasToken, err := st.CheckInvite(&p.draft.Envelope, p.In.Payload)
	if err != nil {
		return err
	}
	p.result.Invite = &protocol.InviteAck{ParticipantID: g.Recipient}
	if !hasToken {
		return nil
	}
	token, hash := b.space.NewToken()
	p.tokenHash = []byte(hex.EncodeToString(hash[:]))
	p.draft.Private = p.note()
	p.result.Invite.Token = token
	if !g.ExpiresAt.IsZero() {
		p.result.Invite.ExpiresAt = g.ExpiresAt.Format(time.RFC3339)
	}
	return nil
}

// proofWork is the work of an entry that is read for a promotion, in bytes.
const proofWork = 256

// checkProof checks that the decisions of people on the opinions of a reviewer prove that it
// may be promoted. One that decides already needs no proof.
func (b *batch) checkProof(ctx context.Context, c *Case, d capability.Decision, p *candidate) error {
	st, id := c.State, protocol.ParticipantIn(p.In.Payload, "participant_id")
	v := st.Config.Deciders.Reviewer(id) // CheckEffect has found it
	decides, last := st.Mode(id)
	if !decides {
		limiter := b.from.Buckets.Get()
		if err := limiter.Work(b.now); err != nil {
			return err
		}
		b.caughtUp = false    // the batch may have appended a decision since
		err := b.catchUp(ctx) // a miss that another gateway has acknowledged counts
		var compared, sinceMiss, scanned int
		if err == nil {
			compared, sinceMiss, scanned, err = b.space.Proof(ctx, id)
			limiter.Worked(b.now, scanned*proofWork)
		}
		if err != nil {
			b.space.Log.Warn("read how a reviewer has done", "reviewer", id, "error", err)
			return protocol.Errorf(protocol.CodeUnavailable, "The log cannot be read back now to see how %s has done; send it again.", id)
		}
		if missing := v.Missing(compared, sinceMiss, last); missing != "" {
			return b.refusal(st, p.draft.Envelope.Kind, protocol.Errorf(protocol.CodeCapabilityViolation, "%s cannot be promoted yet: %s.", id, missing))
		}
	}
	p.reason = b.reasonOf(c, d)
	p.reason.Reviewer = v.Entry()
	p.draft.Private = p.note()
	return nil
}

// refusal completes a rejection by its effect with what the sender may do.
func (b *batch) refusal(st *authority.State, kind protocol.Kind, err error) error {
	var why authority.NotDecider
	refused := protocol.AsError(err)
	if !errors.As(err, &why) && refused.Code != protocol.CodeCapabilityViolation {
		return err
	}
	complete := b.violation(st, kind)
	complete.Message = cmp.Or(string(why), refused.Message)
	return complete
}
