package tui

import (
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
)

// editor is a text of some lines with a place in it.
type editor struct {
	text []rune
	at   int // in front of which character the cursor is
}

// row is a part of the text that stands in one row of the screen.
type row struct{ from, to int }

func (e *editor) set(text string) {
	e.text = []rune(termsafe.Text(text))
	e.at = len(e.text)
}

// insert puts a text where the cursor is. What it may have depends on what is
// in front: a mark or a joiner is typed by itself.
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

// remove takes out what is between the cursor and another place.
func (e *editor) remove(to int) {
	from, to := min(e.at, to), max(e.at, to)
	e.text = slices.Delete(e.text, from, to)
	e.at = from
}

// move puts the cursor to a place.
func (e *editor) move(to int) { e.at = min(max(to, 0), len(e.text)) }

// back and ahead are one character further, with the marks on it.
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

// isMark reports whether a character belongs to the one in front of it.
func isMark(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me) || r == '\u200c' || r == '\u200d'
}

// wordBack and wordAhead are at the next end of a word.
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

// lineStart and lineEnd are the ends of the line that the cursor is in.
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

// rows breaks the text for a screen. A row that is full is followed by another
// one, so that the cursor behind its last character has a place.
func (e *editor) rows(cells int) []row {
	var out []row
	from, used := 0, 0
	for i, r := range e.text {
		w := ansi.StringWidthWc(string(r))
		if r == '\ufe0f' {
			w = 1 // it makes the emoji in front of it wide, on some terminals
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

// place returns the row and the cell that the cursor is in.
func (e *editor) place(rows []row) (y, x int) {
	for i, r := range rows {
		if r.from <= e.at {
			y = i
		}
	}
	return y, ansi.StringWidthWc(string(e.text[rows[y].from:e.at]))
}

// vertical puts the cursor a row up or down, and reports false at the end.
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
		e.at-- // behind it the next row begins
	}
	return true
}

// key does what an editing key means, and reports false for another one.
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

// lines returns the rows of the text that fit, with the cursor among them, and
// where the cursor is.
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
