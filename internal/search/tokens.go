package search

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxTokenBytes bounds a token; a longer word is known by its beginning.
const maxTokenBytes = 64

// token is a folded word, or a pair of characters of a script without spaces.
type token struct {
	text       string
	start, end int // in the text that it comes from
}

// script is the class of a character.
type script uint8

const (
	separator script = iota
	word             // letters, digits and marks of scripts that put spaces between words
	ideograph        // characters of scripts that do not: each pair of neighbors is a token
)

func scriptOf(r rune) script {
	switch {
	case r < utf8.RuneSelf:
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return word
		}
		return separator
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r == 'ー':
		return ideograph
	case unicode.IsLetter(r), unicode.IsNumber(r), unicode.Is(unicode.M, r):
		return word
	}
	return separator
}

// tokens calls yield for each token of a text, until it returns false. The token's
// bytes are valid during the call. A run of ideographs yields each pair of
// neighbors and, with last, the last character alone.
func tokens(text string, last bool, yield func(folded []byte, start, end int) bool) {
	var buf [maxTokenBytes + 32]byte
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch scriptOf(r) {
		case separator:
			at += size
		case word:
			start, folded := at, buf[:0]
			for at < len(text) {
				r, size = utf8.DecodeRuneInString(text[at:])
				if scriptOf(r) != word {
					break
				}
				if len(folded) < maxTokenBytes {
					folded = fold(folded, r, text[at:at+size])
				}
				at += size
			}
			folded = folded[:cut(folded)]
			if len(folded) > 0 && !yield(folded, start, at) {
				return
			}
		case ideograph:
			end, ok := pairs(text, at, last, buf[:0], yield)
			at = end
			if !ok {
				return
			}
		}
	}
}

// cut returns the length of the whole characters within maxTokenBytes.
func cut(folded []byte) int {
	n := min(len(folded), maxTokenBytes)
	for n < len(folded) && n > 0 && !utf8.RuneStart(folded[n]) {
		n--
	}
	return n
}

// pairs yields the tokens of a run of ideographs, and returns its end.
func pairs(text string, at int, last bool, buf []byte, yield func([]byte, int, int) bool) (end int, ok bool) {
	previous, before := -1, 0
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if scriptOf(r) != ideograph {
			break
		}
		folded := fold(buf, r, text[at:at+size])
		if previous >= 0 && !yield(folded, previous, at+size) {
			return at, false
		}
		buf = append(buf[:0], folded[before:]...)
		previous, before, at = at, len(buf), at+size
	}
	if last && previous >= 0 && !yield(buf, previous, at) {
		return at, false
	}
	return at, true
}

// fold appends a character without case, width and diacritics.
func fold(dst []byte, r rune, s string) []byte {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return append(dst, byte(r))
	}
	if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
		return norm.NFKC.AppendString(dst, s)
	}
	var decomposed [64]byte
	for _, r := range string(norm.NFKD.AppendString(decomposed[:0], s)) {
		r = unicode.ToLower(r)
		if isDiacritic(r) || scriptOf(r) == separator {
			continue
		}
		if plain, ok := plainLetters[r]; ok {
			dst = append(dst, plain...)
		} else {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// plainLetters are letters with a part that Unicode does not decompose.
var plainLetters = map[rune]string{
	'ß': "ss", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'æ': "ae", 'œ': "oe", 'ı': "i", 'ς': "σ", 'ħ': "h", 'ŧ': "t",
}

// isDiacritic reports whether a mark is optional in writing. Vowel signs of Indic
// scripts are not: without them a word is another word.
func isDiacritic(r rune) bool {
	switch {
	case 0x300 <= r && r <= 0x36f, 0x1ab0 <= r && r <= 0x1aff, 0x1dc0 <= r && r <= 0x1dff, 0x20d0 <= r && r <= 0x20ff,
		0x591 <= r && r <= 0x5c7, 0x610 <= r && r <= 0x61a, 0x64b <= r && r <= 0x65f, r == 0x670, r == 0x640:
		return true
	}
	return false
}

// list returns the tokens of a text.
func list(text string, last bool) []token {
	var all []token
	tokens(text, last, func(folded []byte, start, end int) bool {
		all = append(all, token{string(folded), start, end})
		return true
	})
	return all
}
