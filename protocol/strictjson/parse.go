package strictjson

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// parser builds the nodes of a Doc in one pass. Its methods return false once
// err is set.
type parser struct {
	src        []byte
	pos        int
	nodes      []node
	maxDepth   int
	duplicates bool     // keys may occur again
	open       []uint32 // containers that enclose pos, outermost first
	err        *SyntaxError
}

func (p *parser) fail(detail string) bool {
	if p.err == nil {
		p.err = &SyntaxError{Offset: p.pos, Path: p.path(), Detail: detail}
	}
	return false
}

func (p *parser) space() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// value parses one value and appends its node and its descendants.
func (p *parser) value(depth int) bool {
	if p.pos >= len(p.src) {
		return p.fail("the text ends where a value should begin")
	}
	switch c := p.src[p.pos]; {
	case c == '"':
		return p.string()
	case c == '{':
		return p.object(depth + 1)
	case c == '[':
		return p.array(depth + 1)
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case c == 't':
		return p.literal("true", TypeBool)
	case c == 'f':
		return p.literal("false", TypeBool)
	case c == 'n':
		return p.literal("null", TypeNull)
	}
	return p.fail("not the beginning of a JSON value")
}

func (p *parser) add(typ Type, start int, escaped bool) bool {
	p.nodes = append(p.nodes, node{
		start: uint32(start), end: uint32(p.pos),
		next: uint32(len(p.nodes) + 1), typ: typ, escaped: escaped,
	})
	return true
}

func (p *parser) literal(word string, typ Type) bool {
	if string(p.src[p.pos:min(len(p.src), p.pos+len(word))]) != word {
		return p.fail("not a JSON value")
	}
	start := p.pos
	p.pos += len(word)
	return p.add(typ, start, false)
}

func (p *parser) begin(typ Type, depth int) (uint32, bool) {
	if depth > p.maxDepth {
		return 0, p.fail("nested deeper than " + strconv.Itoa(p.maxDepth) + " levels")
	}
	at := uint32(len(p.nodes))
	p.add(typ, p.pos, false)
	p.open = append(p.open, at)
	p.pos++
	p.space()
	return at, true
}

func (p *parser) end(at uint32) bool {
	p.pos++
	p.nodes[at].end = uint32(p.pos)
	p.nodes[at].next = uint32(len(p.nodes))
	p.open = p.open[:len(p.open)-1]
	return true
}

func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

func (p *parser) object(depth int) bool {
	at, ok := p.begin(TypeObject, depth)
	if !ok {
		return false
	}
	if p.peek() == '}' {
		return p.end(at)
	}
	var seen keySet
	for {
		if p.peek() != '"' {
			return p.fail("a key must be a string")
		}
		key := uint32(len(p.nodes))
		if !p.string() {
			return false
		}
		if !p.duplicates && !seen.add(p, key) {
			return p.fail("duplicate key")
		}
		p.space()
		if p.peek() != ':' {
			return p.fail("a key must be followed by a colon")
		}
		p.pos++
		p.space()
		if !p.value(depth) {
			return false
		}
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
			p.space()
		case '}':
			return p.end(at)
		default:
			return p.fail("an object goes on with a comma or ends with a brace")
		}
	}
}

func (p *parser) array(depth int) bool {
	at, ok := p.begin(TypeArray, depth)
	if !ok {
		return false
	}
	if p.peek() == ']' {
		return p.end(at)
	}
	for {
		if !p.value(depth) {
			return false
		}
		p.space()
		switch p.peek() {
		case ',':
			p.pos++
			p.space()
		case ']':
			return p.end(at)
		default:
			return p.fail("expected a comma or the end of the array")
		}
	}
}

// string parses a string and adds its node.
func (p *parser) string() bool {
	start, escaped := p.pos, false
	p.pos++
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == '"':
			p.pos++
			return p.add(TypeString, start, escaped)
		case c == '\\':
			escaped = true
			if !p.escape() {
				return false
			}
		case c < 0x20:
			return p.fail("control character in a string")
		case c < utf8.RuneSelf:
			p.pos++
		default:
			r, n := utf8.DecodeRune(p.src[p.pos:])
			if r == utf8.RuneError && n <= 1 {
				return p.fail("invalid UTF-8")
			}
			p.pos += n
		}
	}
	return p.fail("the text ends inside a string")
}

func (p *parser) escape() bool {
	if p.pos+1 >= len(p.src) {
		return p.fail("the text ends inside a string")
	}
	switch p.src[p.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		p.pos += 2
		return true
	case 'u':
	default:
		return p.fail("unknown escape in a string")
	}
	r := hex4(p.src[p.pos+2:])
	if r < 0 {
		return p.fail("an escape \\u needs four hexadecimal digits")
	}
	if r < 0xD800 || r > 0xDFFF {
		p.pos += 6
		return true
	}
	rest := p.src[p.pos+6:]
	if r >= 0xDC00 || len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' {
		return p.fail("lone surrogate in a string")
	}
	if low := hex4(rest[2:]); low < 0xDC00 || low > 0xDFFF {
		return p.fail("lone surrogate in a string")
	}
	p.pos += 12
	return true
}

// number parses a number as specified in RFC 8259.
func (p *parser) number() bool {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	if p.peek() == '0' {
		p.pos++
	} else if !p.digits() {
		return p.fail("a number needs digits and no leading zero")
	}
	if p.peek() == '.' {
		p.pos++
		if !p.digits() {
			return p.fail("a number needs digits behind the point")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.pos++
		if c := p.peek(); c == '+' || c == '-' {
			p.pos++
		}
		if !p.digits() {
			return p.fail("a number needs digits in its exponent")
		}
	}
	return p.add(TypeNumber, start, false)
}

func (p *parser) digits() bool {
	start := p.pos
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.pos++
	}
	return p.pos > start
}

// path returns the JSON pointer of the current position: a segment for each open container.
// Between two members of an object there is none.
func (p *parser) path() string {
	if len(p.nodes) == 0 {
		return ""
	}
	var b strings.Builder
	d := &Doc{src: p.src, nodes: p.nodes}
	for i, at := range p.open {
		inner := uint32(len(p.nodes)) // the member or element that goes on; it may not exist yet
		if i+1 < len(p.open) {
			inner = p.open[i+1]
		}
		count, last := 0, at+1 // of the nodes before inner
		for i := at + 1; i < inner; i = d.nodes[i].next {
			last = i
			count++
		}
		switch {
		case d.nodes[at].typ == TypeArray:
			b.WriteString("/" + strconv.Itoa(count))
		case count%2 == 1: // a key without its value
			b.WriteString("/" + pointerEscaper.Replace(Value{d, last}.Text()))
		}
	}
	return b.String()
}

var (
	pointerEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// EscapePointer encodes a key as a segment of a JSON pointer (RFC 6901).
func EscapePointer(key string) string { return pointerEscaper.Replace(key) }

// UnescapePointer returns the key that a segment of a JSON pointer encodes.
func UnescapePointer(segment string) string { return pointerUnescaper.Replace(segment) }

// keySet detects a duplicate key of an object. Most objects are small: the
// first few keys are compared one by one, more are stored in a map.
type keySet struct {
	few  [8]uint32
	n    int
	many map[string]struct{}
}

func (s *keySet) add(p *parser, key uint32) bool {
	d := &Doc{src: p.src, nodes: p.nodes}
	k := Value{d, key}
	if s.many != nil {
		return s.addMany(k.Text())
	}
	for _, i := range s.few[:s.n] {
		if sameText(Value{d, i}, k) {
			return false
		}
	}
	if s.n < len(s.few) {
		s.few[s.n] = key
		s.n++
		return true
	}
	s.many = make(map[string]struct{}, 32)
	for _, i := range s.few {
		s.many[Value{d, i}.Text()] = struct{}{}
	}
	return s.addMany(k.Text())
}

func (s *keySet) addMany(key string) bool {
	n := len(s.many)
	s.many[key] = struct{}{}
	return len(s.many) > n
}

func sameText(a, b Value) bool {
	x, ok := a.Plain()
	y, ok2 := b.Plain()
	if ok && ok2 {
		return string(x) == string(y)
	}
	return a.Text() == b.Text()
}
