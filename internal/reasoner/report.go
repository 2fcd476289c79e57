package reasoner

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
)

// report sends the outcome of a decision to telemetry, without any content.
// Names that the request may have invented are not used as labels: a tool that
// was not offered, and a model that has not answered.
func (s *Service) report(ctx context.Context, span *telemetry.Span, r *wire.AgentIntentRequest, id string, d planner.Decision, took time.Duration, err error) {
	done := telemetry.Decision{
		Session: r.SessionID, Intent: id, Provider: d.Provider, Model: d.Model, Source: string(d.Source),
		Usage: d.Usage, Duration: took, Outcome: outcome(string(d.Action), err), Err: err,
	}
	if namesModel(r.LLM) && d.Source != planner.ByModel && d.Usage == (llm.Usage{}) {
		done.Provider, done.Model = "", ""
	}
	if d.Action == contextwindow.UseTools && len(d.Calls) > 0 {
		name := d.Calls[0].Tool
		if slices.ContainsFunc(toolsOf(r.Tools), func(t planner.Tool) bool { return t.Name == name }) {
			done.Tools = []string{name}
		} else {
			span.Set(telemetry.DecisionTools.StringSlice([]string{name}))
		}
	}
	s.o.Telemetry.Decided(ctx, done)
}

// Source and outcome that only workflows have.
const (
	byWorkflow  = "workflow"
	outcomeNode = "enter_node" // a node without a tool
)

// reportWorkflow is report for a workflow, whose tools are defined by the
// caller.
func (s *Service) reportWorkflow(ctx context.Context, span *telemetry.Span, r *wire.WorkflowIntentRequest, id string, out *wire.WorkflowIntentResponse, took time.Duration, err error) {
	done := telemetry.Decision{Intent: id, Source: byWorkflow, Duration: took, Err: err}
	if r != nil {
		done.Session = r.RunID
	}
	switch {
	case out == nil:
	case out.Finish:
		done.Outcome = string(contextwindow.Finish)
	case out.ToolName != "":
		done.Outcome = string(contextwindow.UseTools)
		span.Set(telemetry.DecisionTools.StringSlice([]string{out.ToolName}))
	default:
		done.Outcome = outcomeNode
	}
	done.Outcome = outcome(done.Outcome, err)
	s.o.Telemetry.Decided(ctx, done)
}

// outcome returns the outcome of a decision: the decided action, unless there
// is an error.
func outcome(decided string, err error) string {
	var fault *Fault
	switch {
	case err == nil:
		return decided
	case errors.As(err, &fault):
		return "refused"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return "error"
}
