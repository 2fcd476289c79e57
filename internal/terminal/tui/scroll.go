package tui

import (
	"slices"
)

// Lines returns the visible lines of the conversation. They follow new lines,
// unless the person has scrolled up: then the top line stays in place, regardless
// of changes above and below it.
func (v *view) Lines(cells, rows int) []string {
	v.seen, v.below = nil, 0
	if rows <= 0 {
		return nil
	}
	blocks := v.model.Shown()
	var out []string
	if v.away {
		first := max(0, slices.Index(blocks, v.top)) // if it is gone: the oldest remaining block
		skip := v.line
		for _, b := range blocks[first:] {
			lines := v.block(b, cells)
			lines = lines[min(skip, len(lines)):]
			skip = 0
			if len(out) >= rows {
				v.below += len(lines)
				continue
			}
			v.seen = append(v.seen, b)
			room := min(len(lines), rows-len(out))
			out = append(out, lines[:room]...)
			v.below += len(lines) - room
		}
		if v.below > 0 {
			return out
		}
		v.away, v.seen, out = false, nil, nil // the end is on the screen
	}
	for i := len(blocks) - 1; i >= 0 && len(out) < rows; i-- {
		out = append(slices.Clone(v.block(blocks[i], cells)), out...)
		v.seen = append(v.seen, blocks[i])
	}
	slices.Reverse(v.seen)
	return out[max(0, len(out)-rows):]
}

// Follow makes the view follow new lines again.
func (v *view) Follow() { v.away = false }

// Scroll moves the screen by a number of lines; a negative number moves it up.
func (v *view) Scroll(cells, rows, by int) {
	blocks := v.model.Shown()
	total, at := 0, -1
	for _, b := range blocks {
		if v.away && b == v.top {
			at = total + v.line
		}
		total += len(v.block(b, cells))
	}
	if at < 0 {
		at = max(0, total-rows)
		if v.away {
			at = 0
		}
	}
	at += by
	if at >= total-rows {
		v.away = false
		return
	}
	v.away = true
	at = max(0, at)
	for _, b := range blocks {
		n := len(v.block(b, cells))
		if at < n {
			v.top, v.line = b, at
			return
		}
		at -= n
	}
}

// Toggle opens or closes the lowest reasoning block on the screen.
func (v *view) Toggle() {
	for _, b := range slices.Backward(v.seen) {
		if b.Reasoning != nil {
			b.Reasoning.Open = !b.Reasoning.Open
			b.Change()
			return
		}
	}
}
