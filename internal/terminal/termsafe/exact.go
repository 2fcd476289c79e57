package termsafe

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Exact formats JSON, or a name, on one line. Every character that Text removes
// or changes, or that resembles another one, is escaped as \u202e. A person who
// decides on the text can see all of it, and different texts look different.
// Characters beyond U+FFFF are escaped as surrogate pairs, as in JSON, and
// bytes that are not UTF-8 as \xff.
func Exact(s string) string {
	if isPlain(s) && !strings.Contains(s, "\n") {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == ' ', unicode.IsGraphic(r) && !unicode.Is(unicode.Zs, r) && !isMark(r) && !hidden(r):
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
