package textutil

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// LeadingMention returns the name after the @ with which a text begins, or "". Punctuation
// at its end is no part of it, and a path (@types/node) is no mention. The name may have
// letters that no participant's id has.
func LeadingMention(text string) string {
	rest, found := strings.CutPrefix(strings.TrimSpace(text), "@")
	if !found {
		return ""
	}
	end := strings.IndexFunc(rest, func(r rune) bool {
		return !partOfName(r) && !unicode.IsMark(r) && !strings.ContainsRune(separators, r)
	})
	if end >= 0 && (rest[end] == '/' || rest[end] == '\\') {
		return ""
	}
	if end >= 0 {
		rest = rest[:end]
	}
	return strings.TrimRight(rest, separators+"-@")
}

// Mentions reports whether a text contains @ and one of the names as a word, in any case.
func Mentions(text string, names ...string) bool {
	text = strings.ToLower(text)
	for _, name := range names {
		for rest := text; ; {
			before, after, found := strings.Cut(rest, "@"+strings.ToLower(name))
			if !found {
				break
			}
			last, _ := utf8.DecodeLastRuneInString(before)
			if !partOfName(last) && !continuesName(after) {
				return true
			}
			rest = after
		}
	}
	return false
}

// CutMention returns what follows the mention of a name at the beginning of a text, and
// whether there is one.
func CutMention(text, name string) (rest string, found bool) {
	rest, found = strings.CutPrefix(strings.TrimSpace(text), "@")
	if !found || len(rest) < len(name) || !strings.EqualFold(rest[:len(name)], name) || continuesName(rest[len(name):]) {
		return text, false
	}
	return strings.TrimLeft(rest[len(name):], " \t\r\n,:;"), true
}

// separators can be part of a name, but can also end a sentence or separate names.
const separators = ".:+|"

// continuesName reports whether rest continues the name before it. A separator does only if
// another character of a name follows.
func continuesName(rest string) bool {
	r, size := utf8.DecodeRuneInString(rest)
	if !strings.ContainsRune(separators, r) {
		return partOfName(r)
	}
	next, _ := utf8.DecodeRuneInString(rest[size:])
	return next != '@' && partOfName(next)
}

func partOfName(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' || r == '@')
}
