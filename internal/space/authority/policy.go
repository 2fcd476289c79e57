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
	r := st.Config.Request(id, &protocol.Envelope{Kind: protocol.KindMCPRequest, To: to, Context: at}, call)
	d := rights.Decide(&r)
	if d.Allowed {
		return Allowed, d.By
	}
	// A proposal is for all, or for those who would run the call.
	for _, audience := range [][]protocol.ParticipantID{nil, to} {
		r.Kind, r.To = protocol.KindMCPProposal, audience
		if rights.Decide(&r).Allowed {
			return Asked, d.By
		}
	}
	return Refused, d.By
}
