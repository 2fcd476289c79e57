package capability

import (
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// query searches a right along the chain of grants. Its subject is either one
// request, to decide whether it is allowed, or a whole capability, to check a
// grant and to select capabilities for a welcome. Both use the same walk, so that
// they cannot disagree about the chain of grants; the second compares patterns
// where the first matches the request.
type query struct {
	ledger  *Ledger
	now     time.Time
	request *Request
	subject *Capability // instead of the request, if not nil
	observe bool        // the subject is the right to read, which only its literal capability gives
	work    Work
	memo    []memo
	proof   *proof // collects what the findings depend on, if not nil
}

// finding is the capability by which a participant holds the subject.
type finding struct {
	by    *Capability // nil: it does not hold it
	grant *record     // that by came with; nil for a configured capability
	// limits are deny rules that may forbid some of the capability that was
	// asked. There are none for a request, of which a rule forbids all or
	// nothing.
	limits []*Capability
	// obstacle, if by is nil, is a deny rule that forbids all of it or a
	// capability of the same kind that does not contain it.
	obstacle *Capability
}

// memo is a finding for reuse within one query.
type memo struct {
	holder protocol.ParticipantID
	before uint64
	depth  int
	finding
}

func (f finding) decision() Decision {
	switch {
	case f.by == nil:
		return Decision{By: f.obstacle}
	case f.grant == nil:
		return Decision{Allowed: true, By: f.by}
	}
	return Decision{Allowed: true, By: f.by, Grant: f.grant.ID}
}

// or returns the better of two findings: the one with fewer limits.
func (f finding) or(g finding) finding {
	switch {
	case g.by != nil && (f.by == nil || len(g.limits) < len(f.limits)):
		return g
	case f.by == nil && g.obstacle != nil && (f.obstacle == nil || g.obstacle.deny && !f.obstacle.deny):
		return g
	}
	return f
}

// selects reports whether an allowing capability covers the subject.
func (q *query) selects(c *Capability) bool {
	switch {
	case q.observe && !c.observes():
		return false
	case q.subject != nil:
		return c.covers(q.subject, &q.work)
	}
	return c.match(q.request, &q.work)
}

// choose returns the first of the allowing capabilities that covers the subject.
func (q *query) choose(allows []*Capability) finding {
	var f finding
	if c := q.same(allows); c != nil {
		return finding{by: c}
	}
	for _, c := range allows {
		if q.selects(c) {
			return finding{by: c}
		}
		if q.subject != nil && f.obstacle == nil && c.kind.IsCheap() && c.kind.Covers(&q.subject.kind) {
			f.obstacle = c
		}
	}
	return f
}

// same returns the capability that is written like the one that is asked. Most
// rights are passed on as they are, and this costs nothing.
func (q *query) same(allows []*Capability) *Capability {
	for _, c := range allows {
		if q.subject != nil && string(c.source) == string(q.subject.source) {
			return c
		}
	}
	return nil
}

// forbids reports whether a deny rule forbids all of the subject, or may forbid
// a part of it.
func (q *query) forbids(d *Capability) (all, some bool) {
	if q.subject == nil {
		return d.match(q.request, &q.work), false
	}
	if q.work.Spend(1) && d.kind.Spend(32, &q.work) && d.kind.Apart(&q.subject.kind) {
		return false, false
	}
	return d.covers(q.subject, &q.work), true
}

// limit applies deny rules to a finding.
func (q *query) limit(f finding, denies []*Capability) finding {
	for _, d := range denies {
		all, some := q.forbids(d)
		if all {
			return finding{obstacle: d}
		}
		if some {
			f.limits = append(f.limits, d)
		}
	}
	return f
}

// find returns how p holds the subject by its configured capabilities, or by
// grants older than a position whose grantors held it in turn. depth is the
// number of grants that the walk has followed.
//
// A right is only ever derived from older ones, so the walk ends and no one
// holds a right in a circle. Having more time or a shorter way can only help,
// so that one finding is valid for other searches.
func (q *query) find(p protocol.ParticipantID, before uint64, depth int) finding {
	if !q.work.Spend(1 + len(q.memo)/4) {
		return finding{}
	}
	for i := range q.memo {
		m := &q.memo[i]
		if m.holder != p {
			continue
		}
		if m.by != nil && m.before <= before && m.depth >= depth || m.by == nil && m.before >= before && m.depth <= depth {
			return m.finding
		}
	}
	f := q.search(p, before, depth)
	if depth > 0 {
		q.memo = append(q.memo, memo{p, before, depth, f})
	}
	return f
}

func (q *query) search(p protocol.ParticipantID, before uint64, depth int) finding {
	base, h := q.ledger.base(p), q.ledger.holder(p)
	if q.proof != nil {
		q.proof.dependOn(p, h)
	}
	denied := q.limit(finding{}, base.denies)
	if denied.obstacle != nil {
		return denied
	}
	t := q.taken(h)
	best := t.since(0, q.choose(base.allows))
	for pass := range 2 { // those with the same text first
		for i := len(h.grants) - 1; depth < maxChain && i >= 0 && (best.by == nil || len(best.limits) > 0); i-- {
			r := h.grants[i]
			if (q.same(r.set.allows) != nil) == (pass == 0) && r.position < before && q.live(r) {
				best = best.or(q.through(r, &t, depth))
			}
		}
	}
	if best.by != nil {
		best.limits = append(best.limits, denied.limits...)
	}
	return best
}

// live reports whether a grant has not ended, and charges for looking at it.
func (q *query) live(r *record) bool {
	if r.expired(q.now) || !q.work.Spend(4+2*len(r.set.given)) {
		return false
	}
	if q.proof != nil {
		q.proof.until = earlier(q.proof.until, r.ExpiresAt)
	}
	return true
}

// through returns whether a grant gives the subject: it selects it, no later
// revocation removed it, and its grantor held it.
func (q *query) through(r *record, t *taken, depth int) finding {
	f := q.choose(r.set.allows)
	if f.by != nil {
		f = q.limit(f, r.set.denies)
	}
	if f.by != nil {
		f = t.since(r.position, f)
	}
	if f.by == nil {
		return f
	}
	above := q.find(r.Grantor, r.position, depth+1)
	if above.by == nil {
		return above
	}
	f.grant = r
	f.limits = append(f.limits, above.limits...)
	return f
}

// taken has the revocations that affect the subject.
type taken struct {
	all  revocation   // the last one of all of it
	some []revocation // possible revocations of a part of it
}

func (q *query) taken(h *holder) taken {
	var t taken
	for _, v := range h.revoked {
		all, some := q.forbids(v.rule)
		if all {
			t.all = v
		} else if some {
			t.some = append(t.some, v)
		}
	}
	return t
}

// since applies the revocations after a position to a finding.
func (t *taken) since(position uint64, f finding) finding {
	if f.by == nil {
		return f
	}
	if t.all.position > position {
		return finding{obstacle: t.all.rule}
	}
	for _, v := range t.some {
		if v.position > position {
			f.limits = append(f.limits, v.rule)
		}
	}
	return f
}
