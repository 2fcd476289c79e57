package capability

import (
	"fmt"
	"iter"

	"github.com/meup-protocol/meup/internal/kit/pmap"
	"github.com/meup-protocol/meup/protocol"
)

// Holding is the part of a [Ledger] that concerns one participant, in the form in
// which it is stored.
type Holding struct {
	Invited bool // its rights are those of its grants
	Grants  []StoredGrant
	Revoked []StoredRule
}

// StoredGrant is a live grant and its position in the ledger.
type StoredGrant struct {
	Grant
	Position uint64
}

// StoredRule is a revoked capability and the position of its revocation.
type StoredRule struct {
	Rule     *Capability
	Position uint64
}

// Holdings yields the holding of each participant that has one, in the order of their
// ids.
func (l *Ledger) Holdings() iter.Seq2[protocol.ParticipantID, Holding] {
	return func(yield func(protocol.ParticipantID, Holding) bool) {
		for id, h := range l.holders.All() {
			out := Holding{Invited: h.invited}
			for _, r := range h.grants {
				out.Grants = append(out.Grants, StoredGrant{r.Grant, r.position})
			}
			for _, v := range h.revoked {
				out.Revoked = append(out.Revoked, StoredRule{v.rule, v.position})
			}
			if (out.Invited || len(out.Grants) > 0 || len(out.Revoked) > 0) && !yield(id, out) {
				return
			}
		}
	}
}

// HasGrants reports whether a participant has live grants. One that has expired is live
// until a later change is applied.
func (l *Ledger) HasGrants(p protocol.ParticipantID) bool { return len(l.holder(p).grants) > 0 }

// Len returns the number of live grants.
func (l *Ledger) Len() int { return l.grants.Len() }

// Position returns the position of the last change.
func (l *Ledger) Position() uint64 { return l.position }

// Restored returns the ledger with the configuration of l, with these holdings at
// this position. They are those of another ledger: nothing is checked.
func (l *Ledger) Restored(position uint64, holdings iter.Seq2[protocol.ParticipantID, Holding]) *Ledger {
	out := &Ledger{configured: l.configured, position: position}
	var holders []pmap.Pair[protocol.ParticipantID, *holder]
	var grants []pmap.Pair[protocol.ID, *record]
	var expiry []pmap.Pair[string, *record]
	for id, stored := range holdings {
		h := &holder{invited: stored.Invited}
		for _, v := range stored.Revoked {
			h.revoked = append(h.revoked, revocation{v.Rule, v.Position})
		}
		for _, g := range stored.Grants {
			r := &record{Grant: g.Grant, set: NewSet(g.Capabilities...), position: g.Position, size: sizeOf(g.Capabilities)}
			h.grants = append(h.grants, r)
			out.total = out.total.plus(r.size)
			grants = append(grants, pmap.Pair[protocol.ID, *record]{Key: r.ID, Value: r})
			if !r.ExpiresAt.IsZero() {
				expiry = append(expiry, pmap.Pair[string, *record]{Key: pmap.TimeKey(r.ExpiresAt, string(r.ID)), Value: r})
			}
		}
		holders = append(holders, pmap.Pair[protocol.ParticipantID, *holder]{Key: id, Value: h})
	}
	out.holders, out.grants, out.expiry = pmap.Of(holders), pmap.Of(grants), pmap.Of(expiry)
	return out
}

// ParseStored compiles the text of a capability that Holdings has returned. It may
// be longer than maxBytes: a revoked capability is stored as a deny rule.
func ParseStored(text []byte) (*Capability, error) {
	doc, err := protocol.ParseJSON(text, protocol.MaxDepth)
	if err != nil {
		return nil, fmt.Errorf("capability: %w", err)
	}
	return parse(doc.Root())
}
