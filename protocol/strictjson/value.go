// Package strictjson parses JSON that all parsers read alike, turns JSON of other
// programs into such JSON, keeps the text of each value, and compares values.
package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Type is the type of a JSON value.
type Type uint8

// The JSON types; the zero Type is the type of an absent value.
const (
	TypeNone Type = iota
	TypeNull
	TypeBool
	TypeNumber
	TypeString
	TypeObject
	TypeArray
)

// String returns the type's name in JSON Schema.
func (t Type) String() string {
	return [...]string{"nothing", "null", "boolean", "number", "string", "object", "array"}[t]
}

// Doc is one parsed JSON text: its bytes and an index of them. All code that
// reads an envelope uses the same Doc, so that the checked and the forwarded
// content cannot differ.
type Doc struct {
	src   []byte
	nodes []node
}

// node is one value of a Doc. The members of an object follow it as key, value,
// key, value; the elements of an array follow it in order.
type node struct {
	start, end uint32 // of the value's text in src
	next       uint32 // index of the node after this one and its descendants
	typ        Type
	escaped    bool // a string with at least one backslash
}

const nodeBytes = 16 // size of a node

// SyntaxError describes why a text is not JSON, or not JSON that all parsers
// read alike.
type SyntaxError struct {
	Offset int    // in bytes
	Path   string // JSON pointer of the value that could not be read
	Detail string
}

// Error returns the detail with its position.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at byte %d", e.Detail, e.Offset)
}

// Parse parses exactly one JSON value. It rejects input on which parsers
// disagree: duplicate keys, invalid UTF-8, lone surrogates, trailing data, and
// nesting deeper than maxDepth, where the outermost array or object is the first
// level. The Doc keeps src, which must not change afterwards. The error is a
// *SyntaxError.
func Parse(src []byte, maxDepth int) (*Doc, error) {
	d := new(Doc)
	if err := d.Parse(src, maxDepth); err != nil {
		return nil, err
	}
	return d, nil
}

// Parse is the function Parse into an existing Doc.
func (d *Doc) Parse(src []byte, maxDepth int) error { return d.parse(src, maxDepth, false) }

func (d *Doc) parse(src []byte, maxDepth int, duplicates bool) error {
	if uint64(len(src)) >= 1<<31 {
		return &SyntaxError{Detail: "text too long"}
	}
	p := parser{src: src, maxDepth: maxDepth, duplicates: duplicates, nodes: make([]node, 0, nodesOf(src))}
	p.space()
	if p.value(0) {
		p.space()
		if p.pos < len(src) {
			p.fail("data behind the end of the value")
		}
	}
	if p.err != nil {
		return p.err
	}
	d.src, d.nodes = src, p.nodes
	return nil
}

// nodesOf returns the initial capacity for nodes. For a short text it
// estimates; for a long one it counts the characters that precede values,
// because growing the slice stepwise would need several times the memory.
func nodesOf(src []byte) int {
	const long = 4 << 10
	if len(src) < long {
		return 8 + len(src)/24
	}
	n := 1
	for _, c := range []byte(",:[{") {
		n += bytes.Count(src, []byte{c})
	}
	return n
}

// Root returns the outermost value.
func (d *Doc) Root() Value { return Value{d, 0} }

// Value is one value inside a Doc. The zero Value is absent: its Type is
// TypeNone and its content is empty.
type Value struct {
	doc *Doc
	idx uint32
}

func (v Value) node() *node { return &v.doc.nodes[v.idx] }

// Exists reports whether v is not absent.
func (v Value) Exists() bool { return v.doc != nil }

// Type returns the value's type, TypeNone if it is absent.
func (v Value) Type() Type {
	if v.doc == nil {
		return TypeNone
	}
	return v.node().typ
}

// Raw returns the value's text as it was sent. The bytes are shared and must
// not be modified.
func (v Value) Raw() []byte {
	if v.doc == nil {
		return nil
	}
	n := v.node()
	return v.doc.src[n.start:n.end:n.end]
}

// Footprint returns the memory of the index that v belongs to, in bytes, without
// the text itself; 0 if v is absent.
func (v Value) Footprint() int {
	if v.doc == nil {
		return 0
	}
	return cap(v.doc.nodes) * nodeBytes
}

// Offset returns the start of Raw in the parsed text.
func (v Value) Offset() int {
	if v.doc == nil {
		return 0
	}
	return int(v.node().start)
}

// Text returns the decoded text of a string and "" for any other type.
func (v Value) Text() string {
	if v.Type() != TypeString {
		return ""
	}
	if text, plain := v.Plain(); plain {
		return string(text)
	}
	return string(v.AppendText(nil))
}

// AppendText appends the decoded text of a string to dst; for any other type it
// appends nothing.
func (v Value) AppendText(dst []byte) []byte {
	if v.Type() != TypeString {
		return dst
	}
	n := v.node()
	raw := v.doc.src[n.start+1 : n.end-1]
	if !n.escaped {
		return append(dst, raw...)
	}
	dst = slices.Grow(dst, len(raw))
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst, raw = appendEscape(append(dst, raw[:i]...), raw[i:])
	}
}

// Plain returns the text of a string without copying it, if it was written
// without escapes. The bytes are shared and must not be modified.
func (v Value) Plain() (text []byte, ok bool) {
	if v.Type() != TypeString || v.node().escaped {
		return nil, false
	}
	n := v.node()
	return v.doc.src[n.start+1 : n.end-1], true
}

// EqualText reports whether v is a string whose decoded text is s.
func (v Value) EqualText(s string) bool {
	if b, ok := v.Plain(); ok {
		return string(b) == s
	}
	return v.Type() == TypeString && v.Text() == s
}

// Bool returns the value of a boolean; false for any other type.
func (v Value) Bool() bool { return v.Type() == TypeBool && v.Raw()[0] == 't' }

// Int returns the value of a number that is written as an integer and fits.
func (v Value) Int() (int64, bool) {
	if v.Type() != TypeNumber {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v.Raw()), 10, 64)
	return n, err == nil
}

// Float returns the nearest float64 of a number.
func (v Value) Float() (float64, bool) {
	if v.Type() != TypeNumber {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v.Raw()), 64)
	return f, err == nil
}

// Get returns the member of an object with this key, or the absent Value.
func (v Value) Get(key string) Value {
	for k, m := range v.Members {
		if k.EqualText(key) {
			return m
		}
	}
	return Value{}
}

// Members yields the members of an object in the order they were sent; the
// key is a string value.
func (v Value) Members(yield func(key, value Value) bool) {
	if v.Type() != TypeObject {
		return
	}
	end := v.node().next
	for i := v.idx + 1; i < end; i = v.doc.nodes[i+1].next {
		if !yield(Value{v.doc, i}, Value{v.doc, i + 1}) {
			return
		}
	}
}

// Elements yields the elements of an array.
func (v Value) Elements(yield func(value Value) bool) {
	if v.Type() != TypeArray {
		return
	}
	end := v.node().next
	for i := v.idx + 1; i < end; i = v.doc.nodes[i].next {
		if !yield(Value{v.doc, i}) {
			return
		}
	}
}

// Len returns the number of members or elements.
func (v Value) Len() int {
	n := 0
	for range v.Members {
		n++
	}
	for range v.Elements {
		n++
	}
	return n
}

// Any returns the value as map[string]any, []any, string, json.Number, bool or
// nil, for libraries.
func (v Value) Any() any {
	switch v.Type() {
	case TypeObject:
		m := make(map[string]any)
		for k, x := range v.Members {
			m[k.Text()] = x.Any()
		}
		return m
	case TypeArray:
		a := []any{}
		for x := range v.Elements {
			a = append(a, x.Any())
		}
		return a
	case TypeString:
		return v.Text()
	case TypeNumber:
		return json.Number(v.Raw())
	case TypeBool:
		return v.Bool()
	}
	return nil
}

// appendEscape decodes the escape at the start of raw and returns the rest.
func appendEscape(dst, raw []byte) (text, rest []byte) {
	c := raw[1]
	switch c {
	case 'u':
		r := hex4(raw[2:])
		raw = raw[6:]
		if utf16.IsSurrogate(r) {
			r = utf16.DecodeRune(r, hex4(raw[2:]))
			raw = raw[6:]
		}
		return utf8.AppendRune(dst, r), raw
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	}
	return append(dst, c), raw[2:]
}

// hex4 parses four hexadecimal digits; -1 if b does not start with four.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// AppendString appends s as a JSON string. It escapes only the characters that
// JSON requires to be escaped; invalid UTF-8 becomes the replacement character.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		i++
	}
	return append(dst, '"')
}
