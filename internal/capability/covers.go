package capability

import (
	"strings"

	"github.com/meup-protocol/meup/internal/kit/glob"
)

// Covers reports whether t matches every address that the allowing pattern u
// matches.
func (t *target) Covers(u *target, w *Work) bool {
	if t.Source == u.Source {
		return true
	}
	if t.everyElement() && !u.everyElement() {
		return false // u leaves the other addressees open, t does not
	}
	return t.coversEach(u, func(a, b *text) bool { return a.covers(b, w) })
}

// CoversContext reports whether t matches every context that the allowing
// pattern u matches.
func (t *target) CoversContext(u *target, w *Work) bool {
	return t.Source == u.Source || t.coversEach(u, func(a, b *text) bool { return a.coversContext(b, w) })
}

// coversEach reports whether every alternative of u is covered by one of t.
func (t *target) coversEach(u *target, covers func(a, b *text) bool) bool {
	for i := range u.alts {
		found := false
		for j := range t.alts {
			found = found || covers(&t.alts[j], &u.alts[i])
		}
		if !found {
			return false
		}
	}
	return true
}

func (t *text) coversContext(u *text, w *Work) bool {
	main := u.main() && !u.negate
	switch {
	case !w.Spend(1 + t.weight):
		return false
	case t.class == textAny && !t.negate:
		return !main
	case main || t.main():
		return t.main() && t.negate != main && (main || !u.negate)
	case u.negate || t.negate:
		return false
	case u.class == textExact:
		return t.matchesWithin(u.exact)
	case u.class == textGlob && t.class != textRegexp:
		return w.Spend(len(u.glob)*len(t.glob)/4) && t.matchesWithin(string(u.glob))
	}
	return t.covers(u, w)
}

// covers reports whether t holds for every single text that u holds for,
// negations included.
func (t *text) covers(u *text, w *Work) bool {
	switch {
	case !w.Spend(1):
		return false
	case t.class == textAny && !t.negate:
		return true
	case t.negate == u.negate && t.class == u.class && t.exact == u.exact && t.glob == u.glob:
		return true
	case u.negate:
		return false
	case u.class == textExact:
		return holds(t, u.exact, modeAllow|modeCommand, w)
	case u.class == textRegexp || t.negate:
		return false
	}
	return t.class == textGlob && strings.HasPrefix(u.prefix, t.prefix) && w.Spend(len(t.glob)*len(u.glob)/16) && t.glob.Covers(u.glob)
}

// Covers reports whether p, in an allowing rule, matches every value that q
// matches.
func (p *Pattern) Covers(q *Pattern, w *Work) bool {
	switch {
	case !w.Spend(1):
		return false
	case p.class == classAny || p.sameText(q):
		return true
	case q.class == classOneOf:
		// Both ask for every element of an array.
		return (p.class == classOneOf || p.class == classText || p.class == classScalar) && p.coversOne(q, w)
	case p.class == classOneOf:
		// p asks for every element of an array: q must match none, or do the same.
		every := q.class == classText || q.class == classScalar
		plain := q.class == classNumber || q.class == classWord || q.class == classTyped || q.class == classObject && q.objectsOnly()
		return (every || plain) && p.coversOne(q, w)
	}
	return p.coversOne(q, w)
}

// sameText reports whether two patterns are written alike.
func (p *Pattern) sameText(q *Pattern) bool {
	return p.Source == q.Source && !p.inner && !q.inner
}

// coversOne reports whether p matches every value, arrays aside, that q
// matches.
func (p *Pattern) coversOne(q *Pattern, w *Work) bool {
	switch {
	case !w.Spend(1):
		return false
	case p.class == classAny || p.sameText(q):
		return true
	case q.class == classOneOf:
		for i := range q.alts {
			if !p.coversOne(&q.alts[i], w) {
				return false
			}
		}
		return true
	}
	switch p.class {
	case classScalar:
		return q.class == classText || q.class == classNumber || q.class == classWord || q.class == classTyped
	case classText:
		return q.class == classText && p.text.covers(&q.text, w)
	case classNumber:
		return q.class == classNumber && p.number.Equal(q.number)
	case classOneOf:
		for i := range p.alts {
			if p.alts[i].coversOne(q, w) {
				return true
			}
		}
	case classObject:
		return q.class == classObject && p.coversFields(q, w)
	case classTyped:
		return q.class == classTyped && p.typed.covers(q.typed, w)
	}
	return false
}

// coversFields reports whether q has at least p's conditions on fields.
func (p *Pattern) coversFields(q *Pattern, w *Work) bool {
	if len(p.fields) == 0 {
		return q.objectsOnly()
	}
	for i := range p.fields {
		f, found := &p.fields[i], false
		for j := range q.fields {
			g := &q.fields[j]
			found = found || w.Spend(1) && f.key.covers(&g.key) && f.value.Covers(&g.value, w)
		}
		if !found {
			return false
		}
	}
	return true
}

// objectsOnly reports whether an object pattern matches objects alone, and no
// arrays by way of a path.
func (p *Pattern) objectsOnly() bool {
	for i := range p.fields {
		if c := p.fields[i].key.class; c == keyName || c == keyGlob {
			return true
		}
	}
	return len(p.fields) == 0
}

// covers reports whether k selects every value that other selects.
func (k *key) covers(other *key) bool {
	switch {
	case k.class == keyChild:
		return other.class != keyDeep
	case k.class == keyGlob && other.class == keyName:
		return glob.Match(k.glob, other.name)
	case k.class == keyGlob && other.class == keyGlob:
		return k.glob.Covers(other.glob)
	}
	return k.class != keyDeep && k.class == other.class && k.source == other.source
}

// MatchesObjects reports whether p matches every object.
func (p *Pattern) MatchesObjects() bool {
	return p.class == classAny || p.class == classObject && len(p.fields) == 0
}
