package capability

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the patterns of one capability, since a granted one comes from a
// stranger. They keep the cost of a match within a small multiple of the payload's
// size.
const (
	maxTextBytes = 256 // of a glob or a regexp
	maxPatterns  = 256 // field patterns in it
	maxNesting   = 16  // of field patterns
	maxRegexps   = 8
	maxDeep      = 4 // "**" keys and ".." steps, none inside another

	maxPathSteps  = 16
	maxProgram    = 300      // instructions of a compiled regexp
	maxRegexpText = 64 << 10 // bytes of text that a regexp is run on
)

// PatternError is an error in a capability, with its place.
type PatternError struct {
	Pointer string // JSON pointer inside the capability; "" is all of it
	Err     error
}

// Error returns the pointer and the message.
func (e *PatternError) Error() string {
	if e.Pointer == "" {
		return "capability: " + e.Err.Error()
	}
	return "capability at " + e.Pointer + ": " + e.Err.Error()
}

// Unwrap returns the error without the place.
func (e *PatternError) Unwrap() error { return e.Err }

// patternParser compiles the patterns of one capability and counts them against the
// bounds. Its methods do nothing after an error.
type patternParser struct {
	Program int // instructions of the regexps

	patterns, regexps, deep int
	err                     *PatternError
}

// Err returns the first error, an *Error, or nil.
func (p *patternParser) Err() error {
	if p.err == nil {
		return nil
	}
	return p.err
}

// Fail records an error.
func (p *patternParser) Fail(pointer string, err error) {
	if p.err == nil {
		p.err = &PatternError{Pointer: pointer, Err: err}
	}
}

// Payload compiles the pattern of a payload.
func (p *patternParser) Payload(v protocol.Value) *Pattern {
	compiled := p.pattern("/payload", v, 1, false)
	return &compiled
}

// pattern compiles a field pattern; deep: it is below a "**".
func (p *patternParser) pattern(pointer string, v protocol.Value, depth int, deep bool) Pattern {
	out := Pattern{Source: string(v.Raw())}
	p.patterns++
	if p.patterns > maxPatterns {
		p.Fail(pointer, fmt.Errorf("a capability has at most %d field patterns", maxPatterns))
	}
	if depth > maxNesting {
		p.Fail(pointer, fmt.Errorf("field patterns are nested deeper than %d levels", maxNesting))
	}
	if p.err != nil {
		return out
	}
	switch v.Type() {
	case protocol.TypeString:
		p.text(&out, pointer, v.Text())
	case protocol.TypeNumber:
		out.class, out.number = classNumber, protocol.ParseDecimal([]byte(out.Source))
		if !out.number.Exact() {
			p.Fail(pointer, errors.New("the number's exponent is out of bounds"))
		}
	case protocol.TypeArray:
		out.class = classOneOf
		for x := range v.Elements {
			alt := p.pattern(pointer+"/"+strconv.Itoa(len(out.alts)), x, depth+1, deep)
			out.alts = append(out.alts, alt)
			out.absent = out.absent || alt.absent
		}
		if len(out.alts) == 0 {
			p.Fail(pointer, errors.New("one of nothing: the array is empty"))
		}
	case protocol.TypeObject:
		p.fields(&out, pointer, v, depth, deep)
	default:
		out.class, out.word = classWord, out.Source
	}
	return out
}

func (p *patternParser) text(out *Pattern, pointer, s string) {
	t, err := p.parseText(s)
	if err != nil {
		p.Fail(pointer, err)
		return
	}
	out.class, out.text, out.absent = classText, t, t.negate
	if t.class != textAny {
		return
	}
	out.scalars = strings.TrimPrefix(s, "!") == "*"
	switch {
	case t.negate:
		out.class = classNone
	case out.scalars:
		out.class = classScalar
	default:
		out.class = classAny
	}
}

func (p *patternParser) fields(out *Pattern, pointer string, v protocol.Value, depth int, deep bool) {
	out.class = classObject
	for name, x := range v.Members {
		at := pointer + "/" + protocol.EscapePointer(name.Text())
		if matcherName.MatchString(name.Text()) {
			if v.Len() > 1 {
				p.Fail(at, fmt.Errorf("%s must be the only key of its object", name.Text()))
			}
			p.matcher(out, at, name.Text(), x)
			return
		}
		keys, err := parseKey(name)
		if err != nil {
			p.Fail(at, err)
			return
		}
		out.fields = append(out.fields, p.field(at, keys, x, depth+1, deep))
	}
	out.absent = len(out.fields) > 0
	for i := range out.fields {
		out.absent = out.absent && out.fields[i].mayBeAbsent()
	}
}

// mayBeAbsent reports whether, in a deny rule, the field matches where there
// is nothing.
func (f *field) mayBeAbsent() bool {
	return f.value.absent && (f.key.class == keyName || f.key.class == keyIndex)
}

// field compiles the value of a key. The steps of a path become objects of one
// field inside one another.
func (p *patternParser) field(pointer string, keys []key, v protocol.Value, depth int, deep bool) field {
	f := field{key: keys[0]}
	if f.key.class == keyDeep {
		p.deep++
		if deep || p.deep > maxDeep {
			p.Fail(pointer, fmt.Errorf("a capability has at most %d ** keys or .. steps, none below another", maxDeep))
		}
		deep = true
	}
	if len(keys) == 1 {
		f.value = p.pattern(pointer, v, depth, deep)
		return f
	}
	inner := p.field(pointer, keys[1:], v, depth+1, deep)
	f.value = Pattern{
		class: classObject, fields: []field{inner}, absent: inner.mayBeAbsent(), Source: inner.value.Source, inner: true,
	}
	return f
}
