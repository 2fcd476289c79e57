package tui

import (
	"unicode"
	"unicode/utf8"
)

// harmful returns the first character that must not reach a terminal. Joiners
// are allowed: they form emoji and words.
func harmful(s string) (rune, bool) {
	for _, r := range s {
		joins := r == '\u200c' || r == '\u200d' || unicode.Is(unicode.Prepended_Concatenation_Mark, r)
		if r != '\n' && !joins && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) {
			return r, true
		}
	}
	return 0, !utf8.ValidString(s)
}
