// Package termsafe makes untrusted text safe for a terminal: [Text], [Line] and
// [Words] remove characters that control a terminal or are invisible, [Exact]
// escapes them.
package termsafe

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text removes everything from a text that controls a terminal or imitates
// other text: escape sequences, control characters, characters that change the
// direction of writing or are invisible, and stacks of marks that cover the
// lines around. Lines end with \n, a tab becomes four spaces, every space
// except the wide one of CJK text becomes an ordinary space, and an invalid
// character becomes U+FFFD. Text(Text(s)) is Text(s).
//
// Joiners and variation selectors are kept only where scripts and emoji need
// them. Of an incomplete sequence only the escape character is removed, so that
// a sequence cannot hide the text of others that follows it.
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

// Words is Line with runs of white space reduced to one space, and none at the
// ends.
func Words(s string) string { return strings.Join(strings.Fields(Text(s)), " ") }

// Cut shortens a text to n characters, the last of which marks the cut. It does
// not cut within an emoji of several characters, or between a letter and its
// marks, unless that single cluster is very long.
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

// maxCluster bounds the number of characters that are dropped to cut between
// two clusters.
const maxCluster = 16

// clings reports whether a character belongs to the preceding one.
func clings(r rune) bool {
	return isJoiner(r) || isSelector(r) || isMark(r) || r >= 0x1f3fb && r <= 0x1f3ff // skin tones
}

// MaxMarks bounds the combining marks on one character; no script needs more.
const MaxMarks = 4

// tab replaces a tab.
const tab = "    "

// isPlain detects the common case of a text that Text would not change.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '\n' && (c < ' ' || c > '~') {
			return false
		}
	}
	return true
}

// writer writes characters as Text displays them. It writes all joiners and
// records that there were some.
type writer struct {
	strings.Builder
	marks   int // on the last character; white space and the beginning of a line allow none
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
	case unicode.IsControl(r), hidden(r): // a removed character does not reset the count of marks
	case isMark(r):
		w.marks++
		if w.marks <= MaxMarks {
			w.WriteRune(r)
		}
	default:
		// U+FFFD stands for a character that is not displayed. Emoji that are newer than the
		// tables of the standard library are.
		if !unicode.IsGraphic(r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) && (r < 0x1f000 || r > 0x1faff) {
			r = utf8.RuneError
		}
		w.WriteRune(r)
		w.marks = 0
	}
}

func isMark(r rune) bool { return unicode.In(r, unicode.Mn, unicode.Me) }

// hidden reports whether a character is invisible, or controls how others are
// displayed.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r) || r == '\u2800' || r >= 0x1d173 && r <= 0x1d17a || r >= 0xe0000 && r <= 0xe0fff
}

// maxName bounds a displayed name, in characters.
const maxName = 40

// Name formats the name of a participant for display. Of a long name it keeps
// both ends, since many names have one in common.
func Name[T ~string](id T) string {
	name := Line(string(id))
	if r := []rune(name); len(r) > maxName {
		return string(r[:maxName-12]) + "…" + string(r[len(r)-11:])
	}
	return name
}
