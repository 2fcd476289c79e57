package tui

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks bounds the combining marks on one character: no script needs more,
// and piles of them cover the lines around.
const maxMarks = 4

// tabWidth is what a tab becomes, in spaces.
const tabWidth = 4

// Text returns what a stranger wrote as it may stand on a terminal: lines that
// end with \n, of visible characters, spaces and a few combining marks. What
// steers a terminal (escape sequences, control characters), what turns the
// order of writing, and what cannot be seen is left out; what is no character
// becomes U+FFFD. Text(Text(s)) is Text(s).
func Text(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	marks := maxMarks // none at the beginning of a line: it would sit on ours
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if n := sequence(s); n > 0 {
			s = s[n:]
			continue
		}
		rest := s[size:]
		switch {
		case r == '\r' && strings.HasPrefix(rest, "\n"):
		case r == '\n', r == '\r', r == '\u2028', r == '\u2029':
			b.WriteByte('\n')
			marks = maxMarks
		case r == '\t':
			b.WriteString(strings.Repeat(" ", tabWidth))
			marks = maxMarks
		case unicode.In(r, unicode.Mn, unicode.Me):
			if marks < maxMarks && !invisible(r) {
				b.WriteRune(r)
				marks++
			}
		default:
			if v := visible(r); v != 0 {
				b.WriteRune(v)
				marks = 0
				if v == ' ' {
					marks = maxMarks
				}
			}
		}
		s = rest
	}
	return b.String()
}

// Line is Text on one line: line breaks become spaces.
func Line(s string) string { return strings.ReplaceAll(Text(s), "\n", " ") }

// isPlain reports whether Text has nothing to do.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '\n' && (c < ' ' || c > '~') {
			return false
		}
	}
	return true
}

// sequence returns the length of the control sequence (CSI) that s begins with;
// 0: none. Other sequences lose the character that makes them one, so that what
// they say can be read.
func sequence(s string) int {
	var n int
	switch {
	case strings.HasPrefix(s, "\x1b["):
		n = 2
	case strings.HasPrefix(s, "\u009b"):
		n = len("\u009b")
	default:
		return 0
	}
	for n < len(s) && s[n] >= 0x20 && s[n] <= 0x3f {
		n++
	}
	if n < len(s) && s[n] >= 0x40 && s[n] <= 0x7e {
		n++
	}
	return n
}

// visible returns what stands for a character that is no mark; 0: nothing.
func visible(r rune) rune {
	switch {
	case r == '\u3000': // two cells wide: it keeps columns of CJK text
		return r
	case unicode.Is(unicode.Zs, r):
		return ' '
	case unicode.Is(unicode.Cc, r), invisible(r):
		return 0
	case unicode.IsGraphic(r):
		return r
	}
	return utf8.RuneError
}

// invisible reports whether a character has no shape of its own, or steers
// those around it.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		r == '\u2800' || r >= 0x1d173 && r <= 0x1d17a || r >= 0xe0000 && r <= 0xe0fff
}

// exact is Line for what a person decides on: what Text would leave out or
// change is spelled out, so that two texts that differ look different.
func exact(s string) string {
	if isPlain(s) && !strings.Contains(s, "\n") {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == ' ', unicode.IsGraphic(r) && !unicode.Is(unicode.Zs, r) && !unicode.In(r, unicode.Mn, unicode.Me) && !invisible(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
