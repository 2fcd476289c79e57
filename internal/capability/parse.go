package capability

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// Bounds of one capability, since a granted one comes from a stranger. They
// keep the cost of a match within a small multiple of the payload's size.
const (
	MaxBytes     = 4096 // of its JSON text
	MaxTextBytes = 256  // of a glob or a regexp
	MaxPatterns  = 256  // field patterns in it
	MaxNesting   = 16   // of field patterns
	MaxRegexps   = 8
	MaxDeep      = 4 // "**" keys and ".." steps, none inside another

	maxPathSteps  = 16
	maxProgram    = 300      // instructions of a compiled regexp
	maxRegexpText = 64 << 10 // bytes of text that a regexp is run on

	baseWork     = 128 << 10 // steps of a decision
	workPerByte  = 8         // and more of them for each byte of the payload
	maxCheckWork = 256 << 10 // steps of checking a grant or revocation
	maxViewWork  = 1 << 20   // steps of listing a participant's capabilities
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

// Parse compiles a capability: a string, or an object as the package describes
// it. It does not retain v. The error is a *PatternError.
func Parse(v protocol.Value) (*Capability, error) {
	if len(v.Raw()) > MaxBytes {
		return nil, &PatternError{Err: fmt.Errorf("it has more than %d bytes", MaxBytes)}
	}
	p := parser{}
	c := &Capability{source: append([]byte(nil), v.Raw()...)}
	switch v.Type() {
	case protocol.TypeString:
		p.kind(c, "", v)
		c.plain = true
		c.slash = c.slashed(v, v)
	case protocol.TypeObject:
		p.object(c, v)
	default:
		p.fail("", fmt.Errorf("it must be a string or an object, not %s", v.Type()))
	}
	if p.err != nil {
		return nil, p.err
	}
	c.program = p.budget.program
	return c, nil
}

// ParseJSON is Parse for a JSON text. The error is a *PatternError or a
// *protocol.SyntaxError.
func ParseJSON(text []byte) (*Capability, error) {
	if len(text) > MaxBytes {
		return nil, &PatternError{Err: fmt.Errorf("it has more than %d bytes", MaxBytes)}
	}
	doc, err := protocol.ParseJSON(text, protocol.MaxDepth)
	if err != nil {
		return nil, fmt.Errorf("capability: %w", err)
	}
	return Parse(doc.Root())
}

// parser compiles one capability; its methods do nothing once err is set.
type parser struct {
	budget budget
	err    *PatternError
}

// budget counts the parts of a capability against its bounds.
type budget struct {
	patterns, regexps, deep int
	program                 int // instructions of the regexps
}

func (p *parser) fail(pointer string, err error) {
	if p.err == nil {
		p.err = &PatternError{Pointer: pointer, Err: err}
	}
}

func (p *parser) object(c *Capability, v protocol.Value) {
	kind := v.Get("kind")
	if !kind.Exists() {
		p.fail("", errors.New("a kind is missing"))
		return
	}
	p.kind(c, "/kind", kind)
	for name, x := range v.Members {
		switch key := name.Text(); key {
		case "kind":
		case "payload":
			c.payload = p.payload(x)
		case "to":
			c.to = p.target("/to", x)
		case "context":
			c.context = p.target("/context", x)
		case "deny":
			if x.Type() != protocol.TypeBool {
				p.fail("/deny", fmt.Errorf("it must be true or false, not %s", x.Type()))
			}
			c.deny = x.Bool()
		default:
			p.fail("/"+protocol.EscapePointer(key), errors.New("unknown key; a capability has kind, payload, to, context and deny"))
		}
	}
	if p.err == nil {
		c.plain = c.payload == nil && c.to == nil && c.context == nil && !c.deny
		c.slash = c.slashed(v, kind)
	}
}

func (p *parser) kind(c *Capability, pointer string, v protocol.Value) {
	if v.Type() != protocol.TypeString {
		p.fail(pointer, fmt.Errorf("a kind pattern is a string, not %s", v.Type()))
		return
	}
	s := v.Text()
	if source, ok := regexpSource(strings.TrimPrefix(s, "!")); ok {
		_, size, err := p.budget.compileRegexp(source)
		if err != nil {
			p.fail(pointer, err)
			return
		}
		c.kindWeight = 1 + size/2 // it is tried on both spellings
	}
	k, err := protocol.ParseKindPattern(s)
	if err != nil {
		p.fail(pointer, err)
	}
	c.kind = k
}

func (p *parser) payload(v protocol.Value) *pattern {
	compiled := p.pattern("/payload", v, 1, false)
	if p.err != nil {
		return nil
	}
	return &compiled
}

// pattern compiles a field pattern; deep: it is below a "**".
func (p *parser) pattern(pointer string, v protocol.Value, depth int, deep bool) pattern {
	out := pattern{source: string(v.Raw())}
	if p.budget.patterns++; p.budget.patterns > MaxPatterns {
		p.fail(pointer, fmt.Errorf("a capability has at most %d field patterns", MaxPatterns))
	}
	if depth > MaxNesting {
		p.fail(pointer, fmt.Errorf("field patterns are nested deeper than %d levels", MaxNesting))
	}
	if p.err != nil {
		return out
	}
	switch v.Type() {
	case protocol.TypeString:
		p.text(&out, pointer, v.Text())
	case protocol.TypeNumber:
		out.class, out.number = classNumber, protocol.ParseDecimal([]byte(out.source))
		if !out.number.Exact() {
			p.fail(pointer, errors.New("the number's exponent is out of bounds"))
		}
	case protocol.TypeArray:
		p.oneOf(&out, pointer, v, depth, deep)
	case protocol.TypeObject:
		p.fields(&out, pointer, v, depth, deep)
	default:
		out.class, out.word = classWord, out.source
	}
	return out
}

func (p *parser) text(out *pattern, pointer, s string) {
	t, err := p.budget.parseText(s)
	if err != nil {
		p.fail(pointer, err)
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

func (p *parser) oneOf(out *pattern, pointer string, v protocol.Value, depth int, deep bool) {
	out.class = classOneOf
	for x := range v.Elements {
		alt := p.pattern(pointer+"/"+strconv.Itoa(len(out.alts)), x, depth+1, deep)
		out.alts = append(out.alts, alt)
		out.absent = out.absent || alt.absent
	}
	if len(out.alts) == 0 {
		p.fail(pointer, errors.New("one of nothing: the array is empty"))
	}
}

func (p *parser) fields(out *pattern, pointer string, v protocol.Value, depth int, deep bool) {
	out.class = classObject
	for name, x := range v.Members {
		at := pointer + "/" + protocol.EscapePointer(name.Text())
		keys, err := parseKey(name)
		if err != nil {
			p.fail(at, err)
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
func (p *parser) field(pointer string, keys []key, v protocol.Value, depth int, deep bool) field {
	f := field{key: keys[0]}
	if f.key.class == keyDeep {
		if p.budget.deep++; deep || p.budget.deep > MaxDeep {
			p.fail(pointer, fmt.Errorf("a capability has at most %d ** keys or .. steps, none below another", MaxDeep))
		}
		deep = true
	}
	if len(keys) == 1 {
		f.value = p.pattern(pointer, v, depth, deep)
		return f
	}
	inner := p.field(pointer, keys[1:], v, depth+1, deep)
	f.value = pattern{
		class: classObject, fields: []field{inner}, absent: inner.mayBeAbsent(), source: inner.value.source, inner: true,
	}
	return f
}
