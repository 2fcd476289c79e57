package capability

import (
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// covers reports whether c selects all requests that other allows. True is
// certain; false may mean that it is not clear. It compares the two
// structurally: equal parts, texts that a pattern matches, globs within globs,
// and patterns with fewer conditions.
//
// A capability selects at least as much when it is read as a deny rule, so
// true is certain for a deny rule c as well. A string pattern matches an array
// by one of its elements and an array pattern by all of them, so ["a", "b"]
// covers ["a"] but not "a".
func (c *Capability) covers(other *Capability, w *work) bool {
	if !w.spend(1+32*c.kindWeight) || !kindCovers(&c.kind, &other.kind) {
		return false
	}
	if other.observes() && !c.deny && !c.observes() {
		return false
	}
	if c.to != nil && (other.to == nil || !c.to.covers(other.to, w)) {
		return false
	}
	if c.context != nil && (other.context == nil || !c.context.coversContext(other.context, w)) {
		return false
	}
	switch {
	case c.payload == nil:
		return true
	case other.payload == nil:
		return c.payload.class == classAny || c.payload.class == classObject && len(c.payload.fields) == 0
	}
	return c.payload.covers(other.payload, w)
}

// kindCovers reports whether a selects every kind that b selects.
func kindCovers(a, b *protocol.KindPattern) bool {
	if kind, ok := b.Literal(); ok {
		return a.Match(kind)
	}
	x, y := canonicalKind(a), canonicalKind(b)
	if x == y || x == "*" || x == "**" {
		return true
	}
	if y == "*" || y == "**" {
		return false
	}
	if x[0] == '!' && y[0] != '!' && !strings.HasSuffix(x, "/") {
		excluded, err := protocol.ParseKindPattern(x[1:])
		return err == nil && kindsApart(&excluded, b)
	}
	if y == "reasoning.step" {
		y = "reasoning.*"
	}
	xs, xName, xNamed := strings.Cut(x, ".")
	ys, yName, yNamed := strings.Cut(y, ".")
	return isKindGlob(x) && isKindGlob(y) && xNamed == yNamed &&
		compileKeyGlob(xs).covers(compileKeyGlob(ys)) && compileKeyGlob(xName).covers(compileKeyGlob(yName))
}

// kindsApart reports whether clearly no kind is selected by both.
func kindsApart(a, b *protocol.KindPattern) bool {
	if kind, ok := a.Literal(); ok {
		return !b.Match(kind)
	}
	if kind, ok := b.Literal(); ok {
		return !a.Match(kind)
	}
	x, y := canonicalKind(a), canonicalKind(b)
	xs, _, xNamed := strings.Cut(x, ".")
	ys, _, yNamed := strings.Cut(y, ".")
	return isKindGlob(x) && isKindGlob(y) && xNamed && yNamed && !hasStar(xs) && !hasStar(ys) && xs != ys
}

// canonicalKind returns the text of a pattern with a dot as its first
// separator; a regexp as it is.
func canonicalKind(p *protocol.KindPattern) string {
	s := p.String()
	if i := strings.IndexAny(s, "./"); i > 0 && s[i] == '/' && s[0] != '!' {
		return s[:i] + "." + s[i+1:]
	}
	return s
}

// isKindGlob reports whether a pattern is neither a negation nor a regexp.
func isKindGlob(s string) bool { return s != "" && s[0] != '!' && s[0] != '/' }

// covers reports whether t matches every address that the allowing pattern u
// matches.
func (t *target) covers(u *target, w *work) bool {
	if t.source == u.source {
		return true
	}
	if t.everyElement() && !u.everyElement() {
		return false // u leaves the other addressees open, t does not
	}
	return t.coversEach(u, func(a, b *text) bool { return a.covers(b, w) })
}

// coversContext reports whether t matches every context that the allowing
// pattern u matches.
func (t *target) coversContext(u *target, w *work) bool {
	return t.source == u.source || t.coversEach(u, func(a, b *text) bool { return a.coversContext(b, w) })
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

func (t *text) coversContext(u *text, w *work) bool {
	main := u.main() && !u.negate
	switch {
	case !w.spend(1 + t.weight):
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
		return w.spend(len(u.glob)*len(t.glob)/4) && t.matchesWithin(string(u.glob))
	}
	return t.covers(u, w)
}

// covers reports whether t holds for every single text that u holds for,
// negations included.
func (t *text) covers(u *text, w *work) bool {
	switch {
	case !w.spend(1):
		return false
	case t.class == textAny && !t.negate:
		return true
	case t.negate == u.negate && t.class == u.class && t.exact == u.exact && t.glob == u.glob:
		return true
	case u.negate:
		return false
	case u.class == textExact:
		return holds(t, u.exact, modeAllow, w)
	case u.class == textRegexp || t.negate:
		return false
	}
	return t.class == textGlob && strings.HasPrefix(u.prefix, t.prefix) && w.spend(len(t.glob)*len(u.glob)/16) && t.glob.covers(u.glob)
}

// covers reports whether p, in an allowing rule, matches every value that q
// matches.
func (p *pattern) covers(q *pattern, w *work) bool {
	switch {
	case !w.spend(1):
		return false
	case p.class == classAny || p.sameText(q):
		return true
	case q.class == classOneOf:
		// q asks for every element of an array, p for one or all of them.
		return (p.class == classOneOf || p.class == classText || p.class == classScalar) && p.coversOne(q, w)
	case p.class == classOneOf:
		// p asks for every element of an array: q must match none, or do the same.
		plain := q.class == classNumber || q.class == classWord || q.class == classObject && q.objectsOnly()
		return (plain || q.class == classText && q.text.negate) && p.coversOne(q, w)
	case p.class == classText && p.text.negate && q.class == classText && !q.text.negate:
		return false // "read" matches ["read", "delete"], which "!delete" does not
	}
	return p.coversOne(q, w)
}

// sameText reports whether two patterns are written alike.
func (p *pattern) sameText(q *pattern) bool {
	return p.source == q.source && !p.inner && !q.inner
}

// coversOne reports whether p matches every value, arrays aside, that q
// matches.
func (p *pattern) coversOne(q *pattern, w *work) bool {
	switch {
	case !w.spend(1):
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
		return q.class == classText || q.class == classNumber || q.class == classWord
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
	}
	return false
}

// coversFields reports whether q has at least p's conditions on fields.
func (p *pattern) coversFields(q *pattern, w *work) bool {
	if len(p.fields) == 0 {
		return q.objectsOnly()
	}
	for i := range p.fields {
		f, found := &p.fields[i], false
		for j := range q.fields {
			g := &q.fields[j]
			found = found || w.spend(1) && f.key.covers(&g.key) && f.value.covers(&g.value, w)
		}
		if !found {
			return false
		}
	}
	return true
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

// covers reports whether k selects every value that other selects.
func (k *key) covers(other *key) bool {
	switch {
	case k.class == keyChild:
		return other.class != keyDeep
	case k.class == keyGlob && other.class == keyName:
		return globMatch(k.glob, other.name)
	case k.class == keyGlob && other.class == keyGlob:
		return k.glob.covers(other.glob)
	}
	return k.class != keyDeep && k.class == other.class && k.source == other.source
}
