package capability

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// Finding is a part of a configuration that probably does not have the intended
// effect.
type Finding struct {
	Index   int // of the capability; -1: all of them
	Message string
}

// Lint looks for capabilities of a participant that can never match, that name
// unknown kinds or participants, and that make one another pointless. known
// lists the participants of the space; nil if they cannot be known.
func Lint(holder protocol.ParticipantID, caps []*Capability, known []protocol.ParticipantID) []Finding {
	l := linter{known: known, work: work{left: math.MaxInt}}
	useful := false
	for i, c := range caps {
		l.index = i
		if why := c.never(); why != "" {
			l.report("it can never match: %s", why)
			continue
		}
		l.capability(c)
		shadowed := l.shadowed(c, caps)
		l.redundant(caps)
		useful = useful || !shadowed && !c.deny
	}
	if !useful {
		l.index = -1
		l.report("%s can do nothing: no capability allows anything", holder)
	}
	return l.findings
}

type linter struct {
	known    []protocol.ParticipantID
	work     work // a configuration is trusted: without a bound
	index    int
	findings []Finding
}

func (l *linter) report(format string, args ...any) {
	l.findings = append(l.findings, Finding{l.index, fmt.Sprintf(format, args...)})
}

// capability looks at a capability by itself.
func (l *linter) capability(c *Capability) {
	l.unknownKind(c)
	if kind, ok := c.kind.Literal(); ok {
		if kind == Observe && !c.plain && !c.deny {
			l.report("observe is a right to read only without payload, to and context")
		}
		if c.payload != nil {
			l.unknownFields(kind, c.payload)
		}
	}
	l.unknownAddressees(c.to)
	c.texts(l.suspicious)
}

// never returns why the capability cannot select any request, or "" if it can
// or that is not clear.
func (c *Capability) never() string {
	if kind := c.kind.String(); kind == "!*" || kind == "!**" {
		return "it excludes every kind"
	}
	if c.to != nil && c.to.never(c.deny, protocol.ValidParticipantID) {
		return "no to matches " + c.to.source
	}
	if c.context != nil && c.context.never(c.deny, validContext) {
		return "no context matches " + c.context.source
	}
	if c.payload != nil && !c.payload.mayBeObject(c.mode()) {
		return fmt.Sprintf("the payload is an object, which %s does not match", c.payload.source)
	}
	return ""
}

func (p *pattern) mayBeObject(m mode) bool {
	switch p.class {
	case classAny, classObject:
		return true
	case classOneOf:
		return slices.ContainsFunc(p.alts, func(a pattern) bool { return a.mayBeObject(m) })
	}
	return m.deny() && p.absent
}

func validContext(s string) bool {
	_, ok := protocol.ParseContextPath(s, protocol.MaxContextBytes)
	return ok || s == ""
}

// never reports whether no alternative can match a valid text.
func (t *target) never(deny bool, valid func(string) bool) bool {
	for i := range t.alts {
		switch x := &t.alts[i]; {
		case x.negate && x.class == textAny && !deny:
		case !x.negate && x.class == textExact && !valid(x.exact):
		default:
			return false
		}
	}
	return true
}

func (l *linter) shadowed(c *Capability, all []*Capability) bool {
	if c.deny {
		return false
	}
	for _, d := range all {
		if d.deny && d.covers(c, &l.work) {
			l.report("it allows nothing: %s denies all of it", short(d.String()))
			return true
		}
	}
	return false
}

// redundant reports capabilities that another one covers: of two equal ones, the
// later.
func (l *linter) redundant(all []*Capability) {
	i := l.index
	c := all[i]
	for j, other := range all {
		if i == j {
			continue
		}
		if string(c.source) == string(other.source) {
			if j < i {
				l.report("it is a duplicate of an earlier one")
				return
			}
			continue
		}
		if l.contains(other, c) && (j < i || !l.contains(c, other)) {
			l.report("it adds nothing: %s allows all of it", short(other.String()))
			return
		}
	}
}

func (l *linter) contains(a, b *Capability) bool {
	return !a.deny && !b.deny && a.covers(b, &l.work)
}

func (l *linter) unknownAddressees(to *target) {
	if to == nil || l.known == nil {
		return
	}
	for i := range to.alts {
		t := &to.alts[i]
		matches := func(p protocol.ParticipantID) bool { return matches(t, string(p)) }
		if !slices.ContainsFunc(l.known, matches) {
			l.report("to %s names no participant of the space", to.source)
			return
		}
	}
}

// suspicious reports patterns that are read in another way than they look.
func (l *linter) suspicious(group []*text) {
	var negated *text
	for _, t := range group {
		if t.class == textRegexp && looksLikeFolder(t.exact) {
			l.report(`"/%s/" is a regular expression; a folder and what is in it is "/%s/**"`, t.exact, t.exact)
		}
		if !t.negate {
			continue
		}
		if negated != nil && (negated.class == textExact && !matches(t, negated.exact) || t.class == textExact && !matches(negated, t.exact)) {
			l.report("one of two negations matches every text")
			return
		}
		negated = t
	}
}

// looksLikeFolder reports whether a regexp has nothing of a regexp in it.
func looksLikeFolder(source string) bool {
	return strings.Trim(source, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == ""
}

// texts calls visit with the text patterns of the capability, grouped by array.
func (c *Capability) texts(visit func([]*text)) {
	for _, t := range []*target{c.to, c.context} {
		if t != nil {
			group := make([]*text, len(t.alts))
			for i := range t.alts {
				group[i] = &t.alts[i]
			}
			visit(group)
		}
	}
	if c.payload != nil {
		c.payload.texts(visit)
	}
}

func (p *pattern) texts(visit func([]*text)) {
	var group []*text
	for i := range p.alts {
		if p.alts[i].class == classText {
			group = append(group, &p.alts[i].text)
		} else {
			p.alts[i].texts(visit)
		}
	}
	if p.class == classText {
		group = append(group, &p.text)
	}
	visit(group)
	for i := range p.fields {
		p.fields[i].value.texts(visit)
	}
}
