package reasoning

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Of a preview: characters, entries, levels, and bytes of the whole, which may
// exceed its own by one entry and the ends of what is open.
const (
	maxString  = 300
	maxItems   = 3
	maxKeys    = 50
	maxDepth   = 8
	maxPreview = 4_000
)

// preview is a text in short.
type preview struct {
	text  string
	shown int  // characters of the original that are left
	cut   bool // false: nothing but space between JSON's values is missing
}

// previewOf shortens a text, which is valid UTF-8. JSON keeps its structure
// and the order of its keys; what is left out of it is said where it was.
func previewOf(text string) preview {
	start := strings.TrimLeft(text, " \t\r\n")
	if start == "" || !strings.ContainsRune(`{["`, rune(start[0])) || !json.Valid([]byte(text)) {
		return textPreview(text)
	}
	w := walker{src: start}
	w.value(0)
	return preview{text: string(w.out), shown: w.shown, cut: w.cut}
}

func textPreview(text string) preview {
	short, rest := cutText(text, maxString)
	if rest == 0 {
		return preview{text: text, shown: utf8.RuneCountInString(text)}
	}
	return preview{text: short + moreCharacters(rest), shown: maxString, cut: true}
}

// walker copies JSON that is known to be valid, without its spaces and without
// what is too much.
type walker struct {
	src   string
	pos   int
	out   []byte
	shown int
	cut   bool
}

// value copies the one that comes next.
func (w *walker) value(depth int) {
	switch w.peek() {
	case '{':
		w.container(depth, '}', maxKeys)
	case '[':
		w.container(depth, ']', maxItems)
	case '"':
		w.str()
	default:
		w.literal()
	}
}

// container copies an object or a list as far as there is room.
func (w *walker) container(depth int, end byte, most int) {
	if depth == maxDepth || w.full() {
		w.instead(end)
		return
	}
	w.copy()
	for n := 0; w.peek() != end; n++ {
		if n == most || n > 0 && w.full() {
			w.rest(end)
			break
		}
		if end == '}' {
			w.str()
			w.peek()
			w.copy() // the colon
		}
		w.value(depth + 1)
		if w.peek() == ',' {
			w.copy()
		}
	}
	w.copy()
}

// instead puts a mark in the place of a whole container; an empty one is as short.
func (w *walker) instead(end byte) {
	w.pos++
	n := w.skipEntries(end)
	w.pos++
	switch {
	case n == 0 && end == '}':
		w.out = append(w.out, "{}"...)
		w.shown += 2
	case n == 0:
		w.out = append(w.out, "[]"...)
		w.shown += 2
	case end == '}':
		w.mark("[object with " + counted(n, "key") + "]")
	default:
		w.mark("[list of " + counted(n, "item") + "]")
	}
}

// rest puts a mark in the place of the entries up to the end of a container.
func (w *walker) rest(end byte) {
	n := w.skipEntries(end)
	if end == '}' {
		w.out = append(w.out, `"…":`...)
		w.mark("[" + counted(n, "more key") + "]")
		return
	}
	w.mark("[" + counted(n, "more item") + "]")
}

// mark writes a string of our own: nothing in it needs escaping.
func (w *walker) mark(text string) {
	w.out = append(append(append(w.out, '"'), text...), '"')
	w.cut = true
}

// str copies a string, or its beginning.
func (w *walker) str() {
	w.peek()
	start := w.pos
	w.skipString()
	inner := w.src[start+1 : w.pos-1]
	keep, rest := cutEscaped(inner, maxString)
	w.out = append(w.out, '"')
	w.out = append(w.out, keep...)
	w.shown += utf8.RuneCountInString(keep) + 2
	if rest > 0 {
		w.out = append(w.out, moreCharacters(rest)...)
		w.cut = true
	}
	w.out = append(w.out, '"')
}

// literal copies a number, true, false or null; a number as it is written.
func (w *walker) literal() {
	start := w.pos
	w.skipLiteral()
	if n := w.pos - start; n > maxString {
		w.mark("[number of " + counted(n, "character") + "]")
		return
	}
	w.out = append(w.out, w.src[start:w.pos]...)
	w.shown += w.pos - start
}

func (w *walker) full() bool { return len(w.out) >= maxPreview }

// peek moves to what comes next and returns its first byte.
func (w *walker) peek() byte {
	for isSpace(w.src[w.pos]) {
		w.pos++
	}
	return w.src[w.pos]
}

// copy takes a byte of ASCII over.
func (w *walker) copy() {
	w.out = append(w.out, w.src[w.pos])
	w.pos++
	w.shown++
}
