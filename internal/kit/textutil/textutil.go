// Package textutil has the small operations on text that error messages,
// summaries and displays share.
package textutil

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Shorten returns s if it has at most limit bytes. Otherwise it returns the
// whole characters within the first limit bytes, followed by an ellipsis.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return Truncate(s, limit) + "…"
}

// Truncate returns the whole characters within the first limit bytes of s.
func Truncate(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// ShortenChars is Shorten with a limit in characters.
func ShortenChars(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	chars := 0
	for i := range s {
		if chars == limit {
			return s[:i] + "…"
		}
		chars++
	}
	return s
}

// Count returns the number and the noun, in the plural if n is not 1:
// "1 envelope", "1,204 envelopes".
func Count[N ~int | ~int64 | ~uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Thousands(int64(n)) + " " + noun + "s"
}

// Thousands formats n with separators: "12,345,678".
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(s) - 3; i > first; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// ShellWord quotes a word for a shell, if that is necessary.
func ShellWord(s string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:-/@+=,%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !safe(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
