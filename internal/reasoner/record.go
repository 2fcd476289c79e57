package reasoner

import (
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/reasoner/api"
	"github.com/meup-protocol/meup/internal/reasoner/decisionlog"
	"github.com/meup-protocol/meup/internal/textutil"
)

// maxRecorded bounds each text of a record, in bytes.
const maxRecorded = 1000

// newRecord returns the part of a record that both types have.
func newRecord(kind, session, id string, d planner.Decision, out string, took time.Duration, err error) *wire.LogRecord {
	r := &wire.LogRecord{
		Type: kind, SessionID: session, IntentID: id, Status: wire.StatusOK, Outcome: out, Source: string(d.Source),
		Provider: d.Provider, Model: d.Model, DurationMS: took.Milliseconds(),
		InputTokens: d.Usage.Input, OutputTokens: d.Usage.Output, Context: contextTrace(d.Shown),
	}
	if err != nil {
		f := api.FaultOf(err)
		r.Status, r.Error, r.Message = wire.StatusError, f.Code, f.Message
	}
	return r
}

// clean bounds the texts of a record and masks the key of the request in them.
func clean(r *wire.LogRecord, l *wire.LLM) {
	for _, text := range decisionlog.Texts(r) {
		*text = textutil.Shorten(api.MaskKey(*text, l), maxRecorded)
	}
}

// recordIntent records a decision. out is nil if there is none.
func (s *Service) recordIntent(q *wire.AgentIntentRequest, id string, d planner.Decision, out *wire.AgentIntentResponse, took time.Duration, err error) {
	if s.o.Record == nil {
		return
	}
	r := newRecord(wire.JobAgentIntent, q.SessionID, id, d, outcome(string(d.Action), err), took, err)
	r.CorrelationID = q.CorrelationID
	if out != nil {
		r.ToolName, r.Reasoning, r.Fallback = out.ToolName, out.Reasoning, fallbackOf(out.Trace)
	}
	clean(r, q.LLM)
	s.o.Record(r)
}

// recordWorkflow is recordIntent for a workflow.
func (s *Service) recordWorkflow(q *wire.WorkflowIntentRequest, id string, d planner.Decision, out *wire.WorkflowIntentResponse, took time.Duration, err error) {
	if s.o.Record == nil {
		return
	}
	r := newRecord(wire.JobWorkflowIntent, q.RunID, id, d, outcome(workflowOutcome(out), err), took, err)
	if r.Source == "" {
		r.Source = byWorkflow
	}
	if out != nil {
		r.ToolName, r.NextNode, r.Reasoning, r.Fallback = out.ToolName, out.NextNode, out.Reasoning, fallbackOf(out.Trace)
	}
	clean(r, q.LLM)
	s.o.Record(r)
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
	}
}
