// Package block formats the content of a space for terminals: the reasoning of a turn, in
// the two forms that the specification of reasoning summaries defines ([TurnBlock] below
// an answer, [Query] on request), reasoning in progress ([Reasoning]), and summaries of
// other envelopes. All output is safe for a terminal; its only escape sequences come from
// the [Style].
package block

import (
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// TurnBlock formats the reasoning of a turn for display below an answer, with a
// line break at its end. It is empty for a turn without tool calls and parts for
// other agents; of a job, other reasoning is shown too. If several agents reasoned,
// each has a block.
func TurnBlock(t *api.Turn, s Style) string {
	var w writer
	w.style = s
	all := t.AllReasonings()
	for i := range all {
		r := &all[i]
		if len(r.ToolDecisions)+len(r.Parts) == 0 && r.AskedBy == "" && r.JobID == "" {
			continue
		}
		w.line("  " + w.dim(dash+"Reasoning ("+where(r, len(all) > 1)+")"))
		w.narrative(r.Narrative)
		for _, g := range r.Batches() {
			w.batch(g.Group)
			for _, n := range g.Decisions {
				w.brief(&r.ToolDecisions[n], g.Group != nil)
			}
		}
		for n := range r.Parts {
			w.part(&r.Parts[n], true)
		}
	}
	return w.String()
}

// MarkedText formats the reasoning that an agent wrote into the text of a message; "": there is none.
func MarkedText(m textutil.Marks, s Style) string {
	if m.IsEmpty() {
		return ""
	}
	var w writer
	w.style = s
	w.line("  " + w.dim(dash+"Reasoning (in the message)"))
	for _, step := range m.Steps {
		w.line("  " + w.dim(strings.ReplaceAll(termsafe.Text(step), "\n", "\n  ")))
	}
	return w.String()
}

// where names a turn or a job, and its agent if there are several.
func where(r *api.Reasoning, several bool) string {
	in := turn("turn", "job "+termsafe.Words(string(r.JobID)), r.TurnNumber)
	if several {
		in += ", " + termsafe.Words(string(r.Agent))
	}
	if r.AskedBy != "" {
		in += ", asked by " + termsafe.Words(string(r.AskedBy))
	}
	return in
}

// dash begins the lines of a block.
const dash = "┄ "

// writer builds the text.
type writer struct {
	strings.Builder
	style Style
}

func (w *writer) line(s string) {
	w.WriteString(s)
	w.WriteByte('\n')
}

func (w *writer) dim(s string) string { return w.style.Paint(w.style.Dim, s) }

// narrative writes the narrative in quotes, with its further lines aligned
// below the first.
func (w *writer) narrative(text string) {
	const label = "Narrative: "
	text = strings.TrimSpace(termsafe.Text(text))
	if text == "" {
		return
	}
	indent := "\n  " + strings.Repeat(" ", len(label)+1)
	w.line("  " + w.dim(label+`"`+strings.ReplaceAll(text, "\n", indent)+`"`))
}

// batch writes the heading of parallel calls.
func (w *writer) batch(number *int) {
	if number != nil {
		w.line("  " + w.dim(fmt.Sprintf("%s[parallel batch %d]", dash, *number)))
	}
}

// brief writes a call in few lines.
func (w *writer) brief(d *api.Decision, parallel bool) {
	indent := w.tool(d, parallel, `  "`+termsafe.Words(d.Rationale)+`"`)
	w.line(indent + w.dim("params: "+Params(d)))
	w.fulfilledWith(indent, d)
	w.line(indent + w.outcome("→ ", d))
}

// fulfilledWith writes the parameters with which a proposal was fulfilled, if
// they differ from the proposed ones.
func (w *writer) fulfilledWith(indent string, d *api.Decision) {
	if len(d.FulfilledWith) > 0 && string(d.FulfilledWith) != "null" {
		w.line(indent + w.dim("fulfilled with: "+inShort(d.FulfilledWith)))
	}
}

// tool writes the line with a tool's name and returns the indent of the lines
// below it.
func (w *writer) tool(d *api.Decision, parallel bool, rest string) string {
	begin, indent := dash, "    "
	if parallel {
		begin, indent = dash+"  ↳ ", "       "
	}
	name := w.style.Paint(w.style.Tool, termsafe.Words(d.ToolName))
	w.line("  " + w.dim(begin) + name + w.dim(rest))
	return indent
}

func (w *writer) outcome(label string, d *api.Decision) string {
	switch d.Outcome {
	case api.OutcomeError, api.OutcomeRejected:
		return w.dim(label) + w.style.Paint(w.style.Bad, outcome(d))
	}
	return w.dim(label + outcome(d))
}

// Style holds escape sequences for parts of a text, and Reset, which ends all
// of them. The zero Style has no color.
type Style struct {
	Dim   string // frames, labels, secondary text
	Tool  string // names of tools
	Bad   string // errors and refusals
	Name  string // participants
	Reset string
}

// Colors is the usual style: gray frames, cyan tools.
func Colors() Style {
	return Style{Dim: "\x1b[90m", Tool: "\x1b[36m", Bad: "\x1b[31m", Name: "\x1b[1m", Reset: "\x1b[0m"}
}

// Paint wraps a text in one of the style's sequences.
func (s Style) Paint(sequence, text string) string {
	if sequence == "" || text == "" {
		return text
	}
	return sequence + text + s.Reset
}

// part writes a part that another participant was asked to take: in few lines, or
// with a label on each line.
func (w *writer) part(p *api.Part, brief bool) {
	const indent = "    "
	name := "  " + w.dim(dash+"asked ") + w.style.Paint(w.style.Name, termsafe.Words(string(p.Participant)))
	if brief {
		if p.Rationale != "" {
			name += w.dim(`  "` + termsafe.Words(p.Rationale) + `"`)
		}
		w.line(name)
		w.line(indent + w.dim("question: "+termsafe.Cut(termsafe.Words(p.Question), maxSummary)))
		w.line(indent + w.result("→ ", p))
		return
	}
	w.line(name)
	w.line(indent + w.dim("question:  "+quoted(p.Question)))
	w.details(indent, p.Asked())
	w.line(indent + w.result("outcome:   ", p))
	w.details(indent, p.Ended())
}

// result returns the outcome of a part with its conclusion.
func (w *writer) result(label string, p *api.Part) string {
	text := termsafe.Cut(termsafe.Words(p.Result()), maxSummary)
	switch p.Outcome {
	case api.PartDeclined, api.PartCancelled:
		return w.dim(label) + w.style.Paint(w.style.Bad, text)
	}
	if p.Conclusion != "" {
		text += ": " + quoted(p.Conclusion)
	}
	return w.dim(label + text)
}

func quoted(text string) string { return `"` + termsafe.Cut(termsafe.Words(text), maxSummary) + `"` }

// details writes details, one on each line.
func (w *writer) details(indent string, list []api.Detail) {
	for _, d := range list {
		w.line(indent + w.dim(termsafe.Cut(termsafe.Words(d.Label+": "+d.Text), maxSummary)))
	}
}
