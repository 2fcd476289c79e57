package tui

import "slices"

// page is the visible part of the conversation. It follows new lines, unless
// the person has scrolled up: then the top line stays in place, regardless of
// changes above and below it.
type page struct {
	away  bool
	top   *block // when away: the block at the top, and the index of its first visible line
	line  int
	below int // lines below the screen, when away
	seen  []*block
}

// lines returns the visible lines.
func (p *page) lines(v *view, m *model, cells, rows int) []string {
	p.seen, p.below = nil, 0
	if rows <= 0 {
		return nil
	}
	blocks := m.shown()
	if p.away {
		if out, full := p.fromTop(v, m, blocks, cells, rows); full {
			return out
		}
		p.away = false // the end is on the screen
	}
	var out []string
	for i := len(blocks) - 1; i >= 0 && len(out) < rows; i-- {
		out = append(slices.Clone(v.lines(m, blocks[i], cells)), out...)
		p.seen = append(p.seen, blocks[i])
	}
	slices.Reverse(p.seen)
	return out[max(0, len(out)-rows):]
}

// fromTop returns the lines from the top line on, and reports whether more
// lines follow.
func (p *page) fromTop(v *view, m *model, blocks []*block, cells, rows int) (out []string, full bool) {
	i := max(0, slices.Index(blocks, p.top)) // if it is gone: the oldest remaining block
	skip := p.line
	for ; i < len(blocks); i++ {
		lines := v.lines(m, blocks[i], cells)
		lines = lines[min(skip, len(lines)):]
		skip = 0
		if len(out) >= rows {
			p.below += len(lines)
			continue
		}
		p.seen = append(p.seen, blocks[i])
		room := min(len(lines), rows-len(out))
		out = append(out, lines[:room]...)
		p.below += len(lines) - room
	}
	return out, p.below > 0
}

// scroll moves the screen by a number of lines; a negative number moves it up.
func (p *page) scroll(v *view, m *model, cells, rows, by int) {
	blocks := m.shown()
	total, at := 0, -1
	for _, b := range blocks {
		if p.away && b == p.top {
			at = total + p.line
		}
		total += len(v.lines(m, b, cells))
	}
	if at < 0 {
		at = max(0, total-rows)
		if p.away {
			at = 0
		}
	}
	at += by
	if at >= total-rows {
		p.away = false
		return
	}
	p.away = true
	p.put(v, m, blocks, cells, max(0, at))
}

// put sets the top line, counted from the first line of all.
func (p *page) put(v *view, m *model, blocks []*block, cells, at int) {
	for _, b := range blocks {
		n := len(v.lines(m, b, cells))
		if at < n {
			p.top, p.line = b, at
			return
		}
		at -= n
	}
}

// toggle opens or closes the lowest reasoning block on the screen.
func (p *page) toggle() {
	for _, b := range slices.Backward(p.seen) {
		if b.reasoning != nil {
			b.reasoning.open = !b.reasoning.open
			b.change()
			return
		}
	}
}

// toggleAll opens all reasoning blocks, or closes them if all are open.
func (m *model) toggleAll() {
	m.reasonings.all = !m.reasonings.all
	for _, b := range m.scroll.blocks {
		if b.reasoning != nil {
			b.reasoning.open = m.reasonings.all
			b.change()
		}
	}
}
