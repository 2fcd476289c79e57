package capability

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// target is the pattern of a capability's to or context.
type target struct {
	alts   []text
	array  bool   // was written as an array
	Source string // as it was written
}

// Target compiles a pattern of addressees or of a context.
func (p *patternParser) Target(pointer string, v protocol.Value) *target {
	t := &target{Source: string(v.Raw()), array: v.Type() == protocol.TypeArray}
	if !t.array {
		p.alternative(t, pointer, v)
		return t
	}
	for x := range v.Elements {
		p.alternative(t, pointer+"/"+strconv.Itoa(len(t.alts)), x)
	}
	if len(t.alts) == 0 {
		p.Fail(pointer, errors.New("one of nothing: the array is empty"))
	}
	return t
}

func (p *patternParser) alternative(t *target, pointer string, v protocol.Value) {
	if v.Type() != protocol.TypeString {
		p.Fail(pointer, fmt.Errorf("it must be a string or an array of strings, not %s", v.Type()))
		return
	}
	p.patterns++
	if p.patterns > maxPatterns {
		p.Fail(pointer, fmt.Errorf("a capability has at most %d field patterns", maxPatterns))
		return
	}
	x, err := p.parseText(v.Text())
	if err != nil {
		p.Fail(pointer, err)
	}
	t.alts = append(t.alts, x)
}

// Lists reports whether an alternative is exactly the participant.
func (t *target) Lists(id protocol.ParticipantID) bool {
	return slices.ContainsFunc(t.alts, func(x text) bool { return x.class == textExact && !x.negate && x.exact == string(id) })
}

// MatchTo matches the participants that an envelope is addressed to. A string
// asks for one of them, its negation and an array for all of them; a deny rule
// is content with one.
func (t *target) MatchTo(to []protocol.ParticipantID, m Mode, w *Work) bool {
	if len(to) == 0 {
		return m.deny() && slices.ContainsFunc(t.alts, func(x text) bool { return x.negate })
	}
	every := !m.deny() && t.everyElement()
	for _, id := range to {
		if t.holds(string(id), m, w) != every {
			return !every
		}
	}
	return every
}

// everyElement reports whether an allowing rule asks it of all elements.
func (t *target) everyElement() bool { return t.array || t.alts[0].negate }

func (t *target) holds(s string, m Mode, w *Work) bool {
	for i := range t.alts {
		if holds(&t.alts[i], s, m, w) {
			return true
		}
	}
	return false
}

// MatchContext matches the context of an envelope.
func (t *target) MatchContext(c protocol.ContextPath, m Mode, w *Work) bool {
	for i := range t.alts {
		if t.alts[i].holdsContext(string(c), m, w) {
			return true
		}
	}
	return false
}

// main reports whether the pattern speaks of the main conversation: "" or "!".
func (t *text) main() bool { return t.class == textExact && t.exact == "" }

func (t *text) holdsContext(c string, m Mode, w *Work) bool {
	switch {
	case t.main():
		return (c == "") != t.negate
	case c == "":
		return m.deny() && t.negate
	case !w.Spend(1 + t.weight):
		return m.deny()
	}
	return t.matchesWithin(c) != t.negate
}

// matchesWithin reports whether the pattern, negation aside, matches the path
// or one that it lies below.
func (t *text) matchesWithin(c string) bool {
	for {
		if matches(t, c) {
			return true
		}
		i := strings.LastIndexByte(c, '/')
		if i < 0 {
			return false
		}
		c = c[:i]
	}
}
