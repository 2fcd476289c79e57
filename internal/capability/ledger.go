package capability

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/internal/kit/pmap"
	"github.com/meup-protocol/meup/protocol"
)

// Configured is the configuration of a space.
type Configured struct {
	Participants map[protocol.ParticipantID][]*Capability
	// Issued is held by the participants with a token of the space's issuer:
	// all that are neither configured nor invited.
	Issued []*Capability
}

// Ledger is the capability state of one space: a pure function of its
// configuration and of the grants and revocations in its log. It is immutable
// and safe for concurrent use; Apply returns a new one in O(log n).
//
// Authority is evaluated on use: a grant allows requests that its capabilities
// select and that its grantor may make too, by rights older than the grant,
// along the chain to a configured right. A revocation or another configuration
// therefore affects derived grants without modifying them.
type Ledger struct {
	configured *configured
	holders    pmap.Map[protocol.ParticipantID, *holder]
	grants     pmap.Map[protocol.ID, *record] // live ones
	expiry     pmap.Map[string, *record]      // grants with an end, by pmap.TimeKey
	total      size                           // of the live grants
	position   uint64                         // of the last change
}

// configured is a compiled configuration. Cached views depend on its identity.
type configured struct {
	participants map[protocol.ParticipantID]*base
	issued       *base
	none         *base
}

// base is a configured set with the view of a participant that holds nothing
// else.
type base struct {
	Set
	view view
}

// holder has the grants to and the revocations from one participant. It is
// immutable except for its cached view.
type holder struct {
	invited bool // it has no issued capabilities
	grants  []*record
	revoked []revocation // by position
	lost    uint64       // position of the last change that took something
	cache   atomic.Pointer[view]
}

// revocation is a deny rule for rights from before its position.
type revocation struct {
	rule     *Capability
	position uint64
}

// record is a live grant.
type record struct {
	Grant
	set      *Set
	position uint64
	size     size
	cache    atomic.Pointer[support]
}

// size counts granted capabilities and their memory.
type size struct{ capabilities, memory int }

func (s size) plus(t size) size  { return size{s.capabilities + t.capabilities, s.memory + t.memory} }
func (s size) minus(t size) size { return size{s.capabilities - t.capabilities, s.memory - t.memory} }

func sizeOf(caps []*Capability) size {
	s := size{capabilities: len(caps)}
	for _, c := range caps {
		s.memory += len(c.source) + 64*c.program
	}
	return s
}

// NewLedger returns the state of a space whose log is empty.
func NewLedger(c Configured) *Ledger { return &Ledger{configured: compile(c)} }

func compile(c Configured) *configured {
	out := &configured{
		participants: make(map[protocol.ParticipantID]*base, len(c.Participants)),
		issued:       newBase(c.Issued),
		none:         newBase(nil),
	}
	for id, caps := range c.Participants {
		out.participants[id] = newBase(caps)
	}
	return out
}

func newBase(caps []*Capability) *base {
	b := &base{Set: *NewSet(caps...)}
	b.view.show(caps)
	return b
}

// WithConfiguredOf returns the state under the configuration of another ledger,
// equal to the state after a restart with it. Revocations stay in effect; a
// grant that the new configuration does not support has no effect until another
// one does.
func (l *Ledger) WithConfiguredOf(other *Ledger) *Ledger {
	next := *l
	next.configured = other.configured
	return &next
}

// Apply returns the state after changes, in the order of the log. They are
// not checked: they were admitted. A grant of more than its grantor holds
// gives nothing more.
func (l *Ledger) Apply(changes ...Change) *Ledger {
	next := *l
	for _, c := range changes {
		next.position++
		switch c := c.(type) {
		case Grant:
			next.grant(c)
		case Revocation:
			next.revoke(c)
		}
		// Grants that have ended by the time of the change are dropped, not by the newest time
		// so far: a clock that was ahead for a moment must not end the grants made after its
		// correction.
		for {
			_, r, ok := next.expiry.After("")
			if !ok || !r.expired(c.at()) {
				break
			}
			next.drop(r)
		}
	}
	return &next
}

func (l *Ledger) grant(g Grant) {
	if h := l.holder(g.Recipient); g.Invitation && !h.invited {
		h = h.copied()
		h.invited, h.lost = true, l.position
		l.holders = l.holders.Set(g.Recipient, h)
	}
	_, again := l.grants.Get(g.ID)
	r := &record{Grant: g, set: NewSet(g.Capabilities...), position: l.position, size: sizeOf(g.Capabilities)}
	if again || len(r.set.allows) == 0 {
		return
	}
	h := l.holder(g.Recipient).copied()
	h.grants = append(slices.Clip(h.grants), r)
	l.holders = l.holders.Set(g.Recipient, h)
	l.grants = l.grants.Set(g.ID, r)
	l.total = l.total.plus(r.size)
	if !g.ExpiresAt.IsZero() {
		l.expiry = l.expiry.Set(pmap.TimeKey(g.ExpiresAt, string(g.ID)), r)
	}
}

// drop forgets a grant.
func (l *Ledger) drop(r *record) {
	h := l.holder(r.Recipient).copied()
	h.lost = l.position // also if it ended: the clock of the reader may be behind
	h.grants = slices.DeleteFunc(slices.Clone(h.grants), func(x *record) bool { return x == r })
	l.holders = l.holders.Set(r.Recipient, h)
	l.grants = l.grants.Delete(r.ID)
	l.total = l.total.minus(r.size)
	if !r.ExpiresAt.IsZero() {
		l.expiry = l.expiry.Delete(pmap.TimeKey(r.ExpiresAt, string(r.ID)))
	}
}

// revoke adds a revocation. It replaces earlier ones that it contains. Beyond maxRevoked,
// all is taken: rather too little is left than too much.
func (l *Ledger) revoke(v Revocation) {
	h := l.holder(v.Recipient).copied()
	h.lost = l.position
	w := Work{left: maxCheckWork}
	for _, c := range v.Capabilities {
		rule := c.asDeny()
		if len(h.revoked) >= maxRevoked {
			rule = everything
		}
		h.revoked = slices.DeleteFunc(slices.Clone(h.revoked), func(x revocation) bool { return rule.covers(x.rule, &w) })
		h.revoked = append(h.revoked, revocation{rule, l.position})
	}
	l.holders = l.holders.Set(v.Recipient, h)
	for _, r := range h.grants {
		if r.ID == v.GrantID || len(v.Capabilities) > 0 && h.tookAll(r, &w) {
			l.drop(r)
		}
	}
}

// tookAll reports whether revocations since a grant took all of it for good.
func (h *holder) tookAll(r *record, w *Work) bool {
	return !slices.ContainsFunc(r.set.allows, func(c *Capability) bool {
		return !slices.ContainsFunc(h.revoked, func(v revocation) bool {
			return v.position > r.position && v.rule.covers(c, w)
		})
	})
}

var everything = func() *Capability {
	c, err := ParseJSON([]byte(`"*"`))
	if err != nil {
		panic(err)
	}
	return c.asDeny()
}()

var noHolder = &holder{}

func (l *Ledger) holder(p protocol.ParticipantID) *holder {
	if h, ok := l.holders.Get(p); ok {
		return h
	}
	return noHolder
}

// copied returns a copy for changing. Its slices are shared.
func (h *holder) copied() *holder {
	return &holder{invited: h.invited, grants: h.grants, revoked: h.revoked, lost: h.lost}
}

func (l *Ledger) base(p protocol.ParticipantID) *base {
	if b := l.configured.participants[p]; b != nil {
		return b
	}
	if l.holder(p).invited {
		return l.configured.none
	}
	return l.configured.issued
}

// Grant returns the live grant with this id.
func (l *Ledger) Grant(id protocol.ID, now time.Time) (Grant, bool) {
	r, ok := l.grants.Get(id)
	if !ok || r.expired(now) {
		return Grant{}, false
	}
	return r.Grant, true
}

// NextExpiry returns when the next live grant ends, and false if none will.
func (l *Ledger) NextExpiry(now time.Time) (time.Time, bool) {
	_, r, ok := l.expiry.After(pmap.TimeKey(now.Add(1), ""))
	if !ok {
		return time.Time{}, false
	}
	return r.ExpiresAt, true
}
