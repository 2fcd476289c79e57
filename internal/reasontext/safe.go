package reasontext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns what participants wrote without anything that a terminal obeys
// or that makes text look like other text: escape sequences, control
// characters, those that change the direction of writing or cannot be seen, and
// piles of marks that cover the lines around. Lines stay, tabs are four spaces,
// and what is no UTF-8 becomes U+FFFD. Text(Text(s)) is Text(s).
//
// A sequence that is not complete loses its escape character alone, so that
// nobody hides what others say behind one.
func Text(s string) string {
	if isSafe(s) {
		return s
	}
	w := safeWriter{marks: maxMarks}
	w.Grow(len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch {
		case r == escape || r == csi:
			i += sequence(s[i:], r)
		case r == '\r' && strings.HasPrefix(s[i:], "\n"):
		default:
			w.write(r)
		}
	}
	return w.String()
}

// Line is Text on one line, with one space wherever there was white space.
func Line(s string) string { return strings.Join(strings.Fields(Text(s)), " ") }

// Exact writes JSON, or a name, on one line with everything spelled as \u202e
// that Text leaves out or that looks like something else: what somebody decides
// on must not have parts that cannot be seen.
func Exact(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == ' ' || unicode.IsGraphic(r) && !unicode.In(r, unicode.Zs, unicode.Mn, unicode.Me) && !hidden(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String()
}

// Cut shortens a text to n characters, the last of which says so.
func Cut(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return string(runes[:max(n-1, 0)]) + "…"
}

const (
	escape = '\x1b'
	csi    = '\u009b' // ESC [ in one character
)

// maxMarks bounds the combining marks on one character; no script needs more.
const maxMarks = 4

// isSafe finds the usual case, in which nothing is to be done.
func isSafe(s string) bool {
	for _, r := range s {
		if r != '\n' && (!safeRune(r) || unicode.In(r, unicode.Mn, unicode.Me)) {
			return false
		}
	}
	return utf8.ValidString(s)
}

// safeWriter writes characters as Text shows them.
type safeWriter struct {
	strings.Builder
	marks int // on the last character; white space and the beginning of a line take none
}

func (w *safeWriter) write(r rune) {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me) && safeRune(r):
		if w.marks++; w.marks <= maxMarks {
			w.WriteRune(r)
		}
		return
	case r == '\n' || r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029':
		w.WriteByte('\n')
		w.marks = maxMarks
		return
	case r == '\t':
		w.WriteString("    ")
	case r == '\v' || r == '\f':
		w.WriteByte(' ')
	case safeRune(r):
		w.WriteRune(r)
	default:
		return // what is left out makes no room for marks
	}
	switch {
	case unicode.IsSpace(r):
		w.marks = maxMarks
	case r != '\u200c' && r != '\u200d':
		w.marks = 0
	}
}

// safeRune reports whether a character is shown and nothing else. Joiners and
// the selectors of variants are left: scripts and emoji are made with them.
func safeRune(r rune) bool {
	joins := r == '\u200c' || r == '\u200d' || r >= '\ufe00' && r <= '\ufe0f'
	return joins || !unicode.IsControl(r) && !hidden(r)
}

// hidden reports whether a character is not to be seen, or steers how others
// are shown.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r) || r == '\u2800'
}

// sequence returns how many bytes behind an escape character belong to it; 0
// when the sequence is not complete.
func sequence(s string, r rune) int {
	if r == csi {
		return parameters(s)
	}
	if s == "" {
		return 0
	}
	switch c := s[0]; {
	case c == '[':
		if n := parameters(s[1:]); n > 0 {
			return 1 + n
		}
		return 0
	case strings.IndexByte("]PX^_", c) >= 0: // commands with a text: OSC, DCS, SOS, PM, APC
		return command(s)
	case c >= 0x20 && c <= 0x2f: // intermediates, then a final character
		i := 1
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
			i++
		}
		if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
			return i + 1
		}
		return 0
	case c >= 0x30 && c <= 0x7e:
		return 1
	}
	return 0
}

// parameters measures what stands behind a CSI: parameters, intermediates, and
// a final character.
func parameters(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x3f:
			return 0
		}
	}
	return 0
}

// command measures a command with a text, which BEL or ESC \ ends. A text does
// not go on over a line.
func command(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\a':
			return i + 1
		case escape:
			if strings.HasPrefix(s[i:], "\x1b\\") {
				return i + 2
			}
			return 0
		case '\n', '\r':
			return 0
		}
	}
	return 0
}
