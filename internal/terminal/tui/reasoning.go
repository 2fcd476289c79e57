package tui

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/terminal/block"
	"github.com/meup-protocol/meup/internal/terminal/conversation"
)

// spinner holds the frames of the sign for reasoning in progress.
const spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

// shownSteps is the number of steps that are shown of reasoning in progress.
const shownSteps = 2

// reasoning lays out a participant's reasoning, in progress or ended.
func (v *view) reasoning(d *block.Reasoning, cells int) []string {
	out := []string{""}
	sign, words, paint := "▸ ", reasoningTitle(v.model, d), v.Theme.Dim.Render
	if d.Open {
		sign = "▾ "
	}
	if d.State == block.Thinking {
		beats := []rune(spinner)
		sign, paint = string(beats[d.Beat%len(beats)])+" ", v.Theme.busy.Render
	}
	why := ""
	switch {
	case d.State == block.Canceled && d.Why != "":
		why = ": " + d.Why
	case d.State == block.Stopped:
		why = " left"
	}
	head := paint(sign+words) + v.Theme.Dim.Render(" · ") + v.Theme.name(d.Agent)
	out = append(out, Fit(head+v.Theme.Dim.Render(termsafe.Line(why)), cells))
	if d.Open && d.Why != "" {
		for _, l := range wrap(termsafe.Line(d.Why), max(cells-4, 1)) {
			out = append(out, v.Theme.Dim.Render("  "+bar+l))
		}
	}
	if d.Open {
		out = append(out, v.details(d.Details(), cells)...)
	}
	steps := d.Steps(v.model.Filter)
	hidden := d.Dropped
	switch {
	case !d.Open && d.State != block.Thinking:
		return out
	case !d.Open && len(steps) > shownSteps:
		steps, hidden = steps[len(steps)-shownSteps:], 0
	}
	if d.Open && hidden > 0 {
		out = append(out, v.Theme.Dim.Render(Fit(fmt.Sprintf("  (%d earlier steps omitted)", hidden), cells)))
	}
	for _, s := range steps {
		out = append(out, v.step(s, d.Open, cells)...)
	}
	return out
}

// step lays out a step: in one line, or, in an open block, in as many as it
// needs. Of a streamed step the end is shown.
func (v *view) step(s block.Step, open bool, cells int) []string {
	const sign, indent = "  • ", "  " + bar
	inner := max(cells-cellWidth(indent), 1)
	text, author := strings.TrimSpace(termsafe.Text(s.Text)), ""
	if text == "" {
		return nil
	}
	if s.By != "" {
		author = termsafe.Name(s.By) + ": "
	}
	if !open {
		text = termsafe.Words(text)
		if w, room := cellWidth(text), inner-cellWidth(author); s.Stream != "" && w > room {
			text = "…" + ansi.TruncateLeftWc(text, w-room+1, "")
		}
		return []string{v.Theme.Dim.Render(sign + Fit(author+text, inner))}
	}
	var out []string
	for i, l := range wrap(author+text, inner) {
		begin := indent
		if i == 0 {
			begin = sign
		}
		out = append(out, v.Theme.Dim.Render(begin+l))
	}
	return append(out, v.details(s.Details, cells)...)
}

// details lays out details, each from a line of its own.
func (v *view) details(list []api.Detail, cells int) []string {
	const indent = "  " + bar
	var out []string
	for _, d := range list {
		for i, l := range wrap(termsafe.Words(d.Label+": "+d.Text), max(cells-cellWidth(indent)-2, 1)) {
			if i > 0 {
				l = "  " + l
			}
			out = append(out, v.Theme.Dim.Render(Fit(indent+l, cells)))
		}
	}
	return out
}

// lasted formats the duration of the reasoning; spoken: with full words.
func lasted(m *conversation.Model, d *block.Reasoning, spoken bool) string {
	took, known := d.Elapsed(m.GatewayTime())
	took = max(took, 1)
	switch {
	case !known:
		return "a few seconds"
	case spoken:
		return textutil.Duration(took)
	case d.State != block.Thinking:
		return textutil.Took(took)
	}
	return textutil.ShortDuration(took)
}

// reasoningTitle describes the state and the duration of the reasoning.
func reasoningTitle(m *conversation.Model, d *block.Reasoning) string {
	switch long := lasted(m, d, false); d.State {
	case block.Thinking:
		if d.Start.IsZero() {
			return "Reasoning"
		}
		return "Reasoning · " + long
	case block.Canceled:
		return "Canceled after " + long
	case block.Stopped:
		return "Stopped after " + long
	default:
		return "Thought for " + long
	}
}
