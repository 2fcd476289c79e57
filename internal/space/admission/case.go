package admission

import (
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// Case is an envelope with everything that its sender's rights depend on. The gateway
// decides cases when it admits envelopes, and a backtest decides those of the log again
// under another configuration.
type Case struct {
	State  *authority.State // before the envelope
	Sender ring.Viewer
	Now    time.Time
	Usage  *authority.Usage // nil: no budgets and loops

	Envelope *protocol.Envelope
	Payload  protocol.Value
	// Proposals are the ones that the envelope correlates to, if its kind decides or judges.
	Proposals []*Proposal

	// decider decides on the call: the sender, by CheckEffect, or a rule, by Decide.
	decider ring.Decider
}

// Proposal is a proposed call in the log, or on its way into it.
type Proposal struct {
	Envelope *protocol.Envelope // shared: read-only
	Audience []protocol.ParticipantID
	Payload  protocol.Value
}

// Decide reports whether the sender's capabilities allow the envelope. The right to decide
// on a proposal also allows the decision, and a rule of the deciders a call that the sender
// may propose, unless a deny rule matches.
func (c *Case) Decide() capability.Decision {
	rights, cfg := c.State.Ledger.Effective(c.Sender.ID, c.Now), c.State.Config
	r, kind := c.State.Request(c.Sender.ID, c.Envelope, c.Payload, c.Now), c.Envelope.Kind
	d := rights.Decide(&r)
	switch {
	case d.Allowed || d.By != nil && d.By.Deny():
	case len(c.Proposals) == 1 && (kind == protocol.KindMCPReject || kind == protocol.KindMCPRequest) && !c.Payload.Get("edited").Bool():
		// A rejection, or a request that makes the proposed call unchanged. With "edited", both
		// need a capability of their own.
		x := c.Proposals[0]
		call := c.call(x)
		by := cfg.JudgeDecision(rights, x.Envelope, &call)
		if by.Allowed {
			return by
		}
	case kind == protocol.KindMCPRequest && len(c.Proposals) == 0 && len(cfg.Deciders.Rules) > 0:
		verdict, by := cfg.Ask(rights, r)
		if verdict == authority.Allowed {
			c.decider = ring.DeciderRule
			return capability.Decision{Allowed: true, By: by}
		}
	}
	return d
}

// CheckEffect checks what an allowed envelope does: propose a call, decide on it or judge it,
// change rights, invite or remove a participant. Administrative envelopes have a check of their
// own. The error is an [authority.NotDecider] or a *protocol.Error.
func (c *Case) CheckEffect() error {
	if err := c.State.CheckReviewer(c.Envelope); err != nil {
		return err
	}
	switch c.Envelope.Kind {
	case protocol.KindMCPProposal:
		why := c.State.Config.RejectsProposal(c.Sender.ID, c.Envelope, c.Payload)
		if why != "" {
			return protocol.Errorf(protocol.CodeCapabilityViolation, "%s", why)
		}
	case protocol.KindMCPOpinion:
		return c.checkOpinion()
	case protocol.KindReviewerPromote, protocol.KindReviewerDemote:
		return c.State.CheckModeChange(c.Envelope, c.Payload)
	case protocol.KindMCPRequest, protocol.KindMCPReject, protocol.KindMCPWithdraw:
		return c.checkDecision()
	case protocol.KindCapabilityGrant:
		return c.State.CheckGrant(c.Envelope, c.Payload)
	case protocol.KindPolicyDismiss:
		return authority.CheckDismissal(c.Payload)
	case protocol.KindCapabilityRevoke:
		return c.State.CheckRevoke(c.Envelope, c.Payload)
	case protocol.KindSpaceInvite:
		_, _, err := c.State.CheckInvite(c.Envelope, c.Payload)
		return err
	case protocol.KindSpaceKick:
		return c.State.CheckKick(c.Payload)
	case protocol.KindClaim:
		return c.State.CheckClaim(c.Envelope, c.Payload)
	case protocol.KindRelease:
		return c.State.CheckRelease(c.Envelope, c.Payload)
	}
	return nil
}

// checkDecision checks an envelope that fulfills, rejects or withdraws a proposal
// against the proposal and the sender's right to decide. Only the proposer can
// withdraw. The journal ensures that it is the first decision.
func (c *Case) checkDecision() error {
	e := c.Envelope
	if e.Kind == protocol.KindMCPWithdraw {
		for _, id := range e.Correlation.IDs {
			if !slices.ContainsFunc(c.Proposals, func(x *Proposal) bool { return x.Envelope.ID == id && x.Envelope.From == e.From }) {
				return protocol.Errorf(protocol.CodeNotProposer, "%s is not a proposal of yours; only the proposer can withdraw it.", id)
			}
		}
	}
	switch {
	case len(c.Proposals) == 0:
		return nil
	case len(c.Proposals) > 1:
		return mismatch("This names several proposals; decide on each of them in an envelope of its own.")
	case e.Kind == protocol.KindMCPWithdraw:
		return nil
	}
	x := c.Proposals[0]
	if !c.sees(x) {
		return authority.ErrNotDecider
	}
	if e.Kind == protocol.KindMCPRequest {
		call := exchange.ReadCall(x.Payload)
		if call.Expired(c.Now) {
			return mismatch("The proposal has expired; its call can no longer be made.")
		}
		if c.State.IsGone(x.Envelope.From) {
			return mismatch("The proposer was removed from the space; its call can no longer be made.")
		}
		if why := exchange.CallMismatch(x.Envelope, call, e, exchange.ReadCall(c.Payload)); why != "" {
			return mismatch(why)
		}
	}
	call := c.call(x)
	var err error
	c.decider, err = c.State.CheckDecision(c.Usage, c.Sender.ID, x.Envelope, &call, c.Payload.Get("edited").Bool(), c.Now)
	return err
}

func (c *Case) sees(x *Proposal) bool {
	return c.State.Visibility(c.Sender, c.Now).Allows(x.Envelope, x.Audience)
}

// checkOpinion checks that an opinion is about the one proposal that it names, of another
// participant.
func (c *Case) checkOpinion() error {
	if len(c.Proposals) != 1 || len(c.Envelope.Correlation.IDs) != 1 || !c.sees(c.Proposals[0]) {
		return mismatch("An opinion names one proposal that you can see in correlationId.")
	}
	x := c.Proposals[0]
	switch {
	case x.Envelope.From == c.Sender.ID:
		return mismatch("This is your own proposal; others judge it.")
	case c.Payload.Get("call").Text() != exchange.ReadCall(x.Payload).Digest():
		return mismatch("The digest in call is not the one of the proposed call; judge the call as it is in the log.")
	}
	return nil
}

// mayFollowOpinion reports whether the sender of an opinion is a reviewer that may decide on the
// proposal as the opinion says.
func (c *Case) mayFollowOpinion() bool {
	x, verdict := c.Proposals[0], c.Payload.Get("verdict")
	if verdict.EqualText(protocol.OpinionAbstain) || c.State.Config.Deciders.Reviewer(c.Sender.ID) == nil {
		return false
	}
	call := c.State.Config.ProposedCall(x.Envelope.From, x.Envelope, x.Payload, authority.HostOf(x.Payload))
	by, err := c.State.CheckDecision(c.Usage, c.Sender.ID, x.Envelope, &call, false, c.Now)
	return err == nil && by == ring.DeciderReviewer
}

// call returns the proposed call, to the participants that run it as the envelope decides.
func (c *Case) call(x *Proposal) capability.Request {
	to := c.Envelope.To
	if c.Envelope.Kind == protocol.KindMCPReject {
		to = authority.HostOf(x.Payload)
	}
	return c.State.Config.ProposedCall(x.Envelope.From, x.Envelope, x.Payload, to)
}

func mismatch(message string) *protocol.Error {
	return protocol.Errorf(protocol.CodeProposalMismatch, "%s", message)
}
