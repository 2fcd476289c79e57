package capability

import (
	"slices"

	"github.com/meup-protocol/meup/protocol"
)

// apply folds one change into l, which nobody else has seen yet.
func (l *Ledger) apply(c Change) {
	l.remember(c)
	l.position++
	if c.at().After(l.clock) {
		l.clock = c.at()
	}
	switch c := c.(type) {
	case Grant:
		l.grant(c)
	case Revocation:
		l.revoke(c)
	}
}

func (l *Ledger) grant(g Grant) {
	if g.Invitation {
		l.invite(g.Recipient)
	}
	if g.expired(l.clock) || l.byID[g.ID] != nil {
		return
	}
	r := l.derive(&record{Grant: g, position: l.position}, newEntries(g.Capabilities))
	if r == nil {
		return
	}
	l.grants = append(l.grants, r)
	l.byID[r.ID] = r
	h := l.own(g.Recipient)
	h.grants = append(h.grants, r)
}

// newEntries returns the rights that a grant asks for, each limited by the
// deny rules of the same grant.
func newEntries(caps []*Capability) []*entry {
	var taken []*Capability
	for _, c := range caps {
		if c.deny {
			taken = append(taken, c)
		}
	}
	var out []*entry
	for _, c := range caps {
		if !c.deny {
			out = append(out, &entry{capability: c, taken: taken})
		}
	}
	return out
}

// invite makes sure that an invited participant holds what it is granted and
// nothing else, unless the configuration names it.
func (l *Ledger) invite(p protocol.ParticipantID) {
	if _, ok := l.configured.Participants[p]; ok {
		return
	}
	h := l.own(p)
	h.given, h.base, h.denies = nil, nil, nil
	l.cascade(map[protocol.ParticipantID]bool{p: true})
}

// own returns the participant's holder for changing. It is a copy, whose
// slices may be appended to or replaced, but not written to.
func (l *Ledger) own(p protocol.ParticipantID) *holder {
	old := l.holder(p)
	h := &holder{given: old.given, base: old.base, denies: old.denies, grants: slices.Clip(old.grants)}
	l.holders[p] = h
	return h
}

func (l *Ledger) revoke(v Revocation) {
	changed := make(map[protocol.ParticipantID]bool)
	if r := l.byID[v.GrantID]; r != nil && r.Recipient == v.Recipient {
		l.replace(r, nil)
		changed[v.Recipient] = true
	}
	if len(v.Capabilities) > 0 {
		l.take(v.Recipient, v.Capabilities)
		changed[v.Recipient] = true
	}
	l.cascade(changed)
}

// take takes capabilities from all that the participant holds.
func (l *Ledger) take(p protocol.ParticipantID, caps []*Capability) {
	denies := make([]*Capability, len(caps))
	for i, c := range caps {
		denies[i] = c.asDeny()
	}
	h := l.own(p)
	h.base, _ = without(h.base, denies)
	for _, r := range slices.Clone(h.grants) {
		entries, changed := without(r.entries, denies)
		if changed {
			l.replace(r, r.with(entries))
		}
	}
}

// without returns what is left of entries after denies were taken from them.
func without(entries []*entry, denies []*Capability) (left []*entry, changed bool) {
	for _, e := range entries {
		x := e.without(denies)
		changed = changed || x != e
		if x != nil {
			left = append(left, x)
		}
	}
	return left, changed
}

func (e *entry) without(denies []*Capability) *entry {
	taken := slices.Clip(e.taken)
	for _, d := range denies {
		switch {
		case d.denies(e.capability):
			return nil
		case d.disjoint(e.capability) || hasSame(taken, d):
		default:
			taken = append(taken, d)
		}
	}
	if len(taken) == len(e.taken) {
		return e
	}
	if len(taken)+len(e.inherited) > MaxExceptions {
		return nil
	}
	return &entry{capability: e.capability, taken: taken, inherited: e.inherited, parent: e.parent}
}

func hasSame(list []*Capability, c *Capability) bool {
	return slices.ContainsFunc(list, func(x *Capability) bool {
		return x == c || string(x.source) == string(c.source)
	})
}

// with returns the record with other entries, or nil if there are none.
func (r *record) with(entries []*entry) *record {
	if len(entries) == 0 {
		return nil
	}
	next := *r
	next.entries = entries
	return &next
}

// replace puts next, or nothing if it is nil, where r was.
func (l *Ledger) replace(r, next *record) {
	h := l.own(r.Recipient)
	h.grants = replaced(h.grants, r, next)
	l.grants = replaced(l.grants, r, next)
	if next == nil {
		delete(l.byID, r.ID)
	} else {
		l.byID[r.ID] = next
	}
}

func replaced(list []*record, old, next *record) []*record {
	i := slices.Index(list, old)
	out := slices.Clone(list)
	if next == nil {
		return slices.Delete(out, i, i+1)
	}
	out[i] = next
	return out
}

// cascade derives again whatever participants who lost something have granted,
// oldest first; those who lose by that come to be among them.
func (l *Ledger) cascade(changed map[protocol.ParticipantID]bool) {
	for _, r := range slices.Clone(l.grants) {
		if !changed[r.Granter] || l.byID[r.ID] != r {
			continue
		}
		next := l.derive(r, r.entries)
		if next == nil || !sameRights(r, next) {
			changed[r.Recipient] = true
		}
		l.replace(r, next)
	}
}

// prune drops grants that have ended. Nothing depends on when it is called:
// what has ended is not looked at anywhere.
func (l *Ledger) prune() {
	ended := func(r *record) bool { return r.expired(l.clock) }
	if !slices.ContainsFunc(l.grants, ended) {
		return
	}
	shortened := make(map[protocol.ParticipantID]bool)
	for _, r := range l.grants {
		if ended(r) && !shortened[r.Recipient] {
			shortened[r.Recipient] = true
			h := l.own(r.Recipient)
			h.grants = slices.DeleteFunc(slices.Clone(h.grants), ended)
		}
		if ended(r) {
			delete(l.byID, r.ID)
		}
	}
	l.grants = slices.DeleteFunc(l.grants, ended)
}
