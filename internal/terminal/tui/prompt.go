package tui

import (
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/meup-protocol/meup/internal/kit/termsafe"
)

// Bounds of the prompt.
const (
	maxHistory = 200 // entries of the history
	maxPrompt  = 8   // rows; more of it scrolls
)

// placeholder is the text of an empty prompt.
const placeholder = "Message, or /help"

// promptSign precedes the typed text.
const promptSign = "› "

// prompt is the input area: a text of several lines with a cursor, and a
// history.
//
// The text area of bubbles v2.2.1 does not replace it: it panics if the cursor
// is on the space after some emoji at the end of a row, and it lays out the whole
// text for every key.
type prompt struct {
	text []rune
	at   int // index of the code point after the cursor

	history []string // oldest first
	shown   int      // index of the displayed entry; len(history): the draft
	draft   string   // the unsent text, while a history entry is shown

	cells, most int // the size: of a row, and the number of rows
}

// row is the part of the text in one row of the screen.
type row struct{ from, to int }

// resize adapts the prompt to a screen size.
func (p *prompt) resize(cells, rows int) {
	p.cells, p.most = max(cells-cellWidth(promptSign), 2), max(1, min(maxPrompt, rows/3))
}

func (p *prompt) value() string { return string(p.text) }

// set replaces the text.
func (p *prompt) set(text string) {
	p.text = []rune(termsafe.Text(text))
	p.at = len(p.text)
}

// insert inserts text at the cursor. Which characters are allowed depends on
// the preceding ones: a mark or a joiner is typed as a separate key.
func (p *prompt) insert(text string) {
	before := string(p.text[:p.at])
	clean, ok := strings.CutPrefix(termsafe.Text(before+text), before)
	if !ok {
		clean = termsafe.Text(text)
	}
	in := []rune(clean)
	p.text = slices.Insert(p.text, p.at, in...)
	p.at += len(in)
}

// press handles a key by its name, and inserts the text of any key that edits
// nothing.
func (p *prompt) press(key, text string) {
	to, space := p.at, unicode.IsSpace
	inWord := func(r rune) bool { return !space(r) }
	inLine := func(r rune) bool { return r != '\n' }
	switch key {
	case "left", "ctrl+b", "backspace", "ctrl+h":
		to -= p.last()
	case "right", "ctrl+f", "delete", "ctrl+d":
		to += cluster(p.text[to:])
	case "alt+left", "ctrl+left", "alt+b", "ctrl+w", "alt+backspace":
		to = p.back(p.back(to, space), inWord)
	case "alt+right", "ctrl+right", "alt+f", "alt+d", "alt+delete":
		to = p.ahead(p.ahead(to, space), inWord)
	case "home", "ctrl+a", "ctrl+u":
		to = p.back(to, inLine)
	case "end", "ctrl+e", "ctrl+k":
		to = p.ahead(to, inLine)
	default:
		p.insert(text)
		return
	}
	switch key {
	case "backspace", "ctrl+h", "delete", "ctrl+d", "ctrl+w", "alt+backspace", "alt+d", "alt+delete", "ctrl+u", "ctrl+k":
		from := min(p.at, to)
		p.text = slices.Delete(p.text, from, max(p.at, to))
		to = from
	}
	p.at = to
}

// back and ahead return the position at which a run of code points begins or
// ends.
func (p *prompt) back(at int, in func(rune) bool) int {
	for at > 0 && in(p.text[at-1]) {
		at--
	}
	return at
}

func (p *prompt) ahead(at int, in func(rune) bool) int {
	for at < len(p.text) && in(p.text[at]) {
		at++
	}
	return at
}

// last returns the number of code points of the character before the cursor.
func (p *prompt) last() int {
	if p.at > 0 && p.text[p.at-1] == '\n' {
		return 1
	}
	n := 0
	for at := p.back(p.at, func(r rune) bool { return r != '\n' }); at < p.at; at += n {
		n = cluster(p.text[at:p.at])
	}
	return n
}

// cluster returns the number of code points of the first character of a text:
// a letter with its marks, or a joined emoji.
func cluster(text []rune) int {
	first, _ := ansi.FirstGraphemeCluster(string(text[:min(len(text), maxCluster)]), ansi.GraphemeWidth)
	return len([]rune(first))
}

// maxCluster bounds the code points of one character.
const maxCluster = 64

// take clears the prompt and returns its text.
func (p *prompt) take() string {
	text := p.value()
	if strings.TrimSpace(text) != "" && (len(p.history) == 0 || p.history[len(p.history)-1] != text) {
		p.history = append(p.history, text)
		if len(p.history) > maxHistory {
			p.history = p.history[1:]
		}
	}
	p.shown, p.draft = len(p.history), ""
	p.set("")
	return text
}

// vertical moves the cursor a row up or down; at the first or last row it shows
// the previous or next history entry.
func (p *prompt) vertical(by int) {
	rows := p.rows()
	y, x := p.cursor(rows)
	y += by
	if y >= 0 && y < len(rows) {
		r := rows[y]
		for p.at = r.from; p.at < r.to && cellsOf(p.text[r.from:p.at+1]) <= x; {
			p.at++
		}
		if p.at == r.to && y+1 < len(rows) && rows[y+1].from == p.at && p.at > r.from {
			p.at-- // the next row begins after it
		}
		return
	}
	at := p.shown + by
	if at < 0 || at > len(p.history) {
		return
	}
	if p.shown == len(p.history) {
		p.draft = p.value()
	}
	p.shown = at
	if at == len(p.history) {
		p.set(p.draft)
	} else {
		p.set(p.history[at])
	}
}

func cellsOf(text []rune) int { return ansi.StringWidthWc(string(text)) }

// rows breaks the text into rows of a screen. A full row is followed by another
// one, for the cursor after its last character.
func (p *prompt) rows() []row {
	var out []row
	from, used := 0, 0
	for i, r := range p.text {
		w := ansi.StringWidthWc(string(r))
		if r == '\ufe0f' {
			w = 1 // on some terminals it makes the preceding emoji wide
		}
		switch {
		case r == '\n':
			out = append(out, row{from, i})
			from, used = i+1, 0
			continue
		case used+w > p.cells && i > from:
			out = append(out, row{from, i})
			from, used = i, 0
		}
		used += w
	}
	out = append(out, row{from, len(p.text)})
	if used >= p.cells && from < len(p.text) {
		out = append(out, row{len(p.text), len(p.text)})
	}
	return out
}

// cursor returns the row and the cell of the cursor.
func (p *prompt) cursor(rows []row) (y, x int) {
	for i, r := range rows {
		if r.from <= p.at {
			y = i
		}
	}
	return y, cellsOf(p.text[rows[y].from:p.at])
}

// height returns the number of rows that are visible.
func (p *prompt) height() int { return min(len(p.rows()), p.most) }

// view draws the visible rows, which contain the cursor, and returns the
// position of the cursor.
func (p *prompt) view(t *theme) (lines []string, y, x int) {
	rows := p.rows()
	y, x = p.cursor(rows)
	first := 0
	if len(rows) > p.most {
		first = min(max(0, y-p.most+1), len(rows)-p.most)
	}
	sign := t.Bold.Render(promptSign)
	for _, r := range rows[first:min(len(rows), first+p.most)] {
		lines = append(lines, sign+string(p.text[r.from:r.to]))
		sign = strings.Repeat(" ", cellWidth(promptSign))
	}
	if len(p.text) == 0 {
		lines[0] += t.Dim.Render(Fit(placeholder, p.cells))
	}
	return lines, y - first, min(x, p.cells-1) + cellWidth(promptSign)
}
