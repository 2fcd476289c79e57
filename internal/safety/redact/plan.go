package redact

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plan bounds the position of a match relative to a keyword: it begins near to lead
// bytes before the keyword and ends at most tail bytes after its beginning.
type plan struct {
	near, lead int
	tail       int
}

const unbounded = 1 << 30 // longer than any text

// planOf reads the plan off an expression. It reports false when a match need
// not have one of the keywords within a bounded distance; then the expression
// has to run over the whole text.
func planOf(expression string, keywords []string) (plan, bool) {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return plan{}, false
	}
	items := sequence(nil, re)
	near, lead := 0, 0
	for i := range items {
		if beginsWithOne(items[i:], keywords) {
			return plan{near: near, lead: lead, tail: longestOf(items[i:])}, true
		}
		n := longest(items[i])
		if n == unbounded {
			return plan{}, false
		}
		lead += n
		near += shortest(items[i])
	}
	return plan{}, false
}

// sequence lists the parts of re in order.
func sequence(list []*syntax.Regexp, re *syntax.Regexp) []*syntax.Regexp {
	switch re.Op {
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			list = sequence(list, sub)
		}
		return list
	case syntax.OpCapture:
		return sequence(list, re.Sub[0])
	}
	return append(list, re)
}

func beginsWithOne(items []*syntax.Regexp, keywords []string) bool {
	for _, p := range beginningsOf(items) {
		if !slices.ContainsFunc(keywords, func(k string) bool { return strings.HasPrefix(p.text, k) }) {
			return false
		}
	}
	return true
}

// beginning is a text, in lower case, that matches may begin with.
type beginning struct {
	text string
	open bool // something unknown follows: it cannot be made longer
}

// Bounds of the search for beginnings; beyond them it settles for shorter ones.
const (
	maxBeginnings = 256
	maxClass      = 10
)

var unknown = []beginning{{open: true}}

// beginningsOf returns beginnings such that every match has one of them.
func beginningsOf(items []*syntax.Regexp) []beginning {
	result := []beginning{{}}
	for _, item := range items {
		next := beginnings(item)
		var longer []beginning
		for _, b := range result {
			if b.open {
				longer = append(longer, b)
				continue
			}
			for _, n := range next {
				longer = append(longer, beginning{b.text + n.text, n.open})
			}
		}
		if len(longer) > maxBeginnings {
			for i := range result {
				result[i].open = true
			}
			return result
		}
		result = longer
	}
	return result
}

func beginnings(re *syntax.Regexp) []beginning {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return []beginning{{}}
	case syntax.OpLiteral:
		return []beginning{{text: strings.ToLower(string(re.Rune))}}
	case syntax.OpCharClass:
		return classBeginnings(re)
	case syntax.OpCapture:
		return beginnings(re.Sub[0])
	case syntax.OpConcat:
		return beginningsOf(re.Sub)
	case syntax.OpAlternate:
		var all []beginning
		for _, sub := range re.Sub {
			all = append(all, beginnings(sub)...)
		}
		return all
	case syntax.OpQuest:
		return append([]beginning{{}}, beginnings(re.Sub[0])...)
	case syntax.OpPlus:
		return opened(beginnings(re.Sub[0]))
	case syntax.OpRepeat:
		if re.Min > 0 {
			return opened(beginnings(re.Sub[0]))
		}
	}
	return unknown
}

func opened(list []beginning) []beginning {
	out := make([]beginning, len(list))
	for i, b := range list {
		out[i] = beginning{b.text, true}
	}
	return out
}

// classBeginnings lists the characters of a small class. Folding adds K (the
// Kelvin sign) and ſ to k and s; the keyword pass does not look for those.
func classBeginnings(re *syntax.Regexp) []beginning {
	seen := map[rune]bool{}
	for i := 0; i < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if r != '\u212A' && r != 'ſ' {
				seen[unicode.ToLower(r)] = true
			}
			if len(seen) > maxClass {
				return unknown
			}
		}
	}
	var list []beginning
	for r := range seen {
		list = append(list, beginning{text: string(r)})
	}
	return list
}

// shortest returns a length in bytes that no match is below.
func shortest(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpRepeat:
		return re.Min * shortest(re.Sub[0])
	}
	return 0
}

// longest returns the length in bytes of the longest match, or unbounded.
func longest(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return utf8.UTFMax * len(re.Rune)
		}
		return len(string(re.Rune))
	case syntax.OpCharClass:
		n := 1
		for _, r := range re.Rune {
			n = max(n, utf8.RuneLen(min(r, utf8.MaxRune)))
		}
		return n
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return utf8.UTFMax
	case syntax.OpCapture, syntax.OpQuest:
		return longest(re.Sub[0])
	case syntax.OpConcat:
		return longestOf(re.Sub)
	case syntax.OpAlternate:
		n := 0
		for _, sub := range re.Sub {
			n = max(n, longest(sub))
		}
		return n
	case syntax.OpStar, syntax.OpPlus:
		return unbounded
	case syntax.OpRepeat:
		m := longest(re.Sub[0])
		if re.Max < 0 || m == unbounded {
			return unbounded
		}
		return re.Max * m
	}
	return 0 // assertions
}

func longestOf(items []*syntax.Regexp) int {
	sum := 0
	for _, item := range items {
		sum = min(sum+longest(item), unbounded)
	}
	return sum
}
