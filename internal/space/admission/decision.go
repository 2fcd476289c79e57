package admission

import (
	"slices"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

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
