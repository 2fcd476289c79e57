package capability

import (
	"math"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Rights are the rights of one participant at one time.
type Rights struct {
	ledger *Ledger
	holder protocol.ParticipantID
	now    time.Time
}

// Effective returns the rights of the participant at now.
func (l *Ledger) Effective(p protocol.ParticipantID, now time.Time) Rights {
	return Rights{l, p, now}
}

// Decide reports whether the participant may make the request. It does not
// allocate when a configured capability allows it.
func (h Rights) Decide(r *Request) Decision {
	q := query{ledger: h.ledger, now: h.now, request: r, work: newWork(r)}
	return q.find(h.holder, math.MaxUint64, 0).decision()
}

// Possible reports whether the participant may be allowed to send some envelope of a kind.
// If not, all of them are refused, whatever they contain.
func (h Rights) Possible(kind protocol.Kind) bool {
	possible := false
	for _, c := range h.Capabilities() {
		switch {
		case !c.kind.Match(kind):
		case !c.deny:
			possible = true
		case c.kindOnly():
			return false
		}
	}
	return possible
}

// PossibleTo is Possible for envelopes to one participant: named by a capability that has the participant
// itself in to, other by another one.
func (h Rights) PossibleTo(kind protocol.Kind, to protocol.ParticipantID) (named, other bool) {
	w := newWork(&Request{})
	for _, c := range h.Capabilities() {
		switch {
		case !c.kind.Match(kind):
		case c.deny && c.kindOnly():
			return false, false
		case c.deny:
		case c.NamesRecipient(to):
			named = true
		case c.to == nil || c.to.MatchTo([]protocol.ParticipantID{to}, modeAllow, &w):
			other = true
		}
	}
	return named, other
}

// Observes reports whether the participant holds the right to see envelopes
// that are addressed to others. Section 6.
func (h Rights) Observes() bool {
	r := Request{Kind: observe}
	q := query{ledger: h.ledger, now: h.now, request: &r, observe: true, work: newWork(&r)}
	return q.find(h.holder, math.MaxUint64, 0).by != nil
}

// Capabilities returns the capabilities that were configured and granted,
// configured deny rules last.
func (h Rights) Capabilities() []*Capability {
	base := h.ledger.base(h.holder)
	out := append([]*Capability(nil), base.allows...)
	for _, r := range h.ledger.holder(h.holder).grants {
		if !r.expired(h.now) {
			out = append(out, r.set.allows...)
		}
	}
	return append(out, base.denies...)
}
