package capability

import (
	"slices"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// derive traces every entry of a grant to a right that the granter acquired
// before, and returns the grant with those that could be traced; nil if none
// could. Rights are only ever derived from older ones, so nobody holds a
// right in a circle.
func (l *Ledger) derive(r *record, entries []*entry) *record {
	next := *r
	next.entries, next.Parents = nil, nil
	for _, e := range entries {
		found, _ := l.trace(r.Granter, r.position, e)
		if found == nil {
			continue
		}
		next.entries = append(next.entries, found)
		if found.parent != nil {
			next.ExpiresAt = earlier(next.ExpiresAt, found.parent.ExpiresAt)
			if !slices.Contains(next.Parents, found.parent.ID) {
				next.Parents = append(next.Parents, found.parent.ID)
			}
		}
	}
	if len(next.entries) == 0 {
		return nil
	}
	return &next
}

// trace finds the right that e can be derived from: one that contains it and
// of which it keeps most, then one that lasts longest. obstacle is what came
// closest if there is none.
func (l *Ledger) trace(granter protocol.ParticipantID, before uint64, e *entry) (found *entry, obstacle *Capability) {
	h := l.holder(granter)
	consider := func(right *entry, parent *record) {
		if !right.capability.Contains(e.capability) {
			if obstacle == nil && kindContains(&right.capability.kind, &e.capability.kind) {
				obstacle = right.capability
			}
			return
		}
		inherited, denied := inheritance(h, right, e)
		if denied != nil {
			obstacle = denied
			return
		}
		x := &entry{capability: e.capability, taken: e.taken, inherited: inherited, parent: parent}
		if found == nil || x.betterThan(found) {
			found = x
		}
	}
	for _, right := range h.base {
		consider(right, nil)
	}
	for _, r := range h.grants {
		if r.position >= before || r.expired(l.clock) {
			continue
		}
		for _, right := range r.entries {
			consider(right, r)
		}
	}
	return found, obstacle
}

// inheritance returns the deny rules that travel along when e is derived from
// right: those that may forbid some of it and that it does not carry already.
// denied is one that forbids all of it.
func inheritance(h *holder, right, e *entry) (inherited []*Capability, denied *Capability) {
	for _, list := range [][]*Capability{h.denies, right.taken, right.inherited} {
		for _, d := range list {
			if d.denies(e.capability) {
				return nil, d
			}
			if d.disjoint(e.capability) || hasSame(e.taken, d) || hasSame(inherited, d) {
				continue
			}
			if inherited = append(inherited, d); len(inherited)+len(e.taken) > MaxExceptions {
				return nil, d
			}
		}
	}
	return inherited, nil
}

// betterThan compares two derivations of the same right.
func (e *entry) betterThan(other *entry) bool {
	if len(e.inherited) != len(other.inherited) {
		return len(e.inherited) < len(other.inherited)
	}
	end, otherEnd := e.parentEnd(), other.parentEnd()
	return end != otherEnd && earlier(end, otherEnd) == otherEnd
}

func (e *entry) parentEnd() time.Time {
	if e.parent == nil {
		return time.Time{}
	}
	return e.parent.ExpiresAt
}

// sameRights reports whether two states of a grant give the same.
func sameRights(a, b *record) bool {
	return a.ExpiresAt.Equal(b.ExpiresAt) && slices.EqualFunc(a.entries, b.entries, func(x, y *entry) bool {
		return x.capability == y.capability && len(x.taken) == len(y.taken) &&
			slices.Equal(x.inherited, y.inherited)
	})
}
