package capability

import (
	"github.com/meup-protocol/meup/internal/kit/glob"
	"github.com/meup-protocol/meup/protocol"
)

type class uint8

const (
	classAny    class = iota // "**"
	classScalar              // "*"
	classNone                // "!*" and "!**"
	classText                // any other string
	classNumber
	classWord   // true, false, null
	classOneOf  // an array
	classObject // an object
	classTyped  // {"$shell": …}, {"$path": …} and {"$url": …}
)

// Pattern is a compiled field pattern: it matches the values of requests, and is compared
// with other patterns. Its work is bounded. Section 7.
//
// # Field patterns
//
//	"text"        a string with exactly this text, however it was escaped
//	"a/*/b"       a glob: * is any text within a segment, ** across segments
//	"*"           any string, number, boolean or null
//	"**"          any value
//	"!pattern"    the text does not match
//	"/regexp/"    RE2, unanchored; so "/tmp/" is a regexp and "/tmp/**" a path
//	12.5          a number of the same value: 1e6 is 1000000
//	true, null    the same word
//	[p, q]        one of
//	{"key": p}    an object in which every key finds a value that p matches
//	{"$shell": …} a command, by what it runs; see package argument
//	{"$path": …}  a path, and {"$url": …} a URL, likewise
//	{"$text": p}  the string p, for a text of which a typed pattern may be expected
//
// A key is a name, a glob ("x-*", where * is any text), "**" (the object
// itself and anything below it, elements of arrays included), or a path:
// "$.a.b", "$['a']", "$[0]", "$[*]", "$.*" and "$..name". The $ of a path is
// the object that contains the key. A name that begins with $ or contains a star
// is written as a path: "$['$ref']".
//
// # Two readings
//
// An allowing rule must match for certain, and a deny rule must only be able to
// match. The same pattern therefore has two readings:
//
//	                      allowing rule             deny rule
//	absent field          no pattern matches        a negation matches
//	key                   as written                in any case ("PATH" is "path")
//	text on an array      every element, strings    any element
//	"*" on an array       every element             any element
//	[p, q] on an array    every element             any element
//	other on an array     no                        any element
//	!text on a number …   no                        yes
//	empty array           like an absent field, except for "**"
//	text over 64 KiB      no regexp matches         every regexp matches
//	text with a ..        no glob matches           as written
//	text of a command     no glob matches           as written
//	typed, no certainty   no                        yes
//	typed on an array     no                        any element, or all as one command
//	all steps used        nothing matches           everything matches
//
// A text with a .. has it as a segment of a path. A text of a command is one with ; & | < > $ ` ( )
// or a line break, in a call whose arguments have a command. A negated glob does not match them
// either; "*" and "**" are no globs: they match every text.
//
// A pattern in a deny rule matches at least the requests that it matches in an
// allowing rule. Absence is only detected for names and indexes, never through a
// glob or "**". ["!a", "!b"] is one of two negations and matches every text. To
// deny a field only where it is present, name it twice:
// {"path": "!/tmp/**", "$.path": "**"}.
//
// # To and context
//
// Both are patterns of text, or arrays of them. A broadcast has no to, an
// envelope of the main conversation no context. A context pattern that matches
// a path matches everything below it, by whole segments; "" is the main
// conversation.
type Pattern struct {
	class  class
	text   text             // classText
	number protocol.Decimal // classNumber
	word   string           // classWord
	alts   []Pattern        // classOneOf
	fields []field          // classObject
	typed  *typed           // classTyped
	meant  bool             // classText, written as {"$text": …}
	// scalars: of classNone, "!*" rather than "!**".
	scalars bool
	// absent: in a deny rule the pattern matches a field that is not there.
	absent bool
	Source string // as it was written
	// inner: a step of a path; its Source is the source of the path's value.
	inner bool
}

// field asks that some value that key selects is matched by value.
type field struct {
	key   key
	value Pattern
}

type keyClass uint8

const (
	keyName  keyClass = iota
	keyGlob           // a glob over names
	keyIndex          // "[0]" of a path
	keyChild          // "[*]" and ".*" of a path: members and elements
	keyDeep           // "**" and ".." of a path
)

// key selects values inside an object or array.
type key struct {
	class  keyClass
	name   string    // keyName
	glob   glob.Glob // keyGlob
	folded glob.Glob // keyGlob, in the case that deny rules compare in
	index  int       // keyIndex
	source string
}

// Match reports whether the pattern matches a value that is there.
func (p *Pattern) Match(v protocol.Value, m Mode, w *Work) bool {
	if v.Type() == protocol.TypeArray && p.class != classAny {
		return p.matchArray(v, m, w)
	}
	return p.matchOne(v, m, w)
}

// matchOne matches a value that is not an array.
func (p *Pattern) matchOne(v protocol.Value, m Mode, w *Work) bool {
	if !w.Spend(1) {
		return m.deny()
	}
	t := v.Type()
	switch p.class {
	case classAny:
		return true
	case classScalar:
		return t != protocol.TypeObject
	case classNone:
		return m.deny() && p.scalars && t == protocol.TypeObject
	case classText:
		if t != protocol.TypeString {
			return m.deny() && p.text.negate
		}
		b, plain := v.Plain()
		if !plain { // written with escapes
			return holds(&p.text, v.Text(), m, w)
		}
		return holds(&p.text, b, m, w)
	case classNumber:
		if t != protocol.TypeNumber {
			return false
		}
		return protocol.ParseDecimal(v.Raw()).Equal(p.number)
	case classWord:
		return string(v.Raw()) == p.word
	case classTyped:
		return p.typed.match(v, m, w)
	case classOneOf:
		for i := range p.alts {
			if p.alts[i].Match(v, m, w) {
				return true
			}
		}
		return false
	}
	return p.matchFields(v, m, w)
}

// matchArray matches an array against any pattern but "**".
func (p *Pattern) matchArray(v protocol.Value, m Mode, w *Work) bool {
	if p.class == classObject && p.matchFields(v, m, w) {
		return true
	}
	every := !m.deny() // it asks for all elements; a deny rule is content with one
	if every && p.class != classOneOf && p.class != classText && p.class != classScalar {
		return false
	}
	some := false
	for e := range v.Elements {
		if p.matchElement(e, m, w) != every {
			return !every
		}
		some = true
	}
	if every {
		return some
	}
	// In a deny rule, an empty array counts as an absent field.
	return !some && m == modeDeny && p.absent && (p.class != classNone || p.scalars) || p.class == classTyped && p.typed.matchWords(v, m, w)
}

// matchElement matches an element of an array. An allowing rule does not look
// for texts in an array inside an array.
func (p *Pattern) matchElement(e protocol.Value, m Mode, w *Work) bool {
	if m.deny() || e.Type() != protocol.TypeArray {
		return p.Match(e, m, w)
	}
	switch p.class {
	case classAny:
		return true
	case classObject:
		return p.matchFields(e, m, w)
	case classOneOf:
		for i := range p.alts {
			if p.alts[i].matchElement(e, m, w) {
				return true
			}
		}
	}
	return false
}

// matchFields reports whether every field finds its value in v.
func (p *Pattern) matchFields(v protocol.Value, m Mode, w *Work) bool {
	if len(p.fields) == 0 {
		return v.Type() == protocol.TypeObject
	}
	for i := range p.fields {
		if !p.fields[i].match(v, m, w) {
			return false
		}
	}
	return true
}

// match reports whether some value that the key selects in v is matched.
func (f *field) match(v protocol.Value, m Mode, w *Work) bool {
	switch f.key.class {
	case keyName:
		return f.matchName(v, m, w)
	case keyGlob:
		for k, x := range v.Members {
			if !w.Spend(f.key.cost(k)) {
				return m.deny()
			}
			if f.key.selects(k, m) && f.value.Match(x, m, w) {
				return true
			}
		}
	case keyIndex:
		i := 0
		for x := range v.Elements {
			if i == f.key.index {
				return f.value.Match(x, m, w)
			}
			i++
			if !w.Spend(1) {
				return m.deny()
			}
		}
		return m == modeDeny && f.value.absent
	case keyChild:
		for _, x := range v.Members {
			if f.value.Match(x, m, w) {
				return true
			}
		}
		for x := range v.Elements {
			if f.value.Match(x, m, w) {
				return true
			}
		}
	case keyDeep:
		return f.value.matchBelow(v, m|modeDeep, w)
	}
	return false
}

// matchName looks at one member in an allowing rule, and in a deny rule at all
// that differ from the name in case alone.
func (f *field) matchName(v protocol.Value, m Mode, w *Work) bool {
	found := false
	for k, x := range v.Members {
		if !w.Spend(1) {
			return m.deny()
		}
		if !f.key.selects(k, m) {
			continue
		}
		if f.value.Match(x, m, w) {
			return true
		}
		found = true
		if !m.deny() {
			return false
		}
	}
	return !found && m == modeDeny && f.value.absent
}

// matchBelow reports whether v or anything below it is matched. Containers are
// matched as themselves only by object patterns and "**"; for the others their
// contents are looked at one by one.
func (p *Pattern) matchBelow(v protocol.Value, m Mode, w *Work) bool {
	if p.matchNode(v, m, w) {
		return true
	}
	for _, x := range v.Members {
		if p.matchBelow(x, m, w) {
			return true
		}
	}
	for x := range v.Elements {
		if p.matchBelow(x, m, w) {
			return true
		}
	}
	return false
}

func (p *Pattern) matchNode(v protocol.Value, m Mode, w *Work) bool {
	if !w.Spend(1) {
		return m.deny()
	}
	container := v.Type() == protocol.TypeObject || v.Type() == protocol.TypeArray
	switch p.class {
	case classAny:
		return true
	case classObject:
		return p.matchFields(v, m, w)
	case classOneOf:
		for i := range p.alts {
			if p.alts[i].matchNode(v, m, w) {
				return true
			}
		}
		return false
	}
	return !container && p.matchOne(v, m, w)
}
