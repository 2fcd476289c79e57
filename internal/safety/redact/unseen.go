package redact

import (
	"bytes"
	"unicode/utf8"
)

// suspects are the first bytes of invisible characters.
var suspects = func() (s [256]bool) {
	for c := range 0x20 {
		s[c] = c != '\t' && c != '\n' && c != '\r'
	}
	for _, c := range []byte{0x7f, 0xc2, 0xcd, 0xd8, 0xe1, 0xe2, 0xe3, 0xef, 0xf3} {
		s[c] = true
	}
	return s
}()

// readings visits the readings of a text, but for those of joined lines, and
// returns the last one. partial: the text may go on.
func (s *Set) readings(text []byte, partial bool, visit func([]byte, *reading)) (last []byte, r *reading) {
	visit(text, nil)
	last = text
	has := traitsOf(text)
	if s.encoded && has&mayEncode != 0 {
		r = decoded(text)
		if r != nil {
			last, has = r.text, traitsOf(r.text)
			visit(last, r)
		}
	}
	if has&mayHide == 0 {
		return last, r
	}
	steers := bytes.IndexByte(last, esc) >= 0 || // an ESC or a C1 control
		bytes.IndexByte(last, 0xc2) >= 0 && bytes.ContainsFunc(last, func(c rune) bool { return between(c, 0x80, 0x9f) })
	if !steers && !splitsWord(last, partial) {
		return last, r
	}
	if steers {
		plain := stripped(r, last, false)
		visit(plain.text, plain)
	}
	r = stripped(r, last, true)
	visit(r.text, r)
	return r.text, r
}

// splitsWord reports whether invisible characters are between two ASCII characters,
// as secrets and instructions use. Invisible characters that join emoji or letters
// of other scripts are legitimate. In a partial text, all of them count.
func splitsWord(text []byte, partial bool) bool {
	for i := 0; i < len(text); i++ {
		if !suspects[text[i]] {
			continue
		}
		n := unseenAt(text[i:], false)
		if n == 0 {
			continue
		}
		if partial || i > 0 && text[i-1] < utf8.RuneSelf && i+n < len(text) && text[i+n] < utf8.RuneSelf {
			return true
		}
		i += n - 1
	}
	return false
}

// Visible returns a text without invisible characters and without
// sequences for a terminal.
func Visible(text []byte) []byte {
	for i := range text {
		if suspects[text[i]] {
			return stripped(nil, text, true).text
		}
	}
	return text
}

// stripped returns a reading without invisible characters, and with sequences
// without whole sequences for a terminal. A terminal hides the sequence, other
// readers only its control character, so a text with one has both readings.
func stripped(of *reading, text []byte, sequences bool) *reading {
	r := &reading{text: make([]byte, 0, len(text)), of: of}
	r.copied(0)
	last := 0
	for i := 0; i < len(text); {
		if suspects[text[i]] {
			if n := unseenAt(text[i:], sequences); n > 0 {
				r.text = append(r.text, text[last:i]...)
				i += n
				last = i
				r.copied(i)
				continue
			}
		}
		i++
	}
	r.text = append(r.text, text[last:]...)
	return r
}

// unseenAt returns the length of the unseen characters, or sequences, that a text
// begins with.
func unseenAt(text []byte, sequences bool) int {
	n := 0
	for n < len(text) && suspects[text[n]] {
		size := 0
		if sequences {
			size = escapeAt(text[n:])
		}
		if size == 0 {
			r, width := utf8.DecodeRune(text[n:])
			if !isUnseen(r) {
				break
			}
			size = width
		}
		n += size
	}
	return n
}

// isUnseen reports whether a character has no width and no meaning of its own.
func isUnseen(r rune) bool {
	switch {
	case r < 0x20, r == 0x7f:
		return r != '\t' && r != '\n' && r != '\r'
	case between(r, 0x80, 0x9f):
		return r != 0x85
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xfeff, r == 0xffa0:
		return true
	}
	return between(r, 0x180b, 0x180f) || between(r, 0x200b, 0x200f) || between(r, 0x202a, 0x202e) || between(r, 0x2060, 0x206f) ||
		between(r, 0xfe00, 0xfe0f) || between(r, 0xfff9, 0xfffb) || between(r, 0xe0000, 0xe0fff)
}

func between(r, first, last rune) bool { return r >= first && r <= last }
