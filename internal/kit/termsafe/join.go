package termsafe

import (
	"strings"
	"unicode"
)

const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
	asText    = '\ufe0e' // shows the preceding emoji as text
	asEmoji   = '\ufe0f'
	keycap    = '\u20e3'
)

func isJoiner(r rune) bool { return r == nonJoiner || r == joiner }

// isSelector reports whether a character selects a variant of the preceding
// one. The 240 selectors of the supplement are excluded: they are used more to
// hide data than to display text.
func isSelector(r rune) bool { return r >= '\ufe00' && r <= asEmoji }

// joined removes the joiners and selectors that have no effect on the
// surrounding characters.
func joined(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	var base, last rune // the last character that is not a mark, and the last one
	list := []rune(s)
	for i, r := range list {
		next := rune(0)
		if i+1 < len(list) {
			next = list[i+1]
		}
		switch {
		case isJoiner(r) && !joins(r, base, last, next), isSelector(r) && !selects(r, last, next):
			continue
		case !isJoiner(r) && !isMark(r):
			base = r
		}
		b.WriteRune(r)
		last = r
	}
	return b.String()
}

// joins reports whether a joiner has an effect: between the parts of an emoji,
// and after a letter of a script with contextual shapes, unless letters or
// digits of another script follow.
func joins(r, base, last, next rune) bool {
	switch {
	case isJoiner(next) || isSelector(next):
		return false
	case unicode.In(base, shaping...):
		return unicode.In(next, shaping...) || isMark(next) || !unicode.IsLetter(next) && !unicode.IsNumber(next)
	}
	return r == joiner && (isPictograph(last) || last == asEmoji) && isPictograph(next)
}

// selects reports whether a selector has an effect: after an emoji, the digit
// of a keycap, or an ideograph.
func selects(r, last, next rune) bool {
	switch r {
	case asText, asEmoji:
		digit := last == '#' || last == '*' || last >= '0' && last <= '9'
		return isPictograph(last) || digit && next == keycap
	case '\ufe00', '\ufe01', '\ufe02':
		return unicode.Is(unicode.Han, last)
	}
	return false
}

// isPictograph reports whether a character is an emoji, or a symbol that may be
// one; the standard library has no more precise table.
func isPictograph(r rune) bool {
	switch {
	case r >= 0x1f000 && r <= 0x1faff, r == '©', r == '®', r == '‼', r == '⁉', r == 'ℹ', r == '〰', r == '〽':
		return true
	}
	return r >= 0x2000 && unicode.In(r, unicode.So, unicode.Sm)
}

// shaping lists the scripts in which joiners choose between shapes of a letter.
var shaping = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mandaic, unicode.Adlam, unicode.Hanifi_Rohingya, unicode.Mongolian,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
	unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Myanmar, unicode.Khmer, unicode.Tibetan, unicode.Balinese,
	unicode.Javanese, unicode.Sundanese, unicode.Grantha, unicode.Newa, unicode.Chakma, unicode.Meetei_Mayek,
}
