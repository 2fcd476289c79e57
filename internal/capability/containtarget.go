package capability

// containsTo reports whether t, read in mode m, matches every address that the
// allowing pattern u matches.
func (t *target) containsTo(u *target, m mode) bool {
	each := u.everyElement()
	if !m.deny() && t.everyElement() && !each {
		return false // u leaves the other addressees open, t does not
	}
	for i := range u.alts {
		if !t.impliedBy(&u.alts[i]) {
			return false
		}
	}
	return true
}

func (t *target) impliedBy(u *text) bool {
	for i := range t.alts {
		if t.alts[i].impliedBy(u) {
			return true
		}
	}
	return false
}

// disjointTo reports whether no address is matched by t as a deny rule and by
// the allowing pattern u.
func (t *target) disjointTo(u *target) bool {
	if !u.everyElement() {
		return false // another addressee may be one that t denies
	}
	for i := range t.alts {
		for j := range u.alts {
			if !t.alts[i].excludes(&u.alts[j]) {
				return false
			}
		}
	}
	return true
}

// containsContext reports whether t matches every context that u, in an
// allowing rule, matches.
func (t *target) containsContext(u *target) bool {
	for i := range u.alts {
		ok := false
		for j := range t.alts {
			ok = ok || t.alts[j].containsContext(&u.alts[i])
		}
		if !ok {
			return false
		}
	}
	return true
}

func (t *text) containsContext(u *text) bool {
	switch {
	case u.main() && !u.negate:
		return t.main() && !t.negate
	case t.main():
		return t.negate
	case u.main(): // every context, but not the main conversation
		return t.class == textAny && !t.negate
	case u.class == textAny && u.negate:
		return true
	case t.negate && u.negate:
		return u.containsWithin(t)
	case t.negate:
		return t.disjointWithin(u)
	case u.negate:
		return t.class == textAny
	}
	return t.containsWithin(u)
}

// disjointContext reports whether no context is matched by t as a deny rule
// and by the allowing pattern u.
func (t *target) disjointContext(u *target) bool {
	for i := range t.alts {
		for j := range u.alts {
			if !t.alts[i].excludesContext(&u.alts[j]) {
				return false
			}
		}
	}
	return true
}

func (t *text) excludesContext(u *text) bool {
	switch {
	case t.main() && u.main():
		return t.negate != u.negate
	case t.main():
		return !t.negate // u matches contexts alone
	case u.main():
		return !u.negate && !t.negate
	case t.negate && u.negate:
		return t.class == textAny || u.class == textAny
	case t.negate:
		return t.containsWithin(u)
	case u.negate:
		return u.containsWithin(t)
	}
	return t.disjointWithin(u)
}

// containsWithin reports whether every path that lies within u lies within t.
func (t *text) containsWithin(u *text) bool {
	if t.class == textAny {
		return true
	}
	if u.class == textExact {
		return t.matchesWithin(u.exact)
	}
	a, ok := t.asGlob()
	b, ok2 := u.asGlob()
	if !ok || !ok2 {
		return t.class == u.class && t.exact == u.exact
	}
	return globContains(a, b) || globContains(a.below(), b)
}

// disjointWithin reports whether no path lies within both.
func (t *text) disjointWithin(u *text) bool {
	a, ok := t.asGlob()
	b, ok2 := u.asGlob()
	return ok && ok2 && globDisjoint(a, b) && globDisjoint(a.below(), b) && globDisjoint(a, b.below())
}
