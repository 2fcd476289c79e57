package capability

import (
	"maps"
	"slices"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Configured is what a space's configuration gives.
type Configured struct {
	Participants map[protocol.ParticipantID][]*Capability
	// Issued is held by whoever comes with a token of the space's issuer: all
	// participants that are neither configured nor invited.
	Issued []*Capability
}

// Ledger is the capability state of one space: a pure function of its
// configuration and of the grants and revocations in its log. It is immutable
// and safe for concurrent use; what changes it returns a new one.
//
// Nobody holds what cannot be traced, grant by grant, to a configured right.
// A grant is checked before its envelope is appended ([Ledger.CheckGrant]) and
// folded after ([Ledger.Apply]), by every gateway in the order of the log.
type Ledger struct {
	configured Configured
	holders    map[protocol.ParticipantID]*holder
	issued     *holder
	grants     []*record // live ones, in the order of the log
	byID       map[protocol.ID]*record
	history    *link
	clock      time.Time // of the last change; it never goes back
	position   uint64
}

// holder is what one participant holds. It is immutable but for what it
// remembers of its own making.
type holder struct {
	given  []*Capability // as configured, in that order
	base   []*entry      // what is left of the allowing ones
	denies []*Capability // the others
	grants []*record
	recall recall
}

// record is a live grant.
type record struct {
	Grant
	position uint64
	entries  []*entry
}

// entry is one right: a capability without what was taken from it.
type entry struct {
	capability *Capability
	taken      []*Capability // deny rules of its grant, and revocations since
	inherited  []*Capability // deny rules that came with the right it is derived from
	parent     *record       // that it is derived from; nil for configured rights
}

// NewLedger returns the state of a space in whose log nothing has happened.
func NewLedger(c Configured) *Ledger {
	l := &Ledger{
		configured: c,
		holders:    make(map[protocol.ParticipantID]*holder, len(c.Participants)),
		issued:     newHolder(c.Issued),
		byID:       make(map[protocol.ID]*record),
	}
	for id, caps := range c.Participants {
		l.holders[id] = newHolder(caps)
	}
	return l
}

func newHolder(given []*Capability) *holder {
	h := &holder{given: given}
	for _, c := range given {
		if c.deny {
			h.denies = append(h.denies, c)
		} else {
			h.base = append(h.base, &entry{capability: c})
		}
	}
	return h
}

// WithConfigured returns the state under another configuration: the one that
// a restart with it would come to. What was revoked stays revoked; a grant
// that the new configuration does not support is suspended.
func (l *Ledger) WithConfigured(c Configured) *Ledger {
	fresh := NewLedger(c)
	return fresh.Apply(l.pastChanges()...)
}

// Apply returns the state after changes, in the order of the log. They are
// not checked: what stands in the log was admitted. What cannot be derived
// from the present configuration gives nothing.
func (l *Ledger) Apply(changes ...Change) *Ledger {
	next := l.clone()
	for i, c := range changes {
		next.apply(c)
		if i%compactHistory == 0 {
			next.prune()
		}
	}
	next.prune()
	next.compact()
	return next
}

func (l *Ledger) clone() *Ledger {
	next := *l
	next.holders = maps.Clone(l.holders)
	next.grants = slices.Clone(l.grants)
	next.byID = maps.Clone(l.byID)
	return &next
}

func (l *Ledger) holder(p protocol.ParticipantID) *holder {
	if h := l.holders[p]; h != nil {
		return h
	}
	return l.issued
}

// Grant returns the live grant with this id.
func (l *Ledger) Grant(id protocol.ID, now time.Time) (Grant, bool) {
	r := l.byID[id]
	if r == nil || r.expired(now) {
		return Grant{}, false
	}
	return r.Grant, true
}

// Grants returns the live grants in the order of the log.
func (l *Ledger) Grants(now time.Time) []Grant {
	var out []Grant
	for _, r := range l.grants {
		if !r.expired(now) {
			out = append(out, r.Grant)
		}
	}
	return out
}

// Chain returns the live grant with this id and all that it is derived from,
// nearest first; nil if there is none.
func (l *Ledger) Chain(id protocol.ID) []Grant {
	var out []Grant
	queue := []protocol.ID{id}
	seen := map[protocol.ID]bool{id: true}
	for len(queue) > 0 {
		r := l.byID[queue[0]]
		queue = queue[1:]
		if r == nil {
			continue
		}
		out = append(out, r.Grant)
		for _, parent := range r.Parents {
			if !seen[parent] {
				seen[parent] = true
				queue = append(queue, parent)
			}
		}
	}
	return out
}

// NextExpiry returns when the next live grant ends, and false if none will.
func (l *Ledger) NextExpiry(now time.Time) (time.Time, bool) {
	var next time.Time
	for _, r := range l.grants {
		if !r.expired(now) {
			next = earlier(next, r.ExpiresAt)
		}
	}
	return next, !next.IsZero()
}
