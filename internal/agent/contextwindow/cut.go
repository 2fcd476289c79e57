package contextwindow

import (
	"strings"
	"unicode/utf8"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// skipEntries moves to the end of the open container and returns the number of
// skipped entries. It does not recurse.
func (w *walker) skipEntries(end byte) int {
	if w.peek() == end {
		return 0
	}
	entries := 1
	for depth := 0; ; {
		switch c := w.peek(); c {
		case '{', '[':
			depth++
			w.pos++
		case '}', ']':
			if depth == 0 {
				return entries
			}
			depth--
			w.pos++
		case '"':
			w.skipString()
		case ',':
			if depth == 0 {
				entries++
			}
			w.pos++
		case ':':
			w.pos++
		default:
			w.skipLiteral()
		}
	}
}

// skipString moves past the string at the current position.
func (w *walker) skipString() {
	w.pos++
	for {
		i := strings.IndexAny(w.src[w.pos:], `"\`)
		w.pos += i + 1
		if w.src[w.pos-1] == '"' {
			return
		}
		w.pos++ // the escaped character
	}
}

func (w *walker) skipLiteral() {
	for w.pos < len(w.src) && !isSpace(w.src[w.pos]) && !strings.ContainsRune(",:]}", rune(w.src[w.pos])) {
		w.pos++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// cutText returns the first most characters of text and the number of omitted
// ones.
func cutText(text string, most int) (string, int) {
	if len(text) <= most {
		return text, 0
	}
	for i := range text {
		if most == 0 {
			return text[:i], utf8.RuneCountInString(text[i:])
		}
		most--
	}
	return text, 0
}

// cutEscaped is cutText for the inside of a JSON string: an escape counts as
// one character, and so does a surrogate pair.
func cutEscaped(raw string, most int) (string, int) {
	if len(raw) <= most {
		return raw, 0
	}
	n, at := 0, len(raw)
	for i := 0; i < len(raw); n++ {
		if n == most {
			at = i
		}
		switch c := raw[i:]; {
		case c[0] < utf8.RuneSelf && c[0] != '\\':
			i++
		case c[0] != '\\':
			_, size := utf8.DecodeRuneInString(c)
			i += size
		case c[1] != 'u':
			i += 2
		case surrogate(c, "89abAB") && surrogate(c[6:], "cdefCDEF"):
			i += 12
		default:
			i += 6
		}
	}
	return raw[:at], max(0, n-most)
}

// surrogate reports whether raw begins with \uDx for an x in the given set.
func surrogate(raw, x string) bool {
	return len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' && (raw[2] == 'd' || raw[2] == 'D') && strings.IndexByte(x, raw[3]) >= 0
}

func moreCharacters(n int) string { return "… [" + textutil.Count(n, "more character") + "]" }
