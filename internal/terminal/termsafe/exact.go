package termsafe

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Exact writes JSON, or a name, on one line with everything spelled as \u202e
// that Text leaves out or changes, or that looks like something else: what
// somebody decides on must not have parts that cannot be seen, and two texts
// that differ look different. Characters beyond U+FFFF are spelled in two parts,
// as JSON does, and bytes that are no UTF-8 as \xff.
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
