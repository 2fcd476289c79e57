package capability

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Display returns the capabilities that the participant holds at now, in their
// original form, for system.welcome: configured ones, then granted ones that
// their grantors clearly hold. Deny rules that limit some of them, including
// those of grantors, are at the end. The list never contains more than the
// participant holds; it may contain less where a deny rule limits one of two
// overlapping capabilities. It is shared: read-only.
func (l *Ledger) Display(p protocol.ParticipantID, now time.Time) []json.RawMessage {
	return l.view(p, now).display
}

// DisplaySlash is Display for dialects whose kinds have a slash.
func (l *Ledger) DisplaySlash(p protocol.ParticipantID, now time.Time) []json.RawMessage {
	return l.view(p, now).slash
}

// proof lists the dependencies of a value that was computed from a ledger. The
// value is valid in other states of the same log with the same dependencies.
type proof struct {
	configured  *configured
	from, until time.Time // until: zero for good
	holders     []dependency
}

// dependency is a participant whose older rights matter. Later grants to it do
// not, so only losses are recorded.
type dependency struct {
	holder protocol.ParticipantID
	lost   uint64
}

func (p *proof) dependOn(id protocol.ParticipantID, h *holder) {
	d := dependency{id, h.lost}
	if !slices.Contains(p.holders, d) {
		p.holders = append(p.holders, d)
	}
}

func (p *proof) holds(l *Ledger, now time.Time) bool {
	if p.configured != l.configured || now.Before(p.from) || !p.until.IsZero() && !now.Before(p.until) {
		return false
	}
	for _, d := range p.holders {
		if l.holder(d.holder).lost != d.lost {
			return false
		}
	}
	return true
}

// right is a capability with the deny rules that may limit it.
type right struct {
	capability *Capability
	limits     []*Capability
}

// support is which capabilities of a grant its grantor clearly holds.
type support struct {
	proof
	rights []right
}

// view is a participant's list of capabilities.
type view struct {
	proof
	display, slash []json.RawMessage
}

func (l *Ledger) view(p protocol.ParticipantID, now time.Time) *view {
	now = now.Round(0) // a view of before the wall clock was set back may lack grants
	h := l.holder(p)
	if len(h.grants) == 0 && len(h.revoked) == 0 {
		return &l.base(p).view
	}
	if v := h.cache.Load(); v != nil && v.holds(l, now) {
		return v
	}
	v := l.makeView(p, h, now)
	h.cache.Store(v)
	return v
}

func (l *Ledger) makeView(p protocol.ParticipantID, h *holder, now time.Time) *view {
	v := &view{proof: proof{configured: l.configured, from: now}}
	v.dependOn(p, h)
	left := Work{left: maxViewWork}
	base := l.base(p)
	var rights []right
	var list []*Capability
	add := func(x right, position uint64) { // unless revocations since took it
		q := query{ledger: l, now: now, subject: x.capability, work: left}
		t := q.taken(h)
		f := t.since(position, finding{by: x.capability, limits: slices.Clip(x.limits)})
		left = q.work
		if f.by != nil {
			rights = append(rights, right{f.by, f.limits})
			list = append(list, f.by)
		}
	}
	for _, c := range base.given {
		if c.deny {
			list = append(list, c)
		} else {
			add(right{capability: c}, 0)
		}
	}
	for _, r := range h.grants {
		if r.expired(now) {
			continue
		}
		v.until = earlier(v.until, r.ExpiresAt)
		s := l.support(r, now, &left)
		v.until = earlier(v.until, s.until)
		for _, d := range s.holders {
			v.dependOn(d.holder, l.holder(d.holder))
		}
		for _, x := range s.rights {
			add(x, r.position)
		}
	}
	for _, x := range rights {
		for _, d := range x.limits {
			if !regained(d, rights, &left) {
				list = append(list, d)
			}
		}
	}
	v.show(list)
	return v
}

// regained reports whether one of the rights gives back, without a limit, all
// that d takes from others. Only a rule of a kind alone is looked at: others
// forbid more than the same pattern allows.
func regained(d *Capability, rights []right, left *Work) bool {
	return d.kindOnly() && slices.ContainsFunc(rights, func(x right) bool {
		return x.capability.covers(d, left) && !slices.ContainsFunc(x.limits, func(limit *Capability) bool {
			return !limit.kind.Apart(&d.kind)
		})
	})
}

// show writes down a list of capabilities, each text once.
func (v *view) show(list []*Capability) {
	v.display, v.slash = []json.RawMessage{}, []json.RawMessage{}
	shown := make(map[string]bool, len(list))
	for _, c := range list {
		if !shown[string(c.source)] {
			shown[string(c.source)] = true
			v.display = append(v.display, c.source)
			v.slash = append(v.slash, c.slash)
		}
	}
}

// support returns which capabilities of a grant its grantor clearly holds, as
// far as the work that is left suffices.
func (l *Ledger) support(r *record, now time.Time, left *Work) *support {
	if s := r.cache.Load(); s != nil && s.holds(l, now) {
		return s
	}
	s := &support{proof: proof{configured: l.configured, from: now}}
	for _, c := range r.set.allows {
		q := query{ledger: l, now: now, subject: c, work: *left, proof: &s.proof}
		if f := q.limit(finding{by: c}, r.set.denies); f.by != nil {
			if above := q.find(r.Grantor, r.position, 1); above.by != nil {
				s.rights = append(s.rights, right{c, append(f.limits, above.limits...)})
			}
		}
		*left = q.work
	}
	if left.left >= 0 {
		r.cache.Store(s)
	}
	return s
}
