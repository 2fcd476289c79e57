package authority

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/protocol"
)

// policyDigits is how many hex digits of a policy's digest are used.
const policyDigits = 32

// digest returns the digest of the configured policy: of everything in the configuration
// that decides which envelopes are admitted and who may see and settle them. Grants and
// revocations are not part of it; they are in the log.
func (c *Config) digest() string {
	type rights struct {
		ID           protocol.ParticipantID `json:",omitempty"`
		Capabilities []json.RawMessage
		Root         string `json:",omitempty"`
	}
	rightsOf := func(id protocol.ParticipantID, p *ParticipantConfig) rights {
		r := rights{ID: id, Root: p.Root}
		for _, x := range p.Capabilities {
			r.Capabilities = append(r.Capabilities, json.RawMessage(x.String()))
		}
		return r
	}
	h := sha256.New()
	text := json.NewEncoder(h)
	_ = text.Encode([]bool{c.Everyone, c.DecideExplicitly, c.Guests != nil}) // a hash takes everything
	if c.Guests != nil {
		_ = text.Encode(rightsOf("", c.Guests))
	}
	for _, id := range slices.Sorted(maps.Keys(c.Participants)) {
		p := c.Participants[id]
		_ = text.Encode(rightsOf(id, &p))
	}
	if c.Deciders.Configured() {
		_ = text.Encode(c.Deciders.described())
	}
	return hex.EncodeToString(h.Sum(nil))[:policyDigits]
}

// Verdict is what the policy in force says about a call.
type Verdict string

// The verdicts.
const (
	Allowed Verdict = "allowed" // it may be made
	Asked   Verdict = "asked"   // it may be proposed
	Refused Verdict = "refused"
)

// Judge returns what the rights of a participant say about a call to these participants,
// and the capability that allows or denies the call; nil: none.
func (st *State) Judge(id protocol.ParticipantID, to []protocol.ParticipantID, at protocol.ContextPath, call protocol.Value, now time.Time) (Verdict, *capability.Capability) {
	if st.IsGone(id) {
		return Refused, nil
	}
	rights := st.Ledger.Effective(id, now)
	r := st.Request(id, &protocol.Envelope{Kind: protocol.KindMCPRequest, To: to, Context: at}, call, now)
	d := rights.Decide(&r)
	if d.Allowed {
		return Allowed, d.By
	}
	verdict, by := st.Config.Ask(rights, r)
	if verdict == Allowed && d.By != nil && d.By.Deny() {
		verdict = Asked // a rule overrides no deny rule of the sender
	}
	if by == nil || verdict == Asked {
		by = d.By
	}
	return verdict, by
}

// Ask returns what becomes of a call that no capability of its sender allows: a rule of the
// deciders allows or rejects it, or it may be proposed. by is the rule, or the capability for
// the proposal; nil: the call is refused, since the sender may not propose it.
func (c *Config) Ask(rights capability.Rights, call capability.Request) (v Verdict, by *capability.Capability) {
	by = c.proposes(rights, call)
	if by == nil {
		return Refused, nil
	}
	rule := c.Deciders.Rule(&call)
	switch {
	case rule == nil:
		return Asked, by
	case rule.Capability.Deny():
		return Refused, rule.Capability
	}
	return Allowed, rule.Capability
}

// proposes returns the capability that allows the proposal of a call, which is for all, or for
// those who would run the call; nil: none.
func (c *Config) proposes(rights capability.Rights, call capability.Request) *capability.Capability {
	for _, audience := range [][]protocol.ParticipantID{nil, call.To} {
		proposal := call
		proposal.Kind, proposal.To = protocol.KindMCPProposal, audience
		d := rights.Decide(&proposal)
		if d.Allowed {
			return d.By
		}
	}
	return nil
}

// RejectsProposal returns why a rule of the deciders rejects a proposal from a participant, as a
// sentence; "": none does.
func (c *Config) RejectsProposal(from protocol.ParticipantID, e *protocol.Envelope, proposed protocol.Value) string {
	if len(c.Deciders.Rules) == 0 {
		return ""
	}
	call := c.ProposedCall(from, e, proposed, HostOf(proposed))
	rule := c.Deciders.Rule(&call)
	switch {
	case rule == nil || !rule.Capability.Deny():
		return ""
	case rule.Reason == "":
		return "A rule of this space rejects the call."
	}
	return "A rule of this space rejects the call: " + rule.Reason
}
