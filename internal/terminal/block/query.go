package block

import (
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// Query formats the reasoning of a turn or a job in answer to a request, with a
// line break at its end; without reasoning it is one sentence. With a thread, the
// heading names it.
func Query(t *api.Turn, thread protocol.ID, s Style) string {
	var w writer
	w.style = s
	all := t.AllReasonings()
	if t.TurnNumber == 0 {
		w.job(t)
	}
	switch {
	case len(t.ToolCalls) == 0 && len(all) == 0:
		w.line("  ─ " + turn("Turn", "The job", t.TurnNumber) + " had no tool calls that you can see.")
	case len(all) == 0:
		w.line("  ─ No reasoning recorded for " + turn("turn", "the job", t.TurnNumber) + ".")
	}
	for i := range all {
		if i > 0 {
			w.line("")
		}
		w.full(&all[i], thread, len(all) > 1)
	}
	if t.Truncated {
		w.line(Truncated(t.TurnNumber))
	}
	return w.String()
}

// NoTurn reports that a thread has no such turn, or has no turns.
func NoTurn(n int) string {
	return fmt.Sprintf("  ✗ No reasoning data for turn %d in this thread.", n)
}

// Truncated reports that the gateway returned only a part of a turn.
func Truncated(n int) string {
	return "  ─ " + turn("Turn", "The job", n) + " is too long: a part of it is missing here."
}

// turn names a turn by its number, or a job.
func turn(name, job string, n int) string {
	if n == 0 {
		return job
	}
	return fmt.Sprintf("%s %d", name, n)
}

// job writes the question of a job and its result, which are in no chat.
func (w *writer) job(t *api.Turn) {
	w.line("  " + w.dim(dash+"Job of "+termsafe.Words(string(t.From))+", "+termsafe.Words(t.State)))
	if t.UserInput != "" {
		w.line("    " + w.dim("input:     "+quoted(t.UserInput)))
	}
	if t.Response != nil {
		w.line("    " + w.dim("response:  "+quoted(*t.Response)))
	}
	w.line("")
}

// full writes the reasoning of one agent, with its notes and its conclusion.
func (w *writer) full(r *api.Reasoning, thread protocol.ID, several bool) {
	in := ""
	if thread != "" && r.JobID == "" {
		in = "thread " + termsafe.Words(string(thread)) + ", "
	}
	w.line("  " + w.dim(dash+"Reasoning — "+in+where(r, several)))
	w.narrative(r.Narrative)
	w.details("  ", r.Details())
	for _, g := range r.Batches() {
		if g.Group != nil {
			w.line("")
			w.batch(g.Group)
		}
		for i, n := range g.Decisions {
			if g.Group == nil || i > 0 {
				w.line("")
			}
			d := &r.ToolDecisions[n]
			indent := w.tool(d, g.Group != nil, "")
			w.line(indent + w.dim(`rationale: "`+termsafe.Words(d.Rationale)+`"`))
			w.line(indent + w.dim("params:    "+Params(d)))
			w.fulfilledWith(indent, d)
			w.line(indent + w.outcome("outcome:   ", d))
		}
	}
	for i := range r.Parts {
		w.line("")
		w.part(&r.Parts[i], false)
	}
	for i := range r.Notes {
		n := &r.Notes[i]
		w.line("")
		w.line("  " + w.dim(dash+termsafe.Words(strings.TrimPrefix(string(n.Kind), "reasoning.")+` "`+n.Text)+`"`))
		w.details("    ", n.Details())
	}
	if r.Conclusion != nil {
		w.line("")
		w.line("  " + w.dim(dash+"conclusion"))
		w.details("    ", r.Conclusion.Details())
	}
}
