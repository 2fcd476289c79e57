package block

import (
	"strings"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
)

// details writes details, one on each line.
func (w *writer) details(indent string, list []api.Detail) {
	for _, d := range list {
		w.line(indent + w.dim(termsafe.Cut(termsafe.Words(d.Label+": "+d.Text), maxSummary)))
	}
}

// given writes the notes of an agent and its conclusion.
func (w *writer) given(r *api.Reasoning) {
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
