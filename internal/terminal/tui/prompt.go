package tui

import (
	"strings"
)

// Bounds of the prompt.
const (
	maxHistory = 200 // entries of the history
	maxPrompt  = 8   // rows; more of it scrolls
)

// placeholder is the text of an empty prompt.
const placeholder = "Say something, or /help"

// promptSign precedes the typed text.
const promptSign = "› "

// prompt is the input area with its history.
type prompt struct {
	editor  editor
	history []string // oldest first
	at      int      // index of the displayed entry; len(history): the draft
	draft   string   // the unsent text, while a history entry is shown

	cells, most int
}

func (p *prompt) value() string { return string(p.editor.text) }

func (p *prompt) set(text string) { p.editor.set(text) }

// resize adapts the prompt to a screen size.
func (p *prompt) resize(cells, rows int) {
	p.cells, p.most = max(cells-width(promptSign), 2), max(1, min(maxPrompt, rows/3))
}

// height returns the number of rows of the prompt.
func (p *prompt) height() int { return min(len(p.editor.rows(p.cells)), p.most) }

// take clears the prompt and returns its text.
func (p *prompt) take() string {
	text := p.value()
	if strings.TrimSpace(text) != "" && (len(p.history) == 0 || p.history[len(p.history)-1] != text) {
		p.history = append(p.history, text)
		if len(p.history) > maxHistory {
			p.history = p.history[1:]
		}
	}
	p.at, p.draft = len(p.history), ""
	p.editor.set("")
	return text
}

// vertical moves the cursor a row up or down; at the first or last row it shows
// the previous or next history entry.
func (p *prompt) vertical(by int) {
	if p.editor.vertical(p.cells, by) {
		return
	}
	at := p.at + by
	if at < 0 || at > len(p.history) {
		return
	}
	if p.at == len(p.history) {
		p.draft = p.value()
	}
	p.at = at
	if at == len(p.history) {
		p.set(p.draft)
	} else {
		p.set(p.history[at])
	}
}

// view draws the prompt and returns the position of the cursor in it.
func (p *prompt) view(t *theme) (lines []string, y, x int) {
	rows, y, x := p.editor.lines(p.cells, p.most)
	for i, r := range rows {
		sign := strings.Repeat(" ", width(promptSign))
		if i == 0 {
			sign = t.bold.Render(promptSign)
		}
		lines = append(lines, sign+r)
	}
	if len(p.editor.text) == 0 {
		lines[0] += t.dim.Render(fit(placeholder, p.cells))
	}
	return lines, y, x + width(promptSign)
}
