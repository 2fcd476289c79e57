package capability

// Contains reports whether everything that other allows, c allows too. True is
// certain; false may only mean that it cannot be told. A deny rule contains
// nothing and is contained in nothing.
//
// A string pattern matches an array by one of its elements and an array
// pattern by all of them, so ["a", "b"] contains ["a"] but not "a".
func (c *Capability) Contains(other *Capability) bool {
	if c.deny || other.deny {
		return false
	}
	if other.observes() && !c.observes() {
		return false
	}
	return c.covers(other, modeAllow)
}

// denies reports whether c, read as a deny rule, takes away everything that
// other allows. True is certain.
func (c *Capability) denies(other *Capability) bool { return c.covers(other, modeDeny) }

// covers reports whether c, read in mode m, selects everything that the
// allowing capability other selects.
func (c *Capability) covers(other *Capability, m mode) bool {
	if !kindContains(&c.kind, &other.kind) {
		return false
	}
	if c.to != nil && (other.to == nil || !c.to.containsTo(other.to, m)) {
		return false
	}
	if c.context != nil && (other.context == nil || !c.context.containsContext(other.context)) {
		return false
	}
	if c.payload == nil {
		return true
	}
	if other.payload == nil {
		return c.payload.anyObject()
	}
	return c.payload.contains(other.payload, m)
}

// anyObject reports whether the pattern matches every object.
func (p *pattern) anyObject() bool {
	return p.class == classAny || p.class == classObject && len(p.fields) == 0
}

// contains reports whether p, read in mode m, matches every value that q
// matches in an allowing rule.
func (p *pattern) contains(q *pattern, m mode) bool {
	switch {
	case p.class == classAny || q.class == classNone:
		return true
	case q.class == classOneOf:
		return p.containsEach(q, m)
	case p.class == classOneOf:
		spreads := q.spreads()
		if m.deny() && (q.class == classText || q.class == classScalar) {
			spreads = false // one element suffices p as well
		}
		return !spreads && p.containsElement(q, m)
	case p.class == classText && q.class == classText && p.text.negate && !q.text.negate:
		// "read" matches ["read", "delete"], which "!delete" does not.
		return m.deny() && p.text.impliedBy(&q.text)
	}
	return p.containsElement(q, m)
}

// containsEach is contains for an array pattern q, which asks for every
// element of an array.
func (p *pattern) containsEach(q *pattern, m mode) bool {
	switch p.class {
	case classOneOf, classText, classScalar:
	default:
		if !m.deny() {
			return false // they match no array
		}
	}
	for i := range q.alts {
		if !p.containsElement(&q.alts[i], m) {
			return false
		}
	}
	return true
}

// spreads reports whether, in an allowing rule, the pattern may match an array
// of which not every element matches it.
func (p *pattern) spreads() bool {
	switch p.class {
	case classAny, classScalar:
		return true
	case classText:
		return !p.text.negate
	case classObject:
		return !p.objectsOnly()
	}
	return false
}

// objectsOnly reports whether an object pattern matches objects alone, and no
// arrays by way of a path.
func (p *pattern) objectsOnly() bool {
	for i := range p.fields {
		if c := p.fields[i].key.class; c == keyName || c == keyGlob {
			return true
		}
	}
	return len(p.fields) == 0
}

// containsElement reports whether p matches every value, arrays aside, that q
// matches.
func (p *pattern) containsElement(q *pattern, m mode) bool {
	switch {
	case p.class == classAny || q.class == classNone:
		return true
	case q.class == classOneOf:
		return p.containsEveryAlt(q, m)
	}
	switch p.class {
	case classScalar:
		return q.class == classScalar || q.class == classText || q.class == classNumber || q.class == classWord
	case classText:
		return q.class == classText && p.text.impliedBy(&q.text)
	case classNumber:
		return q.class == classNumber && p.number.equal(&q.number)
	case classWord:
		return q.class == classWord && p.word == q.word
	case classOneOf:
		for i := range p.alts {
			if p.alts[i].containsElement(q, m) {
				return true
			}
		}
	case classObject:
		return q.class == classObject && p.containsFields(q, m)
	}
	return false
}

func (p *pattern) containsEveryAlt(q *pattern, m mode) bool {
	for i := range q.alts {
		if !p.containsElement(&q.alts[i], m) {
			return false
		}
	}
	return true
}

// containsFields reports whether what q asks of its fields is at least what p
// asks.
func (p *pattern) containsFields(q *pattern, m mode) bool {
	if len(p.fields) == 0 {
		return q.objectsOnly()
	}
	for i := range p.fields {
		if !p.fields[i].impliedBy(q, m) {
			return false
		}
	}
	return true
}

// impliedBy reports whether every container that the object pattern q matches
// has a value that f asks for.
func (f *field) impliedBy(q *pattern, m mode) bool {
	if f.key.class == keyDeep && f.value.class == classObject && f.value.containsFields(q, m|modeDeep) {
		return true
	}
	for i := range q.fields {
		if f.impliedByField(&q.fields[i], m) {
			return true
		}
	}
	return false
}

func (f *field) impliedByField(g *field, m mode) bool {
	if f.key.class == keyDeep {
		if g.value.class == classObject && f.impliedBy(&g.value, m) {
			return true
		}
		return f.value.contains(&g.value, m|modeDeep)
	}
	return f.key.contains(&g.key) && f.value.contains(&g.value, m)
}

// contains reports whether k selects every value that other selects.
func (k *key) contains(other *key) bool {
	switch k.class {
	case keyName:
		return other.class == keyName && k.name == other.name
	case keyGlob:
		return other.class == keyName && globMatch(k.glob, other.name) ||
			other.class == keyGlob && globContains(k.glob, other.glob)
	case keyIndex:
		return other.class == keyIndex && k.index == other.index
	case keyChild:
		return other.class != keyDeep
	}
	return false
}
