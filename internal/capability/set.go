package capability

// Set is a list of capabilities that allow and deny together. It is immutable
// and safe for concurrent use. The zero Set allows nothing.
type Set struct {
	given  []*Capability // all of them, in the order in which they were given
	allows []*Capability
	denies []*Capability
}

// Decision is the answer to a request.
type Decision struct {
	Allowed bool
	// By is the capability that allowed or denied; nil if none selects the
	// request.
	By *Capability
}

// NewSet returns the set of these capabilities. A deny rule among them wins
// over all others.
func NewSet(caps ...*Capability) *Set {
	s := &Set{given: caps}
	for _, c := range caps {
		if c.deny {
			s.denies = append(s.denies, c)
		} else {
			s.allows = append(s.allows, c)
		}
	}
	return s
}

// Decide reports whether the set allows the request: a capability selects it
// and no deny rule does. It does not allocate, unless a pattern has to decode
// an escaped text.
func (s *Set) Decide(r *Request) Decision {
	q := query{request: r, work: newWork(r)}
	return q.judge(s).decision()
}
