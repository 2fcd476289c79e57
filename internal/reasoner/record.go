package reasoner

import (
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// maxRecorded bounds each text of a record, in bytes.
const maxRecorded = 1000

// record completes the record of a decision, which has its ids and its result.
// It bounds the texts and masks the key of the request in them.
func record(r *wire.LogRecord, l *wire.LLM, d planner.Decision, took time.Duration, err error) *wire.LogRecord {
	r.Status, r.Provider, r.Model, r.DurationMS = wire.StatusOK, d.Provider, d.Model, took.Milliseconds()
	r.InputTokens, r.OutputTokens, r.Context = d.Usage.Input, d.Usage.Output, contextTrace(d.Shown)
	switch {
	case err != nil:
		f := FaultOf(err)
		r.Status, r.Error, r.Message = wire.StatusError, f.Code, f.Message
	case d.Fault != nil:
		r.Error = telemetry.ErrorClass(d.Fault)
	}
	for _, text := range decisionTexts(r) {
		*text = textutil.Shorten(MaskKey(*text, l), maxRecorded)
	}
	return r
}

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
