package tui

import (
	"fmt"
	"hash/fnv"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/terminal/conversation"
	"github.com/meup-protocol/meup/protocol"
)

// bar precedes all text of participants, so that it cannot imitate a line of
// the terminal.
const bar = "│ "

// more precedes continuation lines of the terminal's own text.
const more = "╎ "

// view lays out a model for a screen. It changes only its own position and its
// cache of layouts, and which reasoning is open.
type view struct {
	Theme    theme
	model    *conversation.Model
	markdown markdown
	cache    map[*conversation.Block]layout

	away  bool                // the person has scrolled up
	top   *conversation.Block // when away: the block at the top, and the index of its first visible line
	line  int
	below int // lines below the screen, when away
	seen  []*conversation.Block
}

// layout is the cached layout of a block.
type layout struct {
	revision, epoch, cells int
	lines                  []string
}

// maxCached bounds the cached layouts. The scrollback is smaller.
const maxCached = 4096

// newView returns a view that follows the end of the conversation.
func newView(m *conversation.Model, colored bool) *view {
	return &view{Theme: newTheme(colored), model: m, markdown: markdown{color: colored}, cache: make(map[*conversation.Block]layout)}
}

// block returns the layout of a block for a width; no line is wider.
func (v *view) block(b *conversation.Block, cells int) []string {
	if c, ok := v.cache[b]; ok && c.revision == b.Revision && c.epoch == v.model.Epoch && c.cells == cells {
		return c.lines
	}
	var out []string
	switch b.Kind {
	case conversation.ChatBlock:
		out = v.chat(b.Chat, cells)
	case conversation.ReasoningBlock:
		out = v.reasoning(b.Reasoning, cells)
	case conversation.ProposalBlock:
		q, paint := b.Proposal, v.Theme.busy.Render
		text := []string{q.Title(), "  " + q.Brief()}
		if q.Decided != "" {
			text, paint = append(text, "→ "+termsafe.Line(q.Decided)), v.Theme.Dim.Render
		} else if hint := q.Hint(); hint != "" {
			text = append(text, hint)
		}
		out = append([]string{""}, v.own("? ", conversation.Lines{Left: text}, cells, paint)...)
	case conversation.NoticeBlock:
		out = v.own("· ", b.Lines, cells, v.Theme.Dim.Render)
	case conversation.ErrorBlock:
		out = v.own("✗ ", b.Lines, cells, v.Theme.bad.Render)
	case conversation.InputBlock:
		out = append([]string{""}, v.own("› ", b.Lines, cells, v.Theme.Dim.Render)...)
	case conversation.TextBlock:
		out = []string{""}
		for _, l := range b.Lines.Left {
			out = append(out, WrapHanging(painted(l), cells)...)
		}
	}
	if len(v.cache) >= maxCached {
		clear(v.cache)
	}
	v.cache[b] = layout{b.Revision, v.model.Epoch, cells, out}
	return out
}

// own lays out the terminal's own lines: a sign before the first, a bar before
// all others. Pairs are laid out in two columns if there is room for them.
func (v *view) own(sign string, b conversation.Lines, cells int, paint func(...string) string) []string {
	var out []string
	put := func(text, indent string) {
		room := max(cells-cellWidth(sign)-cellWidth(indent), 1)
		for i, part := range wrap(text, room) {
			begin := more
			if len(out) == 0 {
				begin = sign
			}
			if i > 0 && len(b.Left) > 1 && cellWidth(begin+indent+"  "+part) <= cells {
				begin += "  "
			}
			out = append(out, paint(begin+indent+part))
		}
	}
	for i, l := range b.Left {
		body := strings.TrimLeft(l, " ")
		indent := l[:len(l)-len(body)]
		switch right := b.RightOf(i); {
		case right == "":
			put(body, indent)
		case cells >= 72:
			put(body+strings.Repeat(" ", max(column-cellWidth(body), 0)+1)+right, indent)
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
func (v *view) chat(c *conversation.Chat, cells int) []string {
	words := heading(v.model, c)
	head := v.Theme.name(c.From) + v.Theme.Dim.Render(words)
	if c.From == v.model.You {
		head = v.Theme.Bold.Render("you") + v.Theme.Dim.Render(words)
	}
	out := append([]string{""}, WrapHanging(head, cells)...)
	inner := cells - cellWidth(bar)
	body, ok := []string(nil), false
	if c.Markdown && !c.Mine {
		body, ok = v.markdown.lines(c.Text, inner)
	}
	if !ok {
		body = wrap(strings.Trim(termsafe.Text(c.Text), "\n"), inner)
	}
	for _, l := range body {
		out = append(out, v.Theme.Dim.Render(bar)+l)
	}
	note := func(sign, text string, paint func(...string) string) {
		out = append(out, v.own(sign, conversation.OneLine(termsafe.Line(text)), cells, paint)...)
	}
	switch {
	case c.State == conversation.Refused:
		note("✗ ", "Not sent: "+c.Why, v.Theme.bad.Render)
	case c.State == conversation.Waiting && v.model.Link.Lost:
		note("○ ", "Waiting for the connection.", v.Theme.busy.Render)
	case c.State == conversation.Waiting:
		note("○ ", "Sending…", v.Theme.Dim.Render)
	}
	if c.WithdrawnBy != "" {
		note("· ", "Withdrawn by "+c.WithdrawnBy+".", v.Theme.Dim.Render)
	}
	if c.Cut {
		note("· ", "Truncated; /export writes the full text.", v.Theme.Dim.Render)
	}
	return out
}

// heading returns the header of a message after the sender's name: the answered participant, the
// addressees, and the thread or context.
func heading(m *conversation.Model, c *conversation.Chat) string {
	var b strings.Builder
	if c.Answers != "" && c.Answers != c.From {
		b.WriteString(" answers " + displayName(m, c.Answers))
	}
	if len(c.To) > 0 {
		b.WriteString(", to " + nameList(m, c.To, " and ") + " only")
	}
	if c.Turn > 0 {
		fmt.Fprintf(&b, " · turn %d", c.Turn)
	}
	if c.Thread != nil && c.Thread != m.ActiveThread() {
		fmt.Fprintf(&b, " · thread %d", c.Thread.Number)
	}
	if c.Context != "" {
		b.WriteString(" · in " + string(c.Context))
	}
	if !c.At.IsZero() {
		b.WriteString(" · " + c.At.In(m.GatewayTime().Location()).Format("15:04"))
	}
	return b.String()
}

// nameList formats the names of participants.
func nameList(m *conversation.Model, ids []protocol.ParticipantID, sep string) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = displayName(m, id)
	}
	return strings.Join(list, sep)
}

// displayName returns the display name of a participant: "you" for this one.
func displayName(m *conversation.Model, id protocol.ParticipantID) string {
	if id == m.You {
		return "you"
	}
	return termsafe.Name(id)
}

// Status returns the line between conversation and prompt. The connection comes
// first, since the start of the line is never cut off.
func (v *view) Status(cells int) string {
	state, paint := "● connected", v.Theme.good.Render
	switch v.model.Link.Phase {
	case client.Waiting:
		state, paint = "○ reconnecting…", v.Theme.busy.Render
	case client.Closed:
		state, paint = "✗ disconnected", v.Theme.bad.Render
	case client.Connected:
	}
	parts := []string{paint(state)}
	if v.below > 0 {
		parts = append(parts, v.Theme.Bold.Render(fmt.Sprintf("↓ %d more", v.below)))
	}
	if n := len(v.model.Unsent()); n > 0 && v.model.Link.Lost {
		parts = append(parts, v.Theme.busy.Render(fmt.Sprintf("%d unsent", n)))
	}
	if n := v.model.PendingProposals(); n > 0 {
		parts = append(parts, v.Theme.busy.Render(fmt.Sprintf("%d awaiting approval", n)))
	}
	if v.model.Filter != "" {
		parts = append(parts, v.Theme.Bold.Render("context "+string(v.model.Filter)))
	}
	thread, with := "new thread", "no other participants"
	if t := v.model.ActiveThread(); t != nil {
		thread = fmt.Sprintf("thread %d", t.Number)
		if t.Turn > 0 {
			thread += fmt.Sprintf(", turn %d", t.Turn)
		}
		if len(t.To) > 0 {
			thread += ", to " + nameList(v.model, t.To, ", ") + " only"
		}
	}
	if others := v.model.Others(); len(others) > 0 {
		with = "with " + nameList(v.model, others, ", ")
	}
	parts = append(parts, v.Theme.Dim.Render(v.model.Space), v.Theme.Dim.Render(thread), v.Theme.Dim.Render(with))
	return Fit(strings.Join(parts, v.Theme.Dim.Render(" · ")), cells)
}

// theme holds the styles: the sixteen colors that every terminal has, or none.
type theme struct {
	Dim, Bold, bad, good, busy lipgloss.Style
	names                      []lipgloss.Style
}

func newTheme(color bool) theme {
	plain := lipgloss.NewStyle()
	if !color {
		return theme{plain, plain, plain, plain, plain, []lipgloss.Style{plain}}
	}
	t := theme{
		Dim: plain.Foreground(lipgloss.BrightBlack), Bold: plain.Bold(true), bad: plain.Foreground(lipgloss.Red),
		good: plain.Foreground(lipgloss.Green), busy: plain.Foreground(lipgloss.Yellow),
	}
	for _, c := range []lipgloss.Style{
		plain.Foreground(lipgloss.Cyan), plain.Foreground(lipgloss.Magenta), plain.Foreground(lipgloss.Blue),
		plain.Foreground(lipgloss.Green), plain.Foreground(lipgloss.Yellow),
	} {
		t.names = append(t.names, c.Bold(true))
	}
	return t
}

// name styles a participant's name, always in the same color.
func (t *theme) name(id protocol.ParticipantID) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return t.names[int(h.Sum32())%len(t.names)].Render(termsafe.Name(id))
}
