package reasoner

import (
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/planner"
)

// answer converts a decision to a response of the API. A response holds one
// call: if the planner requested several, the first; the trace names the
// others.
func answer(d planner.Decision, trace []wire.TraceItem) *wire.AgentIntentResponse {
	out := &wire.AgentIntentResponse{Status: wire.StatusOK, Trace: trace}
	if d.Action == contextwindow.Finish {
		out.Finish, out.FinalText = true, d.Answer
		out.Reasoning = sentences(d.Thought, d.Conclusion)
	} else {
		call := d.Calls[0]
		out.ToolName, out.ToolArgs = call.Tool, call.Arguments
		out.Reasoning = sentences(d.Thought, call.Reason)
		out.Trace = append(out.Trace, remainingCalls(d.Calls[1:])...)
	}
	if out.Trace == nil {
		out.Trace = []wire.TraceItem{}
	}
	return out
}

func remainingCalls(calls []contextwindow.Call) []wire.TraceItem {
	if len(calls) == 0 {
		return nil
	}
	names := make([]string, len(calls))
	for i, c := range calls {
		names[i] = "`" + c.Tool + "`"
	}
	return []wire.TraceItem{{Step: "later", Detail: "Also wanted: " + strings.Join(names, ", ") + ". Ask again behind this one."}}
}

// sentences joins texts. It leaves out a text that an earlier one contains,
// because models often give the same reason before a call and in it.
func sentences(parts ...string) string {
	var out string
	for _, p := range parts {
		if p = strings.TrimSpace(p); !strings.Contains(out, p) {
			out = strings.TrimSpace(out + " " + p)
		}
	}
	return out
}

// traceOf returns trace items that explain a planner's decision.
func traceOf(d planner.Decision) []wire.TraceItem {
	var trace []wire.TraceItem
	if d.Source == planner.ByModel {
		trace = append(trace, wire.TraceItem{Step: "llm", Detail: fmt.Sprintf(
			"%s decided, with %d tokens in and %d out.", modelName(d.Provider, d.Model), d.Usage.Input, d.Usage.Output)})
	}
	if m := d.Shown; m != nil {
		trace = append(trace, wire.TraceItem{Step: "context", Detail: fmt.Sprintf(
			"The model was shown %d tokens of %d; %d results in part, %d as a mark.", m.Tokens, m.Budget, m.Previews, m.Dropped)})
	}
	if d.Source != planner.ByModel {
		why := d.Conclusion
		if d.Action == contextwindow.UseTools && len(d.Calls) > 0 {
			why = d.Calls[0].Reason
		}
		trace = append(trace, wire.TraceItem{Step: "rules", Detail: why})
	}
	return trace
}

func modelName(provider, model string) string {
	if provider == "" || model == "" {
		return provider + model
	}
	return provider + ":" + model
}
