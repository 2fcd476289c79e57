package capability

import (
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// kindShape is what containment needs to know of a kind pattern, read from how
// it was written.
type kindShape struct {
	negate bool
	source string // without the negation; of a regexp, or for equality
	class  kindClass
	kind   protocol.Kind // kindOne
	ns     glob          // kindGlob
	name   glob          // kindGlob; nil if there is no separator
}

type kindClass uint8

const (
	kindOne kindClass = iota
	kindEvery
	kindStep
	kindGlob
	kindRegexp
)

func shapeOf(p *protocol.KindPattern) kindShape {
	body, negate := strings.CutPrefix(p.String(), "!")
	s := kindShape{negate: negate, source: body}
	if _, ok := regexpSource(body); ok {
		s.class = kindRegexp
		return s
	}
	if strings.Trim(body, "*") == "" && len(body) <= 2 {
		s.class = kindEvery
		return s
	}
	if hasStar(body) {
		s.class = kindGlob
		ns, name := body, ""
		if i := strings.IndexAny(body, "./"); i >= 0 {
			ns, name = body[:i], body[i+1:]
		}
		s.ns = compileKeyGlob(ns)
		if name != "" {
			s.name = compileKeyGlob(name)
		}
		return s
	}
	s.kind, _ = protocol.ParseKind(body)
	if s.kind == "reasoning.step" {
		s.class = kindStep
	}
	return s
}

// kindContains reports whether a selects every kind that b selects.
func kindContains(a, b *protocol.KindPattern) bool {
	if kind, ok := b.Literal(); ok {
		return a.Match(kind)
	}
	x, y := shapeOf(a), shapeOf(b)
	switch {
	case y.negate && y.class == kindEvery:
		return true // b selects nothing
	case x.negate && y.negate:
		return y.contains(&x)
	case x.negate:
		return x.disjoint(&y)
	case y.negate:
		return x.class == kindEvery
	}
	return x.contains(&y)
}

// kindDisjoint reports whether no kind is selected by both.
func kindDisjoint(a, b *protocol.KindPattern) bool {
	if kind, ok := a.Literal(); ok {
		return !b.Match(kind)
	}
	if kind, ok := b.Literal(); ok {
		return !a.Match(kind)
	}
	x, y := shapeOf(a), shapeOf(b)
	switch {
	case x.negate && y.negate:
		return x.class == kindEvery || y.class == kindEvery
	case x.negate:
		return x.contains(&y)
	case y.negate:
		return y.contains(&x)
	}
	return x.disjoint(&y)
}

var notSteps = [...]protocol.Kind{
	protocol.KindReasoningStart, protocol.KindReasoningConclusion, protocol.KindReasoningCancel,
}

// contains compares what two shapes select, negations aside.
func (x *kindShape) contains(y *kindShape) bool {
	switch {
	case x.class == kindEvery:
		return true
	case y.class == kindOne:
		return x.selects(y.kind)
	case x.class == kindRegexp || y.class == kindRegexp:
		return x.class == y.class && x.source == y.source
	case y.class == kindEvery || x.class == kindOne:
		return false
	case x.class == kindStep:
		return y.class == kindStep || y.onlySteps()
	case y.class == kindStep:
		return globMatch(x.ns, "reasoning") && x.name.all()
	}
	return (x.name == nil) == (y.name == nil) && globContains(x.ns, y.ns) && globContains(x.name, y.name)
}

// onlySteps reports whether every kind that the glob selects is a step.
func (x *kindShape) onlySteps() bool {
	if !globContains(literalGlob("reasoning"), x.ns) || x.name == nil {
		return false
	}
	for _, k := range notSteps {
		if x.selects(k) {
			return false
		}
	}
	return true
}

// disjoint compares what two shapes select, negations aside.
func (x *kindShape) disjoint(y *kindShape) bool {
	if x.class > y.class {
		x, y = y, x
	}
	switch {
	case x.class == kindOne:
		return !y.selects(x.kind)
	case x.class == kindEvery || y.class == kindRegexp:
		return false
	case x.class == kindStep && y.class == kindStep:
		return false
	case x.class == kindStep:
		return y.name == nil || !globMatch(y.ns, "reasoning") || y.onlyNotSteps()
	}
	return (x.name == nil) != (y.name == nil) || globDisjoint(x.ns, y.ns) || globDisjoint(x.name, y.name)
}

// onlyNotSteps reports whether the glob's name is one of those that are no
// steps; it tells so only for a name without stars.
func (x *kindShape) onlyNotSteps() bool {
	for _, k := range notSteps {
		_, name := k.Split()
		if globContains(literalGlob(name), x.name) {
			return true
		}
	}
	return false
}

// selects reports whether the shape, negation aside, selects the kind.
func (x *kindShape) selects(k protocol.Kind) bool {
	p, err := protocol.ParseKindPattern(x.source)
	return err == nil && p.Match(k)
}
