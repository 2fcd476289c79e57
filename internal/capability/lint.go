package capability

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/protocol"
)

// Severity is the likelihood that a finding is a mistake.
type Severity uint8

// A Warning is probably a mistake; an Error certainly is one.
const (
	Warning Severity = iota
	Error
)

// String returns "warning" or "error".
func (s Severity) String() string {
	if s == Error {
		return "error"
	}
	return "warning"
}

// Holding has the configured capabilities of one participant.
type Holding struct {
	Participant  protocol.ParticipantID
	Capabilities []*Capability
}

// Finding is a part of a configuration that probably does not have the intended
// effect.
type Finding struct {
	Participant protocol.ParticipantID
	Index       int // in the Capabilities of the Holding; -1: all of them
	Severity    Severity
	Message     string
}

// Lint looks for capabilities that can never match, that name unknown kinds or
// participants, and that make one another pointless. known lists the
// participants of the space; nil if they cannot be known.
func Lint(holdings []Holding, known []protocol.ParticipantID) []Finding {
	l := linter{known: known, work: work{left: math.MaxInt}}
	for _, h := range holdings {
		l.holding(h)
	}
	return l.findings
}

type linter struct {
	known       []protocol.ParticipantID
	work        work // a configuration is trusted: without a bound
	participant protocol.ParticipantID
	index       int
	findings    []Finding
}

func (l *linter) report(s Severity, format string, args ...any) {
	l.findings = append(l.findings, Finding{
		Participant: l.participant, Index: l.index, Severity: s, Message: fmt.Sprintf(format, args...),
	})
}

func (l *linter) holding(h Holding) {
	l.participant = h.Participant
	useful := false
	for i, c := range h.Capabilities {
		l.index = i
		if !l.capability(c) {
			continue
		}
		shadowed := l.shadowed(c, h.Capabilities)
		l.redundant(i, h.Capabilities)
		useful = useful || !shadowed && !c.deny
	}
	if !useful {
		l.index = -1
		l.report(Warning, "%s can do nothing: no capability allows anything", h.Participant)
	}
}

// capability reports whether c can match anything.
func (l *linter) capability(c *Capability) bool {
	if why := c.never(); why != "" {
		l.report(Error, "it can never match: %s", why)
		return false
	}
	l.unknownKind(c)
	if kind, ok := c.kind.Literal(); ok && kind == Observe && !c.plain && !c.deny {
		l.report(Warning, "observe is a right to read only without payload, to and context")
	}
	if kind, ok := c.kind.Literal(); ok && c.payload != nil {
		l.unknownFields(kind, c.payload)
	}
	l.unknownAddressees(c.to)
	for _, t := range c.texts() {
		l.suspicious(t)
	}
	return true
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
			l.report(Warning, "it allows nothing: %s denies all of it", textutil.Shorten(d.String(), maxShown))
			return true
		}
	}
	return false
}

// redundant reports capabilities that another one covers: of two equal ones, the
// later.
func (l *linter) redundant(i int, all []*Capability) {
	c := all[i]
	for j, other := range all {
		if i == j {
			continue
		}
		if string(c.source) == string(other.source) {
			if j < i {
				l.report(Warning, "it is a duplicate of an earlier one")
				return
			}
			continue
		}
		if l.contains(other, c) && (j < i || !l.contains(c, other)) {
			l.report(Warning, "it adds nothing: %s allows all of it", textutil.Shorten(other.String(), maxShown))
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
		matches := func(p protocol.ParticipantID) bool { return t.matches(string(p)) }
		if !slices.ContainsFunc(l.known, matches) {
			l.report(Warning, "to %s names no participant of the space", to.source)
			return
		}
	}
}

// suspicious reports patterns that are read in another way than they look.
func (l *linter) suspicious(group []*text) {
	var negated *text
	for _, t := range group {
		if t.class == textRegexp && looksLikeFolder(t.exact) {
			l.report(Warning, `"/%s/" is a regular expression; a folder and what is in it is "/%s/**"`, t.exact, t.exact)
		}
		if !t.negate {
			continue
		}
		if negated != nil && (negated.class == textExact && !t.matches(negated.exact) || t.class == textExact && !negated.matches(t.exact)) {
			l.report(Warning, "one of two negations matches every text")
			return
		}
		negated = t
	}
}

// looksLikeFolder reports whether a regexp has nothing of a regexp in it.
func looksLikeFolder(source string) bool {
	return strings.Trim(source, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == ""
}

// texts returns the text patterns of the capability, grouped by array.
func (c *Capability) texts() [][]*text {
	var out [][]*text
	for _, t := range []*target{c.to, c.context} {
		if t != nil {
			out = append(out, pointers(t.alts))
		}
	}
	if c.payload != nil {
		out = c.payload.texts(out)
	}
	return out
}

func pointers(list []text) []*text {
	out := make([]*text, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

func (p *pattern) texts(out [][]*text) [][]*text {
	switch p.class {
	case classText:
		return append(out, []*text{&p.text})
	case classOneOf:
		var group []*text
		for i := range p.alts {
			if p.alts[i].class == classText {
				group = append(group, &p.alts[i].text)
			} else {
				out = p.alts[i].texts(out)
			}
		}
		return append(out, group)
	}
	for i := range p.fields {
		out = p.fields[i].value.texts(out)
	}
	return out
}
