package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"strings"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/internal/turns"
)

// writeReasoning writes the reasoning of one agent as a folded block.
func writeReasoning(b *strings.Builder, r *turns.TurnReasoningInfo) {
	agent := html.EscapeString(strings.ReplaceAll(Clean(string(r.Agent)), "\n", " "))
	fmt.Fprintf(b, "<details>\n<summary>%s · <code>%s</code> · %s</summary>\n\n", thought(r), agent, textutil.Count(len(r.ToolDecisions), "call"))
	if !blank(r.Narrative) {
		b.WriteString(formatText(r.Narrative))
	}
	for _, batch := range batches(r.ToolDecisions) {
		mark := ""
		if len(batch) > 1 {
			fmt.Fprintf(b, "**Parallel batch %d** · %s\n\n", *r.ToolDecisions[batch[0]].ParallelGroup, textutil.Count(len(batch), "call"))
			mark = "↳ "
		}
		for _, i := range batch {
			writeDecision(b, i+1, mark, &r.ToolDecisions[i])
		}
	}
	b.WriteString("</details>\n\n")
}

// thought returns a heading with the duration of an agent's reasoning.
func thought(r *turns.TurnReasoningInfo) string {
	switch {
	case r.CompletedAt == nil:
		return "Reasoning, not ended"
	case r.StartedAt.IsZero():
		return "Thought for a few seconds"
	}
	return "Thought for " + seconds(r.CompletedAt.Sub(r.StartedAt.Time))
}

// batches returns the indexes of decisions, with each parallel group together,
// in order of the first one of each group.
func batches(list []turns.ToolDecisionInfo) [][]int {
	var all [][]int
	at := make(map[int]int) // by group
	for i, d := range list {
		if d.ParallelGroup != nil {
			if n, ok := at[*d.ParallelGroup]; ok {
				all[n] = append(all[n], i)
				continue
			}
			at[*d.ParallelGroup] = len(all)
		}
		all = append(all, []int{i})
	}
	return all
}

// writeDecision writes one call: the outcome, the rationale and the parameters.
func writeDecision(b *strings.Builder, n int, mark string, d *turns.ToolDecisionInfo) {
	fmt.Fprintf(b, "**%d. %s%s** · %s\n\n", n, mark, code(d.ToolName), strings.Join(facts(d), " · "))
	b.WriteString(formatText(d.Rationale))
	switch {
	case d.Parameters == nil:
		fmt.Fprintf(b, "The parameters have %s and were not kept.\n\n", textutil.Count(d.ParameterBytes, "byte"))
	case string(d.Parameters) != "{}":
		b.WriteString(fenced("json", parameters(d.Parameters)) + "\n")
	}
}

// facts returns the outcome of a call and its details.
func facts(d *turns.ToolDecisionInfo) []string {
	list := []string{d.Outcome}
	if d.DecidedBy != "" {
		list[0] += " by " + code(string(d.DecidedBy))
	}
	if d.AnsweredBy != "" {
		list = append(list, "answered by "+code(string(d.AnsweredBy)))
	}
	if d.DurationMS != nil {
		list = append(list, textutil.Thousands(*d.DurationMS)+" ms")
	}
	if d.ResultBytes != nil {
		list = append(list, textutil.Count(*d.ResultBytes, "byte"))
	}
	return append(list, code(string(d.CallID)))
}

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
