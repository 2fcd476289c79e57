package termsafe

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns what participants wrote without anything that a terminal obeys
// or that makes text look like other text: escape sequences, control
// characters, those that change the direction of writing or cannot be seen, and
// piles of marks that cover the lines around. Lines end with \n, tabs are four
// spaces, every space but the wide one of CJK text is an ordinary one, and what
// is no character becomes U+FFFD. Text(Text(s)) is Text(s).
//
// Joiners and the selectors of variants are kept where scripts and emoji are
// made with them, and nowhere else. A sequence that is not complete loses its
// escape character alone, so that nobody hides what others say behind one.
func Text(s string) string {
	if isPlain(s) {
		return s
	}
	w := writer{marks: MaxMarks}
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
	if !w.joiners {
		return w.String()
	}
	return joined(w.String())
}

// Line is Text on one line: line breaks become spaces.
func Line(s string) string { return strings.ReplaceAll(Text(s), "\n", " ") }

// Words is Line with one space wherever there was white space, and none at the
// ends.
func Words(s string) string { return strings.Join(strings.Fields(Text(s)), " ") }

// Cut shortens a text to n characters, the last of which says so. It does not
// cut within an emoji that is made of several characters, or between a letter
// and its marks, unless there is nothing else but one that is very long.
func Cut(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	end := max(n-1, 0)
	for at := end; at > max(end-maxCluster, 0); at-- {
		if !clings(runes[at]) && runes[at-1] != joiner {
			return string(runes[:at]) + "…"
		}
	}
	return strings.TrimRight(string(runes[:end]), string([]rune{nonJoiner, joiner})) + "…"
}

// maxCluster bounds how many characters are given up to cut between two.
const maxCluster = 16

// clings reports whether a character belongs to the one in front of it.
func clings(r rune) bool {
	return isJoiner(r) || isSelector(r) || isMark(r) || r >= 0x1f3fb && r <= 0x1f3ff // colours of skin
}

// MaxMarks bounds the combining marks on one character; no script needs more.
const MaxMarks = 4

// tab is what a tab becomes.
const tab = "    "

// isPlain finds the usual case, in which Text has nothing to do.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '\n' && (c < ' ' || c > '~') {
			return false
		}
	}
	return true
}

// writer writes characters as Text shows them, and all joiners, of which it
// takes note.
type writer struct {
	strings.Builder
	marks   int // on the last character; white space and the beginning of a line take none
	joiners bool
}

func (w *writer) write(r rune) {
	switch {
	case isJoiner(r) || isSelector(r):
		w.WriteRune(r)
		w.joiners = true
	case r == '\n' || r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029':
		w.WriteByte('\n')
		w.marks = MaxMarks
	case r == '\t':
		w.WriteString(tab)
		w.marks = MaxMarks
	case r == '\u3000':
		w.WriteRune(r)
		w.marks = MaxMarks
	case r == '\v', r == '\f', unicode.Is(unicode.Zs, r):
		w.WriteByte(' ')
		w.marks = MaxMarks
	case unicode.IsControl(r), hidden(r): // what is left out makes no room for marks
	case isMark(r):
		if w.marks++; w.marks <= MaxMarks {
			w.WriteRune(r)
		}
	default:
		w.WriteRune(shape(r))
		w.marks = 0
	}
}

// shape returns what stands for a character: itself, or U+FFFD where it has
// none. Emoji that are younger than our tables have one.
func shape(r rune) rune {
	if unicode.IsGraphic(r) || unicode.Is(unicode.Prepended_Concatenation_Mark, r) || r >= 0x1f000 && r <= 0x1faff {
		return r
	}
	return utf8.RuneError
}

func isMark(r rune) bool { return unicode.In(r, unicode.Mn, unicode.Me) }

// hidden reports whether a character is not to be seen, or steers how others
// are shown.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r) || r == '\u2800' || r >= 0x1d173 && r <= 0x1d17a || r >= 0xe0000 && r <= 0xe0fff
}
