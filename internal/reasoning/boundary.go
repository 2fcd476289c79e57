package reasoning

import (
	"unicode"
	"unicode/utf8"
)

// boundary is the length of the first piece of a text that is tokenized alone
// as it is within the text; the text is not empty.
//
// Every encoding first splits by a pattern, left to right, and looks ahead of
// a match only behind white space. So a place behind something else is a
// boundary, if no alternative of any pattern matches across it.
func boundary(text string) int {
	before, i := classAt(text, 0)
	for i < len(text) {
		after, size := classAt(text, i)
		if splits(before, after) {
			return i
		}
		before = after
		i += size
	}
	return i
}

// splits reports whether a place between two characters is a boundary.
func splits(before, after class) bool {
	switch {
	case before == other || before == blank || before == mark:
		return false
	case before == number || after == number:
		return before != after // digits stand alone, a space may go with them
	case after == blank:
		return true // white space begins a match, or is one
	case before == letter:
		return after == sign || after == other // a word ends with its letters
	default:
		return false
	}
}

func classAt(text string, i int) (class, int) {
	if c := text[i]; c < utf8.RuneSelf {
		return ascii[c], 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	switch {
	case unicode.IsLetter(r):
		return letter, size
	case unicode.IsMark(r):
		return mark, size
	case unicode.IsNumber(r):
		return number, size
	}
	return other, size
}
