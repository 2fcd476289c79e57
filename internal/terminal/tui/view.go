package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// bar precedes all text of participants, so that it cannot imitate a line of
// the terminal.
const bar = "│ "

// more precedes continuation lines of the terminal's own text.
const more = "╎ "

// view lays out the blocks of a model. It modifies only its cache of layouts.
type view struct {
	theme    theme
	markdown markdown
}

func newView(colour bool) *view {
	return &view{theme: newTheme(colour), markdown: markdown{colour: colour}}
}

// lines returns the layout of a block for a width; no line is wider.
func (v *view) lines(m *model, b *block, cells int) []string {
	if c := &b.cache; c.done && c.rev == b.rev && c.epoch == m.epoch && c.width == cells {
		return c.lines
	}
	var out []string
	switch b.kind {
	case chatBlock:
		out = v.chat(m, b.chat, cells)
	case reasoningBlock:
		out = v.reasoning(m, b.reasoning, cells)
	case proposalBlock:
		out = v.proposal(b.proposal, cells)
	case noticeBlock:
		out = v.own("· ", b.lines, cells, v.theme.dim.Render)
	case errorBlock:
		out = v.own("✗ ", b.lines, cells, v.theme.bad.Render)
	case inputBlock:
		out = append([]string{""}, v.own("› ", b.lines, cells, v.theme.dim.Render)...)
	case textBlock:
		out = []string{""}
		for _, l := range b.lines.left {
			out = append(out, wrapHanging(painted(l), cells)...)
		}
	}
	b.cache = cachedLayout{rev: b.rev, epoch: m.epoch, width: cells, done: true, lines: out}
	return out
}

// own lays out the terminal's own lines: a sign before the first, a bar before
// all others. Pairs are laid out in two columns if there is room for them.
func (v *view) own(sign string, b lines, cells int, paint func(...string) string) []string {
	var out []string
	put := func(text, indent string) {
		room := max(cells-width(sign)-width(indent), 1)
		for i, part := range wrap(text, room) {
			begin := more
			if len(out) == 0 {
				begin = sign
			}
			if i > 0 && len(b.left) > 1 && width(begin+indent+"  "+part) <= cells {
				begin += "  "
			}
			out = append(out, paint(begin+indent+part))
		}
	}
	for i, l := range b.left {
		body := strings.TrimLeft(l, " ")
		indent := l[:len(l)-len(body)]
		switch right := b.rightOf(i); {
		case right == "":
			put(body, indent)
		case cells >= 72:
			put(body+strings.Repeat(" ", max(column-width(body), 0)+1)+right, indent)
		default:
			put(body, indent)
			put(right, indent+"  ")
		}
	}
	return out
}

// column is the width of the left column.
const column = 27

// chat lays out a message below its header.
func (v *view) chat(m *model, c *chat, cells int) []string {
	out := append([]string{""}, v.header(m, c, cells)...)
	inner := cells - width(bar)
	body, ok := []string(nil), false
	if c.markdown && !c.mine {
		body, ok = v.markdown.lines(c.text, inner)
	}
	if !ok {
		body = wrap(strings.Trim(termsafe.Text(c.text), "\n"), inner)
	}
	for _, l := range body {
		out = append(out, v.theme.dim.Render(bar)+l)
	}
	note := func(sign, text string, paint func(...string) string) {
		out = append(out, v.own(sign, oneLine(termsafe.Line(text)), cells, paint)...)
	}
	switch {
	case c.state == refused:
		note("✗ ", "Not sent: "+c.why, v.theme.bad.Render)
	case c.state == waiting && m.link.lost:
		note("○ ", "Waits for the connection.", v.theme.busy.Render)
	case c.state == waiting:
		note("○ ", "Sending…", v.theme.dim.Render)
	}
	if c.withdrawnBy != "" {
		note("· ", "Withdrawn by "+c.withdrawnBy+".", v.theme.dim.Render)
	}
	if c.cut {
		note("· ", "The rest is not shown here; /export writes all of it.", v.theme.dim.Render)
	}
	return out
}

// header shows the sender of a message, the answered participant, the
// addressees, and the thread or context.
func (v *view) header(m *model, c *chat, cells int) []string {
	words := m.heading(c)
	head := v.theme.name(c.from) + v.theme.dim.Render(words)
	if c.from == m.you {
		head = v.theme.bold.Render("you") + v.theme.dim.Render(words)
	}
	return wrapHanging(head, cells)
}

// heading returns the part of the header after the sender's name.
func (m *model) heading(c *chat) string {
	var b strings.Builder
	if c.answers != "" && c.answers != c.from {
		b.WriteString(" answers " + m.displayName(c.answers))
	}
	if len(c.to) > 0 {
		var list []string
		for _, id := range c.to {
			list = append(list, m.displayName(id))
		}
		b.WriteString(", to " + strings.Join(list, " and ") + " alone")
	}
	if c.turn > 0 {
		fmt.Fprintf(&b, " · turn %d", c.turn)
	}
	if c.thread != nil && c.thread != m.threads.active {
		fmt.Fprintf(&b, " · thread %d", c.thread.number)
	}
	if c.context != "" {
		b.WriteString(" · in " + string(c.context))
	}
	if !c.at.IsZero() {
		b.WriteString(" · " + c.at.In(m.now().Location()).Format("15:04"))
	}
	return b.String()
}

// displayName returns the display name of a participant: "you" for this one.
func (m *model) displayName(id protocol.ParticipantID) string {
	if id == m.you {
		return "you"
	}
	return shortName(id)
}

func (v *view) proposal(p *pendingProposal, cells int) []string {
	paint := v.theme.busy.Render
	text := []string{p.title(), "  " + p.call(maxListed)}
	if p.decided == "" {
		text = append(text, p.hint())
	} else {
		text, paint = append(text, "→ "+termsafe.Line(p.decided)), v.theme.dim.Render
	}
	return append([]string{""}, v.own("? ", lines{left: text}, cells, paint)...)
}

// status returns the line between conversation and prompt. The connection comes
// first, since the start of the line is never cut off.
func (v *view) status(m *model, below int, cells int) string {
	state, paint := m.link.words(), v.theme.good.Render
	if m.link.phase == client.Waiting {
		paint = v.theme.busy.Render
	} else if m.link.phase == client.Closed {
		paint = v.theme.bad.Render
	}
	parts := []string{paint(state)}
	if below > 0 {
		parts = append(parts, v.theme.bold.Render(fmt.Sprintf("↓ %d more", below)))
	}
	if n := m.outbox.unsent(); n > 0 && m.link.lost {
		parts = append(parts, v.theme.busy.Render(fmt.Sprintf("%d not sent", n)))
	}
	if n := len(m.work.pending); n > 0 {
		parts = append(parts, v.theme.busy.Render(textutil.Count(n, "proposal")))
	}
	if m.filter != "" {
		parts = append(parts, v.theme.bold.Render("context "+string(m.filter)))
	}
	parts = append(parts, v.theme.dim.Render(m.space), v.theme.dim.Render(m.threadStatus()), v.theme.dim.Render(m.otherParticipants()))
	return fit(strings.Join(parts, v.theme.dim.Render(" · ")), cells)
}

// threadStatus names the active thread and its addressees.
func (m *model) threadStatus() string {
	t := m.threads.active
	if t == nil {
		return "new thread"
	}
	words := fmt.Sprintf("thread %d", t.number)
	if t.turn > 0 {
		words += fmt.Sprintf(", turn %d", t.turn)
	}
	if len(t.to) > 0 {
		words += ", to " + termsafe.Line(names(t.to)) + " alone"
	}
	return words
}

// otherParticipants names the other connected participants.
func (m *model) otherParticipants() string {
	var list []string
	for _, p := range m.people.here {
		if p.ID != m.you {
			list = append(list, shortName(p.ID))
		}
	}
	if len(list) == 0 {
		return "nobody else is here"
	}
	return "here: " + strings.Join(list, ", ")
}

func (l *link) words() string {
	switch l.phase {
	case client.Waiting:
		return "○ not connected, trying again"
	case client.Closed:
		return "✗ closed"
	case client.Connected:
	}
	return "● connected"
}

// shown returns the blocks that match the filter.
func (m *model) shown() []*block {
	if m.filter == "" {
		return m.scroll.blocks
	}
	return slices.DeleteFunc(slices.Clone(m.scroll.blocks), func(b *block) bool { return !m.passes(b) })
}

// passes reports whether a block matches the filter: blocks in the context and
// in the contexts around it, later notices of the terminal, and unsent
// messages.
func (m *model) passes(b *block) bool {
	if m.filter == "" {
		return true
	}
	own := b.kind == noticeBlock || b.kind == errorBlock || b.kind == textBlock || b.kind == inputBlock
	open := b.chat != nil && b.chat.mine && b.chat.state != delivered
	within := b.context != "" && (b.context.Within(m.filter) || m.filter.Within(b.context))
	return within || open || own && b.context == m.filter
}

// duration formats a duration: 9s, 1m 12s.
func duration(d time.Duration, up bool) string {
	s := int(d / time.Second)
	if up && d%time.Second > 0 {
		s++
	}
	if s < 60 {
		return fmt.Sprintf("%ds", s)
	}
	return fmt.Sprintf("%dm %ds", s/60, s%60)
}
