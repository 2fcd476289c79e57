package contextwindow

import (
	"encoding/json"
	"strings"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// Bounds of a preview. Its length may exceed maxPreview by one entry and the
// ends of open containers.
const (
	maxString  = 300   // characters of a string
	maxItems   = 3     // items of a list
	maxKeys    = 50    // keys of an object
	maxDepth   = 8     // levels
	maxPreview = 4_000 // bytes
)

// previewOf shortens a text, which must be valid UTF-8. JSON keeps its structure
// and the order of its keys, with marks in place of omitted parts. If isCut is
// false, only white space between JSON values is missing.
func previewOf(text string) (short string, isCut bool) {
	start := strings.TrimLeft(text, " \t\r\n")
	if start == "" || !strings.ContainsRune(`{["`, rune(start[0])) || !json.Valid([]byte(text)) {
		begin, rest := cutText(text, maxString)
		if rest == 0 {
			return text, false
		}
		return begin + moreCharacters(rest), true
	}
	w := walker{src: start}
	w.value(0)
	return string(w.out), w.cut
}

// walker copies valid JSON without white space, up to the bounds of a preview.
type walker struct {
	src string
	pos int
	out []byte
	cut bool
}

// value copies the next value.
func (w *walker) value(depth int) {
	switch w.peek() {
	case '{':
		w.container(depth, '}', maxKeys)
	case '[':
		w.container(depth, ']', maxItems)
	case '"':
		w.str()
	default: // a number, true, false or null
		start := w.pos
		w.skipLiteral()
		if n := w.pos - start; n > maxString {
			w.mark("[number of " + textutil.Count(n, "character") + "]")
		} else {
			w.out = append(w.out, w.src[start:w.pos]...)
		}
	}
}

// container copies an object or a list up to the bounds, with a mark in place of what is
// left out: all of it, unless it is empty, or the remaining entries.
func (w *walker) container(depth int, end byte, most int) {
	if depth == maxDepth || w.full() {
		open := w.src[w.pos]
		w.pos++
		n := w.skipEntries(end)
		w.pos++
		switch {
		case n == 0:
			w.out = append(w.out, open, end)
		case end == '}':
			w.mark("[object with " + textutil.Count(n, "key") + "]")
		default:
			w.mark("[list of " + textutil.Count(n, "item") + "]")
		}
		return
	}
	w.copyByte()
	for n := 0; w.peek() != end; n++ {
		if n == most || n > 0 && w.full() {
			left := w.skipEntries(end)
			if end == '}' {
				w.out = append(w.out, `"…":`...)
				w.mark("[" + textutil.Count(left, "more key") + "]")
			} else {
				w.mark("[" + textutil.Count(left, "more item") + "]")
			}
			break
		}
		if end == '}' {
			w.str()
			w.peek()
			w.copyByte() // the colon
		}
		w.value(depth + 1)
		if w.peek() == ',' {
			w.copyByte()
		}
	}
	w.copyByte()
}

// mark writes a JSON string that needs no escaping.
func (w *walker) mark(text string) {
	w.out = append(append(append(w.out, '"'), text...), '"')
	w.cut = true
}

// str copies a string up to maxString characters.
func (w *walker) str() {
	w.peek()
	start := w.pos
	w.skipString()
	inner := w.src[start+1 : w.pos-1]
	keep, rest := cutEscaped(inner, maxString)
	w.out = append(w.out, '"')
	w.out = append(w.out, keep...)
	if rest > 0 {
		w.out = append(w.out, moreCharacters(rest)...)
		w.cut = true
	}
	w.out = append(w.out, '"')
}

func (w *walker) full() bool { return len(w.out) >= maxPreview }

// peek skips white space and returns the next byte without consuming it.
func (w *walker) peek() byte {
	for isSpace(w.src[w.pos]) {
		w.pos++
	}
	return w.src[w.pos]
}

// copyByte copies one ASCII byte.
func (w *walker) copyByte() {
	w.out = append(w.out, w.src[w.pos])
	w.pos++
}
