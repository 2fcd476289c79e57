package reasoner

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// question is a request in the form of a planner's state.
type question struct {
	state      planner.State
	toolsGiven bool // the request named tools
	exhausted  bool // the history has max_steps steps or more
}

// newQuestion converts a request. A forced tool that is not among the given
// tools is a *Fault.
func newQuestion(r *wire.AgentIntentRequest) (*question, error) {
	past := readHistory(r.History)
	q := &question{
		toolsGiven: len(r.Tools) > 0,
		exhausted:  r.MaxSteps > 0 && past.stepCount >= r.MaxSteps,
		state: planner.State{
			Question: r.GoalText, History: past.messages, Steps: past.steps, Tools: toolsOf(r.Tools),
			MaxSteps: r.MaxSteps, Instructions: instructions(r, past.notes), Forced: r.ForcedTool,
			Stuck: r.AgentState != nil && r.AgentState.Stuck,
		},
	}
	switch {
	case q.exhausted:
		q.state.MaxSteps = max(1, len(past.steps))
	case r.MaxSteps == 0:
		// The caller set no bound: each request permits one more step.
		q.state.MaxSteps = max(planner.DefaultMaxSteps, len(past.steps)+1)
	}
	if q.toolsGiven && q.state.Forced != "" && q.tool(q.state.Forced) == nil {
		return nil, &Fault{
			Status: http.StatusUnprocessableEntity, Code: CodeUnknownTool, Path: "/forced_tool",
			Message: "The forced tool is not among the tools of the request: force one of them, or leave forced_tool out.",
		}
	}
	return q, nil
}

func toolsOf(list []wire.Tool) []planner.Tool {
	if len(list) == 0 {
		return knownTools
	}
	tools := make([]planner.Tool, len(list))
	for i, t := range list {
		tools[i] = planner.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema}
	}
	return tools
}

func (q *question) tool(name string) *planner.Tool {
	i := slices.IndexFunc(q.state.Tools, func(t planner.Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &q.state.Tools[i]
}

// forced calls the tool that the request forces. It uses no model; arguments
// that the goal does not determine are left to the caller.
func (q *question) forced(ctx context.Context) (planner.Decision, []wire.TraceItem, error) {
	t := q.tool(q.state.Forced)
	if t == nil {
		t = &planner.Tool{Name: q.state.Forced} // its arguments are not known
	}
	detail := "The request names `" + t.Name + "`."
	if len(t.InputSchema) > 0 && !isSearch(t.Name) {
		d, err := (rules.Rules{}).Next(ctx, q.state)
		if err == nil {
			return d, []wire.TraceItem{{Step: "forced_tool", Detail: detail}}, nil
		}
		if ctx.Err() != nil {
			return planner.Decision{}, nil, err
		}
	}
	args, missing := rules.Fill(t, q.state.Question, query(q.state.Question))
	if len(missing) > 0 {
		detail += " The goal does not determine these arguments: " + strings.Join(missing, ", ") + "."
	}
	d := planner.Decision{
		Action: contextwindow.UseTools, Source: planner.ByForce,
		Calls: []contextwindow.Call{{Tool: t.Name, Arguments: args, Reason: detail}},
	}
	return d, []wire.TraceItem{{Step: "forced_tool", Detail: detail}}, nil
}

// mustFinish reports whether a decision must be replaced by a final one, and
// why.
func (q *question) mustFinish(d planner.Decision) (bool, string) {
	switch {
	case d.Action == contextwindow.Finish:
		return false, ""
	case len(d.Calls) == 0:
		return true, "No tool was chosen."
	case q.exhausted:
		return true, "There were as many steps as max_steps allows."
	case q.state.Stuck && q.repeats(d.Calls[0], true):
		return true, "The agent is stuck, and the call was made before."
	case isSearch(d.Calls[0].Tool) && q.repeats(d.Calls[0], false):
		return true, "The search was made before, and has results."
	}
	return false, ""
}

// repeats reports whether the history contains a call. Unless failed is set,
// only a call with a successful, nonempty result counts.
func (q *question) repeats(call contextwindow.Call, failed bool) bool {
	key := call.Key()
	for _, step := range q.state.Steps {
		for i, c := range step.Calls {
			if c.Key() != key {
				continue
			}
			if failed || i < len(step.Results) && step.Results[i].Success && !isEmptyResult(step.Results[i].Text) {
				return true
			}
		}
	}
	return false
}

// maxFinal bounds a final text, in bytes: clients read at most 8 MiB, and a
// message of a queue has at most 1 MiB.
const maxFinal = 512 << 10

// answer converts a decision to a response of the API. A response holds one
// call: if the planner requested several, the first; the trace names the
// others.
func answer(d planner.Decision, trace []wire.TraceItem) *wire.AgentIntentResponse {
	out := &wire.AgentIntentResponse{Status: wire.StatusOK, Trace: trace}
	if d.Action == contextwindow.Finish {
		out.Finish, out.FinalText = true, textutil.Shorten(d.Answer, maxFinal)
		out.Reasoning = sentences(d.Thought, d.Conclusion)
	} else {
		call := d.Calls[0]
		out.ToolName, out.ToolArgs = call.Tool, call.Arguments
		out.Reasoning = sentences(d.Thought, call.Reason)
		var later []string
		for _, c := range d.Calls[1:] {
			later = append(later, "`"+c.Tool+"`")
		}
		if len(later) > 0 {
			out.Trace = append(out.Trace, wire.TraceItem{Step: "later", Detail: "Also requested: " + strings.Join(later, ", ") + ". Ask again after this call."})
		}
	}
	if out.Trace == nil {
		out.Trace = []wire.TraceItem{}
	}
	return out
}

// sentences joins texts. It leaves out a text that an earlier one contains,
// because models often give the same reason before a call and in it.
func sentences(parts ...string) string {
	var out string
	for _, p := range parts {
		p = strings.TrimSpace(p)
		if !strings.Contains(out, p) {
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
		detail := fmt.Sprintf("The model was shown %d tokens of %d; %d results in part, %d as a summary, %d as a mark.",
			m.Tokens, m.Budget, m.Previews, m.Summaries, m.Dropped)
		if m.Tools > 0 {
			detail += fmt.Sprintf(" There was no room for %d tools, such as %#q.", m.Tools, m.ToolNames[0])
		}
		trace = append(trace, wire.TraceItem{Step: "context", Detail: detail, Context: contextTrace(m)})
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
