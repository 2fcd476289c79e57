package tui

import (
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
)

// editor is a multi-line text with a cursor.
type editor struct {
	text []rune
	at   int // index of the character after the cursor
}

// row is the part of the text in one row of the screen.
type row struct{ from, to int }

func (e *editor) set(text string) {
	e.text = []rune(termsafe.Text(text))
	e.at = len(e.text)
}

// insert inserts text at the cursor. Which characters are allowed depends on
// the preceding ones: a mark or a joiner is typed as a separate key.
func (e *editor) insert(text string) {
	before := string(e.text[:e.at])
	clean, ok := strings.CutPrefix(termsafe.Text(before+text), before)
	if !ok {
		clean = termsafe.Text(text)
	}
	in := []rune(clean)
	e.text = slices.Insert(e.text, e.at, in...)
	e.at += len(in)
}

// remove deletes the text between the cursor and another position.
func (e *editor) remove(to int) {
	from, to := min(e.at, to), max(e.at, to)
	e.text = slices.Delete(e.text, from, to)
	e.at = from
}

// move sets the cursor.
func (e *editor) move(to int) { e.at = min(max(to, 0), len(e.text)) }

// back and ahead return the position one character before or after the cursor,
// with the marks on it.
func (e *editor) back() int {
	at := e.at - 1
	for at > 0 && isMark(e.text[at]) {
		at--
	}
	return max(at, 0)
}

func (e *editor) ahead() int {
	at := e.at + 1
	for at < len(e.text) && isMark(e.text[at]) {
		at++
	}
	return min(at, len(e.text))
}

// isMark reports whether a character combines with the preceding one.
func isMark(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me) || r == '\u200c' || r == '\u200d'
}

// wordBack and wordAhead return the position of the previous or next word
// boundary.
func (e *editor) wordBack() int {
	at := e.at
	for at > 0 && unicode.IsSpace(e.text[at-1]) {
		at--
	}
	for at > 0 && !unicode.IsSpace(e.text[at-1]) {
		at--
	}
	return at
}

func (e *editor) wordAhead() int {
	at := e.at
	for at < len(e.text) && unicode.IsSpace(e.text[at]) {
		at++
	}
	for at < len(e.text) && !unicode.IsSpace(e.text[at]) {
		at++
	}
	return at
}

// lineStart and lineEnd return the ends of the cursor's line.
func (e *editor) lineStart() int {
	at := e.at
	for at > 0 && e.text[at-1] != '\n' {
		at--
	}
	return at
}

func (e *editor) lineEnd() int {
	at := e.at
	for at < len(e.text) && e.text[at] != '\n' {
		at++
	}
	return at
}

// rows breaks the text into rows of a screen. A full row is followed by another
// one, for the cursor after its last character.
func (e *editor) rows(cells int) []row {
	var out []row
	from, used := 0, 0
	for i, r := range e.text {
		w := ansi.StringWidthWc(string(r))
		if r == '\ufe0f' {
			w = 1 // on some terminals it makes the preceding emoji wide
		}
		switch {
		case r == '\n':
			out = append(out, row{from, i})
			from, used = i+1, 0
			continue
		case used+w > cells && i > from:
			out = append(out, row{from, i})
			from, used = i, 0
		}
		used += w
	}
	out = append(out, row{from, len(e.text)})
	if used >= cells && from < len(e.text) {
		out = append(out, row{len(e.text), len(e.text)})
	}
	return out
}

// place returns the row and the cell of the cursor.
func (e *editor) place(rows []row) (y, x int) {
	for i, r := range rows {
		if r.from <= e.at {
			y = i
		}
	}
	return y, ansi.StringWidthWc(string(e.text[rows[y].from:e.at]))
}

// vertical moves the cursor a row up or down, and returns false at the first or
// last row.
func (e *editor) vertical(cells, by int) bool {
	rows := e.rows(cells)
	y, x := e.place(rows)
	y += by
	if y < 0 || y >= len(rows) {
		return false
	}
	e.at = rows[y].from
	for e.at < rows[y].to && ansi.StringWidthWc(string(e.text[rows[y].from:e.at+1])) <= x {
		e.at++
	}
	if e.at == rows[y].to && y+1 < len(rows) && rows[y+1].from == e.at && e.at > rows[y].from {
		e.at-- // the next row begins after it
	}
	return true
}

// key handles an editing key, and returns false for any other key.
func (e *editor) key(name string) bool {
	switch name {
	case "left", "ctrl+b":
		e.move(e.back())
	case "right", "ctrl+f":
		e.move(e.ahead())
	case "alt+left", "ctrl+left", "alt+b":
		e.move(e.wordBack())
	case "alt+right", "ctrl+right", "alt+f":
		e.move(e.wordAhead())
	case "home", "ctrl+a":
		e.move(e.lineStart())
	case "end", "ctrl+e":
		e.move(e.lineEnd())
	case "backspace", "ctrl+h":
		e.remove(e.back())
	case "delete", "ctrl+d":
		e.remove(e.ahead())
	case "ctrl+w", "alt+backspace":
		e.remove(e.wordBack())
	case "alt+d", "alt+delete":
		e.remove(e.wordAhead())
	case "ctrl+u":
		e.remove(e.lineStart())
	case "ctrl+k":
		e.remove(e.lineEnd())
	default:
		return false
	}
	return true
}

// lines returns the visible rows of the text, which contain the cursor, and the
// position of the cursor.
func (e *editor) lines(cells, most int) (out []string, y, x int) {
	rows := e.rows(cells)
	y, x = e.place(rows)
	first := 0
	if len(rows) > most {
		first = min(max(0, y-most+1), len(rows)-most)
	}
	for _, r := range rows[first:min(len(rows), first+most)] {
		out = append(out, strings.TrimRight(string(e.text[r.from:r.to]), "\n"))
	}
	return out, y - first, min(x, cells-1)
}
