package termsafe

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON escapes the characters of a JSON text that Text removes: they
// control a terminal, change the direction of writing, or are invisible. The
// value is unchanged.
func JSON(text []byte) []byte {
	first := 0
	for first < len(text) && text[first] < 0x7f {
		first++
	}
	if first == len(text) {
		return text
	}
	out := append(make([]byte, 0, len(text)+16), text[:first]...)
	for rest := text[first:]; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r < 0x7f || !unicode.IsControl(r) && !hidden(r):
			out = append(out, rest[:size]...)
		case r <= 0xffff:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
		rest = rest[size:]
	}
	return out
}

// JSONWriter returns a writer that applies JSON to everything written to w.
func JSONWriter(w io.Writer) io.Writer { return &jsonWriter{to: w} }

type jsonWriter struct {
	to   io.Writer
	rest []byte // the beginning of a character that the next Write completes
}

// Write writes a part of a JSON text.
func (w *jsonWriter) Write(p []byte) (int, error) {
	text := slices.Concat(w.rest, p)
	end := len(text)
	for begin := max(0, len(text)-utf8.UTFMax+1); begin < len(text); begin++ {
		if utf8.RuneStart(text[begin]) && !utf8.FullRune(text[begin:]) {
			end = begin
			break
		}
	}
	w.rest = text[end:]
	if _, err := w.to.Write(JSON(text[:end])); err != nil {
		return 0, err
	}
	return len(p), nil
}

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
