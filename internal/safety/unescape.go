package safety

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/meup-protocol/meup/protocol"
)

// appendText appends the decoded text of a string, like protocol.Value.Text,
// into a buffer that is used again and again.
func appendText(dst []byte, v protocol.Value) []byte {
	raw := v.Raw()
	raw = raw[1 : len(raw)-1]
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		dst, raw = appendEscape(dst, raw[i:])
	}
}

// appendEscape decodes the escape that raw begins with and returns what is
// behind it. The parser has seen to it that the escape is well-formed.
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

func hex4(digits []byte) rune {
	var r rune
	for _, c := range digits[:4] {
		switch {
		case c >= 'a':
			c -= 'a' - 10
		case c >= 'A':
			c -= 'A' - 10
		default:
			c -= '0'
		}
		r = r<<4 | rune(c)
	}
	return r
}
