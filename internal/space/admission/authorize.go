package admission

import (
	"context"
	"encoding/hex"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// authorize checks an envelope against the current state of the space and records
// the Seq of that state in the draft. When the log has a later state entry at the
// time of the append, the journal rejects the draft as stale and it is authorized
// again.
func (b *batch) authorize(ctx context.Context, p *candidate) error {
	st := b.space.State.Load()
	p.draft.CheckedAtStateSeq = st.Seq
	e := &p.In.Envelope
	if !b.allowed(ctx, st, p) {
		return b.violation(st, e.Kind)
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
	switch e.Kind {
	case protocol.KindReasoningStart:
		return b.checkStart(p)
	case protocol.KindMCPRequest, protocol.KindMCPReject, protocol.KindMCPWithdraw:
		return b.checkDecision(st, p)
	case protocol.KindCapabilityGrant:
		return st.CheckGrant(&p.draft.Envelope, p.In.Payload)
	case protocol.KindCapabilityRevoke:
		return st.CheckRevoke(&p.draft.Envelope, p.In.Payload)
	case protocol.KindSpaceInvite:
		return b.checkInvite(st, p)
	case protocol.KindSpaceKick:
		return st.CheckKick(p.In.Payload)
	}
	if e.Kind.IsAdministrative() {
		return st.CheckChange(&p.draft.Envelope, p.In.Payload)
	}
	return nil
}

// passesPause reports whether a paused participant may send the kind.
func passesPause(k protocol.Kind) bool {
	switch k {
	case protocol.KindParticipantStatus, protocol.KindMCPResponse, protocol.KindChatAcknowledge:
		return true
	}
	_, name := k.Split()
	return name == "cancel"
}

// allowed reports whether the sender's capabilities allow the envelope. Unless a
// deny rule matches, three more cases are allowed: the capability decide covers
// the decision on a proposal, and clients of MEW may answer a request that
// another participant addressed to them or to all, and write into streams whose
// owner permits it (section 9).
func (b *batch) allowed(ctx context.Context, st *authority.State, p *candidate) bool {
	rights, e := st.Ledger.Effective(b.from.ID, b.now), &p.In.Envelope
	r := st.Config.Request(b.from.ID, e, p.In.Payload)
	d := rights.Decide(&r)
	if d.Allowed || d.By != nil && d.By.Deny() {
		return d.Allowed
	}
	return b.grantsDecision(rights, p) || b.allowedForMEW(ctx, p)
}

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

// checkDecision checks an envelope that fulfills, rejects or withdraws a proposal
// against the proposal and the sender's right to decide. Only the proposer can
// withdraw. The journal ensures that it is the first decision.
func (b *batch) checkDecision(st *authority.State, p *candidate) error {
	e := &p.draft.Envelope
	if e.Kind == protocol.KindMCPWithdraw {
		for _, id := range e.Correlation.IDs {
			if !slices.ContainsFunc(p.proposals, func(x *parent) bool { return x.envelope.ID == id && x.envelope.From == e.From }) {
				return protocol.Errorf(protocol.CodeNotProposer, "%s is not a proposal of yours; only the proposer can withdraw it.", id)
			}
		}
	}
	switch {
	case len(p.proposals) == 0:
		return nil
	case len(p.proposals) > 1:
		return mismatch("This names several proposals; decide on each of them in an envelope of its own.")
	case e.Kind == protocol.KindMCPWithdraw:
		return nil
	}
	x := p.proposals[0]
	if !b.from.sees(x) {
		return b.notDecider(st, e)
	}
	proposed := x.payload()
	if e.Kind == protocol.KindMCPRequest {
		call := exchange.ReadCall(proposed)
		if call.Expired(b.now) {
			return mismatch("The proposal has expired; its call can no longer be made.")
		}
		if st.IsGone(x.envelope.From) {
			return mismatch("The proposer was removed from the space; its call can no longer be made.")
		}
		if why := exchange.CallMismatch(x.envelope, call, e, exchange.ReadCall(p.In.Payload)); why != "" {
			return mismatch(why)
		}
	}
	rights := st.Ledger.Effective(b.from.ID, b.now)
	if !b.mayDecide(rights, x.envelope, proposed, e) {
		return b.notDecider(st, e)
	}
	return nil
}

// grantsDecision reports whether the right to decide allows an envelope that no
// capability for its kind allows: a rejection, or a request that makes the proposed
// call unchanged.
func (b *batch) grantsDecision(rights capability.Rights, p *candidate) bool {
	e := &p.In.Envelope
	if len(p.proposals) != 1 || e.Kind != protocol.KindMCPReject && e.Kind != protocol.KindMCPRequest || p.In.Payload.Get("edited").Bool() {
		return false
	}
	x := p.proposals[0]
	return b.mayDecide(rights, x.envelope, x.payload(), e)
}

// mayDecide reports whether a participant with these rights may decide on a proposal as
// a decision does.
func (b *batch) mayDecide(rights capability.Rights, x *protocol.Envelope, proposed protocol.Value, decision *protocol.Envelope) bool {
	to := decision.To
	if decision.Kind == protocol.KindMCPReject {
		to = authority.HostOf(proposed)
	}
	return b.space.State.Load().Config.MayDecide(rights, x, proposed, to)
}

func mismatch(message string) *protocol.Error {
	return protocol.Errorf(protocol.CodeProposalMismatch, "%s", message)
}

func (b *batch) notDecider(st *authority.State, e *protocol.Envelope) *protocol.Error {
	err := b.violation(st, e.Kind)
	err.Message = "You may not decide on this proposal: none of your capabilities for decide matches it."
	return err
}
