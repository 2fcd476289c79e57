package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"strings"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// writeReasoning writes the reasoning of one agent as a folded block.
func writeReasoning(b *strings.Builder, r *api.Reasoning) {
	agent := html.EscapeString(strings.ReplaceAll(Clean(string(r.Agent)), "\n", " "))
	work := textutil.Count(len(r.ToolDecisions), "call")
	if len(r.Parts) > 0 {
		work += " · " + textutil.Count(len(r.Parts), "part")
	}
	if r.AskedBy != "" {
		work += " · asked by <code>" + html.EscapeString(oneLine(string(r.AskedBy))) + "</code>"
	}
	heading := "Thought for a few seconds"
	switch {
	case r.CompletedAt == nil:
		heading = "Reasoning, not ended"
	case !r.StartedAt.IsZero():
		heading = "Thought for " + textutil.Took(r.CompletedAt.Sub(r.StartedAt.Time))
	}
	fmt.Fprintf(b, "<details>\n<summary>%s · <code>%s</code> · %s</summary>\n\n", heading, agent, work)
	if !blank(r.Narrative) {
		b.WriteString(formatText(r.Narrative))
	}
	writeDetails(b, r.Details())
	for _, batch := range r.Batches() {
		mark := ""
		if batch.Group != nil {
			fmt.Fprintf(b, "**Parallel batch %d** · %s\n\n", *batch.Group, textutil.Count(len(batch.Decisions), "call"))
			mark = "↳ "
		}
		for _, i := range batch.Decisions {
			writeDecision(b, i+1, mark, &r.ToolDecisions[i])
		}
	}
	for i := range r.Parts {
		writePart(b, &r.Parts[i])
	}
	for i := range r.Notes {
		n := &r.Notes[i]
		fmt.Fprintf(b, "**Note** · %s · %s\n\n%s", code(strings.TrimPrefix(string(n.Kind), "reasoning.")), code(string(n.ID)), formatText(n.Text))
		writeDetails(b, n.Details())
	}
	if r.Conclusion != nil {
		b.WriteString("**Conclusion**\n\n")
		writeDetails(b, r.Conclusion.Details())
	}
	b.WriteString("</details>\n\n")
}

// writePart writes a part that another participant was asked to take: the
// question, and the participant's conclusion.
func writePart(b *strings.Builder, p *api.Part) {
	list := []string{prose(oneLine(p.Result()))}
	if p.DurationMS != nil {
		list = append(list, textutil.Thousands(*p.DurationMS)+" ms")
	}
	fmt.Fprintf(b, "**Part for %s** · %s\n\n%s", code(string(p.Participant)), strings.Join(append(list, code(string(p.ID))), " · "), formatText(p.Question))
	writeDetails(b, p.Asked())
	if p.Outcome == api.PartConcluded {
		fmt.Fprintf(b, "**Conclusion of %s**\n\n%s", code(string(p.Participant)), formatText(p.Conclusion))
	}
	writeDetails(b, p.Ended())
}

// oneLine returns a text without line breaks and control characters.
func oneLine(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }

// writeDetails writes details as a list, with one line each.
func writeDetails(b *strings.Builder, list []api.Detail) {
	for _, d := range list {
		fmt.Fprintf(b, "- %s: %s\n", code(d.Label), prose(oneLine(d.Text)))
	}
	if len(list) > 0 {
		b.WriteByte('\n')
	}
}

// writeDecision writes one call: the outcome, the rationale and the parameters.
func writeDecision(b *strings.Builder, n int, mark string, d *api.Decision) {
	by := ""
	if d.DecidedBy != "" {
		by = code(string(d.DecidedBy))
	}
	facts := []string{exchange.JoinOutcome(d.Outcome, by, prose(strings.ReplaceAll(Clean(d.OutcomeText), "\n", " ")))}
	if d.AnsweredBy != "" {
		facts = append(facts, "answered by "+code(string(d.AnsweredBy)))
	}
	if d.DurationMS != nil {
		facts = append(facts, textutil.Thousands(*d.DurationMS)+" ms")
	}
	if d.ResultBytes != nil {
		facts = append(facts, textutil.Count(*d.ResultBytes, "byte"))
	}
	facts = append(facts, code(string(d.CallID)))
	fmt.Fprintf(b, "**%d. %s%s** · %s\n\n", n, mark, code(d.ToolName), strings.Join(facts, " · "))
	b.WriteString(formatText(d.Rationale))
	switch {
	case !kept(d.Parameters):
		fmt.Fprintf(b, "The parameters have %s and were not kept.\n\n", textutil.Count(d.ParameterBytes, "byte"))
	case string(d.Parameters) != "{}":
		b.WriteString(fenced("json", parameters(d.Parameters)) + "\n")
	}
}

// kept reports whether the parameters of a call are known. In a turn that was
// read over HTTP, unknown ones are null.
func kept(parameters json.RawMessage) bool { return parameters != nil && string(parameters) != "null" }

// parameters returns the parameters as indented JSON. Control characters are
// escaped: in JSON they can only be in strings.
func parameters(raw json.RawMessage) string {
	var indented bytes.Buffer
	text := string(raw)
	if json.Indent(&indented, raw, "", "  ") == nil {
		text = indented.String()
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case r == '\n':
			b.WriteByte('\n')
		case isControl(r) || r == '\u2028' || r == '\u2029':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + "\n"
}
