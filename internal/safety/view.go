package safety

import (
	"bytes"
	"sort"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// view is another reading of a text: without what nobody sees, or without its
// escapes.
type view struct {
	text []byte
	cuts []cut
	// whole: what was left out belongs to the character before it.
	whole bool
}

// cut is a place where something was left out.
type cut struct {
	at    int // in the view
	total int // bytes that were left out up to here
}

// viewOf returns a text without its unseen characters.
func viewOf(body []byte, much unseen) *view {
	v := &view{text: make([]byte, 0, len(body))}
	for i := 0; i < len(body); {
		if suspects[body[i]] {
			if n := much.at(body[i:]); n > 0 {
				i += n
				v.left(i)
				continue
			}
		}
		v.text = append(v.text, body[i])
		i++
	}
	return v
}

// left notes that the text goes on at from.
func (v *view) left(from int) {
	v.cuts = append(v.cuts, cut{len(v.text), from - len(v.text)})
}

// span returns where a part of the view is in the text.
func (v *view) span(start, end int) (from, to int) {
	if v.whole {
		return v.place(start), v.place(end)
	}
	return v.place(start), v.place(end-1) + 1
}

// place returns where a byte of the view is in the text.
func (v *view) place(at int) int {
	n := sort.Search(len(v.cuts), func(i int) bool { return v.cuts[i].at > at })
	if n == 0 {
		return at
	}
	return at + v.cuts[n-1].total
}

// hasEscapes reports whether a text looks like JSON in which characters are
// written as \uXXXX or \/.
func hasEscapes(text []byte) bool {
	for i := 0; i < len(text); i += 2 {
		n := bytes.IndexByte(text[i:], '\\')
		if i += n; n < 0 || i+1 >= len(text) {
			return false
		}
		if _, size := unescape(text[i:]); size > 0 && text[i+1] != '\\' {
			return true
		}
	}
	return false
}

// unescaped returns a text with its escapes read, once.
func unescaped(body []byte) *view {
	v := &view{text: make([]byte, 0, len(body)), whole: true}
	for i := 0; i < len(body); {
		r, size := unescape(body[i:])
		if size == 0 {
			v.text = append(v.text, body[i])
			i++
			continue
		}
		v.text = utf8.AppendRune(v.text, r)
		i += size
		v.left(i)
	}
	return v
}

// unescape reads the escape that a text begins with; size is 0 if it is none
// that hides a character.
func unescape(text []byte) (r rune, size int) {
	if len(text) < 2 || text[0] != '\\' {
		return 0, 0
	}
	switch text[1] {
	case '/', '\\':
		return rune(text[1]), 2
	case 'u':
	default:
		return 0, 0
	}
	r, ok := hexRune(text)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	second, _ := hexRune(text[6:])
	if pair := utf16.DecodeRune(r, second); pair != utf8.RuneError {
		return pair, 12
	}
	return 0, 0
}

// hexRune reads \uXXXX.
func hexRune(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}
