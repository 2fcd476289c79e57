package capability

import "github.com/meup-protocol/meup/protocol"

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
)

// pattern is a compiled field pattern.
type pattern struct {
	class  class
	text   text      // classText
	number decimal   // classNumber
	word   string    // classWord
	alts   []pattern // classOneOf
	fields []field   // classObject
	// scalars: of classNone, "!*" rather than "!**".
	scalars bool
	// absent: in a deny rule the pattern matches a field that is not there.
	absent bool
	source string // as it was written
}

// field asks that some value that key selects is matched by value.
type field struct {
	key   key
	value pattern
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
	name   string // keyName
	glob   glob   // keyGlob
	folded glob   // keyGlob, in the case that deny rules compare in
	index  int    // keyIndex
	source string
}

// match reports whether the pattern matches a value that is there.
func (p *pattern) match(v protocol.Value, m mode) bool {
	if v.Type() == protocol.TypeArray && p.class != classAny {
		return p.matchArray(v, m)
	}
	return p.matchOne(v, m)
}

// matchOne matches a value that is not an array.
func (p *pattern) matchOne(v protocol.Value, m mode) bool {
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
		return p.text.holdsValue(v, m)
	case classNumber:
		if t != protocol.TypeNumber {
			return false
		}
		n := parseDecimal(v.Raw())
		return n.equal(&p.number)
	case classWord:
		return string(v.Raw()) == p.word
	case classOneOf:
		for i := range p.alts {
			if p.alts[i].match(v, m) {
				return true
			}
		}
		return false
	}
	return p.matchFields(v, m)
}

// matchArray matches an array against any pattern but "**".
func (p *pattern) matchArray(v protocol.Value, m mode) bool {
	if p.class == classObject && p.matchFields(v, m) {
		return true
	}
	if m.deny() {
		return p.matchAnyElement(v, m)
	}
	switch p.class {
	case classOneOf:
		return p.matchEvery(v, m)
	case classText:
		if p.text.negate {
			return p.matchEvery(v, m)
		}
		return p.matchAnyElement(v, m)
	case classScalar:
		return p.matchAnyElement(v, m)
	}
	return false
}

// matchAnyElement looks for an element that matches; in a deny rule an empty
// array counts as an absent field.
func (p *pattern) matchAnyElement(v protocol.Value, m mode) bool {
	some := false
	for e := range v.Elements {
		if p.matchElement(e, m) {
			return true
		}
		some = true
	}
	return !some && m == modeDeny && p.absent && (p.class != classNone || p.scalars)
}

// matchEvery reports whether there are elements and all of them match.
func (p *pattern) matchEvery(v protocol.Value, m mode) bool {
	some := false
	for e := range v.Elements {
		if !p.matchElement(e, m) {
			return false
		}
		some = true
	}
	return some
}

// matchElement matches an element of an array. An allowing rule does not look
// for texts in an array inside an array.
func (p *pattern) matchElement(e protocol.Value, m mode) bool {
	if m.deny() || e.Type() != protocol.TypeArray {
		return p.match(e, m)
	}
	switch p.class {
	case classAny:
		return true
	case classObject:
		return p.matchFields(e, m)
	case classOneOf:
		for i := range p.alts {
			if p.alts[i].matchElement(e, m) {
				return true
			}
		}
	}
	return false
}

// matchFields reports whether every field finds its value in v.
func (p *pattern) matchFields(v protocol.Value, m mode) bool {
	if len(p.fields) == 0 {
		return v.Type() == protocol.TypeObject
	}
	for i := range p.fields {
		if !p.fields[i].match(v, m) {
			return false
		}
	}
	return true
}

// match reports whether some value that the key selects in v is matched.
func (f *field) match(v protocol.Value, m mode) bool {
	switch f.key.class {
	case keyName:
		return f.matchName(v, m)
	case keyGlob:
		for k, x := range v.Members {
			if f.key.selects(k, m) && f.value.match(x, m) {
				return true
			}
		}
	case keyIndex:
		return f.matchIndex(v, m)
	case keyChild:
		for _, x := range v.Members {
			if f.value.match(x, m) {
				return true
			}
		}
		for x := range v.Elements {
			if f.value.match(x, m) {
				return true
			}
		}
	case keyDeep:
		return f.value.matchBelow(v, m|modeDeep)
	}
	return false
}

func (f *field) matchName(v protocol.Value, m mode) bool {
	if !m.deny() {
		x := v.Get(f.key.name)
		return x.Exists() && f.value.match(x, m)
	}
	found := false
	for k, x := range v.Members {
		if !f.key.selects(k, m) {
			continue
		}
		if f.value.match(x, m) {
			return true
		}
		found = true
	}
	return !found && m == modeDeny && f.value.absent
}

func (f *field) matchIndex(v protocol.Value, m mode) bool {
	i := 0
	for x := range v.Elements {
		if i == f.key.index {
			return f.value.match(x, m)
		}
		i++
	}
	return m == modeDeny && f.value.absent
}

// matchBelow reports whether v or anything below it is matched. Containers are
// matched as themselves only by object patterns and "**"; for the others their
// contents are looked at one by one.
func (p *pattern) matchBelow(v protocol.Value, m mode) bool {
	if p.matchNode(v, m) {
		return true
	}
	for _, x := range v.Members {
		if p.matchBelow(x, m) {
			return true
		}
	}
	for x := range v.Elements {
		if p.matchBelow(x, m) {
			return true
		}
	}
	return false
}

func (p *pattern) matchNode(v protocol.Value, m mode) bool {
	container := v.Type() == protocol.TypeObject || v.Type() == protocol.TypeArray
	switch p.class {
	case classAny:
		return true
	case classObject:
		return p.matchFields(v, m)
	case classOneOf:
		for i := range p.alts {
			if p.alts[i].matchNode(v, m) {
				return true
			}
		}
		return false
	}
	return !container && p.matchOne(v, m)
}
