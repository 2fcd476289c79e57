package redact

import (
	"bytes"
	"encoding/binary"
	"html"
	"sort"
	"unicode/utf16"
	"unicode/utf8"
)

// reading is a text as a reader or a program takes it, and where each of its
// bytes is in the text that it was made of.
type reading struct {
	text   []byte
	pieces []piece
	of     *reading // nil: of the text itself
}

// piece is the origin of a part of a reading: copied bytes, or (size > 0) bytes that
// replace size bytes of the source.
type piece struct{ at, source, size int }

// copied records that the following bytes are copied from the source.
func (r *reading) copied(source int) {
	r.pieces = append(r.pieces, piece{at: len(r.text), source: source})
}

// add appends bytes that replace a part of the source.
func (r *reading) add(source, size int, text ...byte) {
	if n := len(r.pieces); n > 0 && r.pieces[n-1].at == len(r.text) {
		r.pieces = r.pieces[:n-1] // nothing was copied
	}
	r.pieces = append(r.pieces, piece{len(r.text), source, size})
	r.text = append(r.text, text...)
	r.copied(source + size)
}

// span returns where a part of the reading is in the text. It may be called on
// a nil reading, which is the text.
func (r *reading) span(start, end int) (from, to int) {
	if r == nil {
		return start, end
	}
	first, last := r.pieceAt(start), r.pieceAt(end-1)
	from, to = first.source, last.source+last.size
	if first.size == 0 {
		from += start - first.at
	}
	if last.size == 0 {
		to += end - last.at
	}
	return r.of.span(from, to)
}

func (r *reading) pieceAt(at int) piece {
	n := sort.Search(len(r.pieces), func(i int) bool { return r.pieces[i].at > at })
	if n == 0 {
		return piece{}
	}
	return r.pieces[n-1]
}

// encodes are the bytes that an encoded character begins with.
var encodes = byteSet("\\%&\xef")

// Traits of bytes: the constructs that a byte can begin.
const (
	mayEncode = 1 << iota // an encoded character
	mayHide               // an invisible character
)

var traits = func() (t [256]uint8) {
	for c := range t {
		if encodes[c] {
			t[c] |= mayEncode
		}
		if suspects[c] {
			t[c] |= mayHide
		}
	}
	return t
}()

// traitsOf looks at eight bytes at a time: in most of them there is nothing.
func traitsOf(text []byte) (t uint8) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	has := func(word uint64, c byte) uint64 { // a bit of each byte that is c, and rarely of others
		word ^= ones * uint64(c)
		return (word - ones) &^ word
	}
	for len(text) >= 8 {
		word := binary.LittleEndian.Uint64(text)
		if (word|(word-ones*' ')|has(word, '\\')|has(word, '%')|has(word, '&')|has(word, 0x7f))&highs != 0 {
			for _, c := range text[:8] {
				t |= traits[c]
			}
		}
		text = text[8:]
	}
	for _, c := range text {
		t |= traits[c]
	}
	return t
}

func byteSet(s string) (set [256]bool) {
	for i := range len(s) {
		set[s[i]] = true
	}
	return set
}

// decoded returns a text with each encoded character in place of its code, one
// layer of it: escapes of JSON and of string literals, percent encoding, HTML
// entities, fullwidth forms. It is nil if there are none; a text with nothing
// but escaped backslashes has none.
func decoded(text []byte) *reading {
	var r *reading
	last := 0
	for i := 0; i < len(text); {
		if !encodes[text[i]] {
			i++
			continue
		}
		c, size := decodeOne(text[i:])
		if size == 0 {
			i++
			continue
		}
		if r == nil {
			if c == '\\' && text[i] == '\\' {
				i += size
				continue
			}
			r = &reading{text: make([]byte, 0, len(text))}
		}
		r.text = append(r.text, text[last:i]...)
		var buffer [utf8.UTFMax]byte
		char := buffer[:1]
		buffer[0] = byte(c)
		if c >= utf8.RuneSelf && text[i] != '%' {
			char = utf8.AppendRune(buffer[:0], c)
		}
		r.add(i, size, char...)
		i += size
		last = i
	}
	if r != nil {
		r.text = append(r.text, text[last:]...)
	}
	return r
}

// decodeOne returns the character that a text begins with the code of, and the
// length of the code; 0: it begins with none. Of percent encoding it is a byte.
func decodeOne(text []byte) (c rune, size int) {
	switch text[0] {
	case '\\':
		return unescape(text)
	case '%':
		if n, ok := hexNumber(text, 1, 3); ok {
			return n, 3
		}
	case '&': // an HTML entity of one character
		n := bytes.IndexByte(text[:min(len(text), maxEntity)], ';') + 1
		plain := html.UnescapeString(string(text[:n]))
		c, size = utf8.DecodeRuneInString(plain)
		if size == len(plain) {
			return c, n
		}
	default:
		if len(text) > 2 && (text[1] == 0xbc && text[2] > 0x80 || text[1] == 0xbd && text[2] < 0x9f) {
			r, n := utf8.DecodeRune(text)
			return r - 0xff01 + '!', n
		}
	}
	return 0, 0
}

// unescape reads \uXXXX, \xXX, \/ and \\.
func unescape(text []byte) (c rune, size int) {
	if len(text) < 2 {
		return 0, 0
	}
	switch text[1] {
	case '/', '\\':
		return rune(text[1]), 2
	case 'x':
		if c, ok := hexNumber(text, 2, 4); ok && c < utf8.RuneSelf {
			return c, 4
		}
	case 'u':
		c, ok := hexNumber(text, 2, 6)
		switch {
		case !ok:
		case !utf16.IsSurrogate(c):
			return c, 6
		case len(text) >= 12 && text[6] == '\\' && text[7] == 'u':
			second, _ := hexNumber(text, 8, 12)
			if pair := utf16.DecodeRune(c, second); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return 0, 0
}

// hexNumber reads text[from:to].
func hexNumber(text []byte, from, to int) (rune, bool) {
	if len(text) < to {
		return 0, false
	}
	n := rune(0)
	for _, c := range text[from:to] {
		v := nibbles[c]
		if v == none {
			return 0, false
		}
		n = n<<4 | rune(v)
	}
	return n, true
}

// maxEntity bounds an entity, in bytes.
const maxEntity = 12
