package capability

import (
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// recall keeps the last view that was made of a holder.
type recall struct{ last atomic.Pointer[view] }

// view is what a participant holds during some time.
type view struct {
	set     *Set
	display []json.RawMessage
	slash   []json.RawMessage
	from    time.Time
	until   time.Time // zero: for good
}

// Effective returns what the participant holds at now. The set is made once
// and kept until the participant's rights change.
func (l *Ledger) Effective(p protocol.ParticipantID, now time.Time) *Set {
	return l.holder(p).view(now).set
}

// Display returns the capabilities that the participant holds at now, as they
// were given, for system.welcome. What was taken from them is shown as deny
// rules at the end. The list is shared: read-only.
func (l *Ledger) Display(p protocol.ParticipantID, now time.Time) []json.RawMessage {
	return l.holder(p).view(now).display
}

// DisplaySlash is Display for dialects whose kinds have a slash.
func (l *Ledger) DisplaySlash(p protocol.ParticipantID, now time.Time) []json.RawMessage {
	return l.holder(p).view(now).slash
}

func (h *holder) view(now time.Time) *view {
	if v := h.recall.last.Load(); v != nil && !now.Before(v.from) && (v.until.IsZero() || now.Before(v.until)) {
		return v
	}
	v := h.makeView(now)
	h.recall.last.Store(v)
	return v
}

func (h *holder) makeView(now time.Time) *view {
	v := &view{from: now, display: []json.RawMessage{}, slash: []json.RawMessage{}}
	entries := slices.Clone(h.base)
	for _, r := range h.grants {
		if !r.expired(now) {
			entries = append(entries, r.entries...)
			v.until = earlier(v.until, r.ExpiresAt)
		}
	}
	rules := make([]rule, len(entries))
	for i, e := range entries {
		rules[i] = rule{cap: e.capability, except: slices.Concat(e.taken, e.inherited)}
	}
	v.set = newSet(h.denies, rules)
	for _, c := range h.shown(entries) {
		v.display = append(v.display, c.source)
		v.slash = append(v.slash, c.slash)
	}
	return v
}

// shown lists what entries amount to: what was configured and is left, in that
// order, what was granted, and what was taken from some.
func (h *holder) shown(entries []*entry) []*Capability {
	var out []*Capability
	add := func(c *Capability) {
		if !hasSame(out, c) {
			out = append(out, c)
		}
	}
	for _, c := range h.given {
		if c.deny || holdsCapability(h.base, c) {
			add(c)
		}
	}
	for _, e := range entries {
		add(e.capability)
	}
	for _, e := range entries {
		for _, d := range slices.Concat(e.taken, e.inherited) {
			if !misleads(d, entries) {
				add(d)
			}
		}
	}
	return out
}

func holdsCapability(entries []*entry, c *Capability) bool {
	return slices.ContainsFunc(entries, func(e *entry) bool { return e.capability == c })
}

// misleads reports whether showing d, which limits some of the entries, would
// look as if it took away something from others.
func misleads(d *Capability, entries []*entry) bool {
	for _, e := range entries {
		if !hasSame(e.taken, d) && !hasSame(e.inherited, d) && !d.disjoint(e.capability) {
			return true
		}
	}
	return false
}
