package capability

// disjoint reports whether no request is both selected by c, read as a deny
// rule, and by the allowing capability other. True is certain.
//
// Payloads never make two capabilities disjoint: nothing keeps a sender from
// adding the field that c denies, in another case if need be.
func (c *Capability) disjoint(other *Capability) bool {
	switch {
	case kindDisjoint(&c.kind, &other.kind):
		return true
	case c.to != nil && other.to != nil && c.to.disjointTo(other.to):
		return true
	}
	return c.context != nil && other.context != nil && c.context.disjointContext(other.context)
}
