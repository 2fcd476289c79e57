package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/meup-protocol/meup/internal/terminal/termsafe"
)

// spinner holds the frames of the sign for reasoning in progress.
const spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

// shownSteps is the number of steps that are shown of reasoning in progress.
const shownSteps = 2

// reasoning lays out a participant's reasoning, in progress or ended.
func (v *view) reasoning(m *model, d *reasoning, cells int) []string {
	out := []string{""}
	sign, words, paint := "▸ ", m.reasoningTitle(d), v.theme.dim.Render
	if d.open {
		sign = "▾ "
	}
	if d.state == thinking {
		beats := []rune(spinner)
		sign, paint = string(beats[d.beat%len(beats)])+" ", v.theme.busy.Render
	}
	head := paint(sign+words) + v.theme.dim.Render(" · ") + v.theme.name(d.agent)
	out = append(out, fit(head+v.theme.dim.Render(termsafe.Line(m.reason(d))), cells))
	if d.open && d.why != "" {
		for _, l := range wrap(termsafe.Line(d.why), max(cells-4, 1)) {
			out = append(out, v.theme.dim.Render("  "+bar+l))
		}
	}
	steps := d.within(m)
	hidden := d.dropped
	switch {
	case !d.open && d.state != thinking:
		return out
	case !d.open && len(steps) > shownSteps:
		steps, hidden = steps[len(steps)-shownSteps:], 0
	}
	if d.open && hidden > 0 {
		out = append(out, v.theme.dim.Render(fit(fmt.Sprintf("  (%d earlier steps are not kept)", hidden), cells)))
	}
	for _, s := range steps {
		out = append(out, v.step(s, d.open, cells)...)
	}
	return out
}

// step lays out a step: in one line, or, in an open block, in as many as it
// needs. Of a streamed step the end is shown.
func (v *view) step(s step, open bool, cells int) []string {
	const sign, indent = "  • ", "  " + bar
	inner := max(cells-width(indent), 1)
	text, author := strings.TrimSpace(termsafe.Text(s.text)), ""
	if text == "" {
		return nil
	}
	if s.by != "" {
		author = shortName(s.by) + ": "
	}
	if !open {
		text = termsafe.Words(text)
		if w, room := width(text), inner-width(author); s.stream != "" && w > room {
			text = "…" + ansi.TruncateLeftWc(text, w-room+1, "")
		}
		return []string{v.theme.dim.Render(sign + fit(author+text, inner))}
	}
	var out []string
	for i, l := range wrap(author+text, inner) {
		begin := indent
		if i == 0 {
			begin = sign
		}
		out = append(out, v.theme.dim.Render(begin+l))
	}
	return out
}

// within returns the steps that match the filter.
func (d *reasoning) within(m *model) []step {
	if m.filter == "" || d.path.Within(m.filter) {
		return d.steps
	}
	var list []step
	for _, s := range d.steps {
		if s.context.Within(m.filter) {
			list = append(list, s)
		}
	}
	return list
}

// lasted formats the duration of the reasoning; spoken: with full words.
func (m *model) lasted(d *reasoning, spoken bool) string {
	took, known := d.elapsed(m.skew.gateway(m.now()))
	switch {
	case !known:
		return "a few seconds"
	case spoken:
		return formatTTL(max(took, 1))
	}
	return duration(max(took, 1), d.state != thinking)
}

// reasoningTitle describes the state and the duration of the reasoning.
func (m *model) reasoningTitle(d *reasoning) string {
	switch long := m.lasted(d, false); d.state {
	case thinking:
		if d.start.IsZero() {
			return "Reasoning"
		}
		return "Reasoning · " + long
	case cancelled:
		return "Cancelled after " + long
	case stopped:
		return "Stopped after " + long
	default:
		return "Thought for " + long
	}
}

// reason describes why the reasoning ended.
func (m *model) reason(d *reasoning) string {
	switch {
	case d.state == cancelled && d.why != "":
		return ": " + d.why
	case d.state == stopped:
		return " has left"
	}
	return ""
}
