package capability

import (
	"slices"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// MayBeObject reports whether p can match an object.
func (p *Pattern) MayBeObject(m Mode) bool {
	switch p.class {
	case classAny, classObject:
		return true
	case classOneOf:
		return slices.ContainsFunc(p.alts, func(a Pattern) bool { return a.MayBeObject(m) })
	}
	return m.deny() && p.absent
}

// Never reports whether no alternative can match a valid text.
func (t *target) Never(deny bool, valid func(string) bool) bool {
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

// NamesUnknown reports whether an alternative, negation aside, matches none of the
// participants.
func (t *target) NamesUnknown(known []protocol.ParticipantID) bool {
	return slices.ContainsFunc(t.alts, func(x text) bool {
		return !slices.ContainsFunc(known, func(id protocol.ParticipantID) bool { return matches(&x, string(id)) })
	})
}

// Names returns the names among the keys of an object pattern.
func (p *Pattern) Names() []string {
	var names []string
	for i := range p.fields {
		if k := &p.fields[i].key; k.class == keyName {
			names = append(names, k.name)
		}
	}
	return names
}

// Suspicious reports patterns that are read in another way than they look.
func (t *target) Suspicious(report func(format string, args ...any)) {
	suspicious(t.alts, report)
}

// Suspicious reports patterns that are read in another way than they look.
func (p *Pattern) Suspicious(report func(format string, args ...any)) {
	var group []text
	if p.class == classText {
		group = append(group, p.text)
	}
	for i := range p.alts {
		if alt := &p.alts[i]; alt.class == classText {
			group = append(group, alt.text)
		} else {
			alt.Suspicious(report)
		}
	}
	suspicious(group, report)
	for i := range p.fields {
		p.fields[i].value.Suspicious(report)
	}
}

// suspicious looks at the texts of an array, or at a single one.
func suspicious(group []text, report func(format string, args ...any)) {
	var negated *text
	for i := range group {
		t := &group[i]
		if t.class == textRegexp && strings.Trim(t.exact, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == "" { // it has nothing of a regexp
			report(`"/%s/" is a regular expression; a folder and what is in it is "/%s/**"`, t.exact, t.exact)
		}
		if !t.negate {
			continue
		}
		if negated != nil && (negated.class == textExact && !matches(t, negated.exact) || t.class == textExact && !matches(negated, t.exact)) {
			report("one of two negations matches every text")
			return
		}
		negated = t
	}
}
