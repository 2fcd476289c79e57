package block

import (
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
)

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
