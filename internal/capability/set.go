package capability

import "github.com/meup-protocol/meup/protocol"

// Set is what one participant holds, indexed for deciding. It is immutable
// and safe for concurrent use. The zero Set, and a nil one, allow nothing.
type Set struct {
	denies  []*Capability
	rules   []rule
	literal map[protocol.Kind]*bucket
	wild    bucket // of patterns that select more than one kind
	observe bool
}

// rule allows what cap selects except what one of except, deny rules, might
// select.
type rule struct {
	cap    *Capability
	except []*Capability
}

type bucket struct {
	denies []*Capability
	rules  []*rule
}

// Decision is what a set says about a request.
type Decision struct {
	Allowed bool
	// By is the capability that allowed or denied; nil if none selects the
	// request.
	By *Capability
}

// NewSet indexes capabilities. A deny rule among them wins over all others.
func NewSet(caps ...*Capability) *Set {
	var denies []*Capability
	var rules []rule
	for _, c := range caps {
		if c.deny {
			denies = append(denies, c)
		} else {
			rules = append(rules, rule{cap: c})
		}
	}
	return newSet(denies, rules)
}

func newSet(denies []*Capability, rules []rule) *Set {
	s := &Set{denies: denies, rules: rules, literal: make(map[protocol.Kind]*bucket)}
	for _, d := range denies {
		b := s.bucket(d)
		b.denies = append(b.denies, d)
	}
	for i := range rules {
		b := s.bucket(rules[i].cap)
		b.rules = append(b.rules, &rules[i])
	}
	s.observe = s.mayObserve()
	return s
}

func (s *Set) bucket(c *Capability) *bucket {
	kind, ok := c.kind.Literal()
	if !ok {
		return &s.wild
	}
	b := s.literal[kind]
	if b == nil {
		b = &bucket{}
		s.literal[kind] = b
	}
	return b
}

// Decide reports whether the set allows the request: a capability selects it
// and no deny rule does. It does not allocate, unless a pattern has to decode
// an escaped text.
func (s *Set) Decide(r *Request) Decision {
	if s == nil {
		return Decision{}
	}
	w := newWork()
	buckets := [2]*bucket{s.literal[r.Kind], &s.wild}
	for _, b := range buckets {
		if d := b.denied(r, &w); d != nil {
			return Decision{By: d}
		}
	}
	var blocked *Capability
	for _, b := range buckets {
		by, except := b.allowed(r, &w)
		if by != nil {
			return Decision{Allowed: true, By: by}
		}
		if blocked == nil {
			blocked = except
		}
	}
	return Decision{By: blocked}
}

func (b *bucket) denied(r *Request, w *work) *Capability {
	if b == nil {
		return nil
	}
	for _, d := range b.denies {
		if d.match(r, w) {
			return d
		}
	}
	return nil
}

// allowed returns the first capability that allows the request or, if none
// does, what excepted it from one that otherwise would.
func (b *bucket) allowed(r *Request, w *work) (by, except *Capability) {
	if b == nil {
		return nil, nil
	}
	for _, rule := range b.rules {
		if !rule.cap.match(r, w) {
			continue
		}
		x := rule.excepted(r, w)
		if x == nil {
			return rule.cap, nil
		}
		if except == nil {
			except = x
		}
	}
	return nil, except
}

func (u *rule) excepted(r *Request, w *work) *Capability {
	for _, x := range u.except {
		if x.match(r, w) {
			return x
		}
	}
	return nil
}

// Observes reports whether the set holds the right to see envelopes that are
// addressed to others. Section 6.
func (s *Set) Observes() bool { return s != nil && s.observe }

func (s *Set) mayObserve() bool {
	r, w := &Request{Kind: Observe}, newWork()
	for i := range s.rules {
		u := &s.rules[i]
		if u.cap.observes() && u.excepted(r, &w) == nil {
			return s.literal[Observe].denied(r, &w) == nil && s.wild.denied(r, &w) == nil
		}
	}
	return false
}

// Capabilities returns what the set was made of, deny rules last.
func (s *Set) Capabilities() []*Capability {
	if s == nil {
		return nil
	}
	out := make([]*Capability, 0, len(s.rules)+len(s.denies))
	for i := range s.rules {
		out = append(out, s.rules[i].cap)
	}
	return append(out, s.denies...)
}
