package reasoner

import (
	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
)

// maxRecorded bounds each text of a record, in bytes.
const maxRecorded = 1000

// fallbackOf returns why a model did not decide; "" if it did, or was not asked.
func fallbackOf(trace []wire.TraceItem) string {
	for _, it := range trace {
		if it.Step == "fallback" {
			return it.Detail
		}
	}
	return ""
}

func contextTrace(m *contextwindow.Meta) *wire.ContextTrace {
	if m == nil {
		return nil
	}
	return &wire.ContextTrace{
		Goal: string(m.Goal), Tokens: m.Tokens, Budget: m.Budget, Previews: m.Previews, Summarized: m.Summaries,
		Dropped: m.Dropped, Messages: m.History, Thoughts: m.Thoughts, Steps: m.Steps,
		Tools: m.Tools, ToolNames: m.ToolNames,
	}
}
