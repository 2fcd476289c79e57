package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
)

// ErrRemote: the service's decision cannot be carried out.
var ErrRemote = errors.New("unusable decision of the reasoning service")

// cancelTime bounds how long a cancelled decision waits for the service to
// hear of it.
const cancelTime = 2 * time.Second

// Remote decides by asking a service that speaks the Reasoning API. Client is
// required. It may be used by many at the same time.
type Remote struct {
	Client reasoner.Client
	// Session is the id by which the service knows the agent. Required.
	Session string
	NewID   func() string // of decisions; nil: UUIDv7
}

// Next decides the next step: one call, or the answer. A call that would bring
// nothing new is not made; the service is told once that the agent is stuck.
// When ctx ends the service is told to cancel. Errors are the client's, and
// ErrRemote for a tool that is not there or arguments that do not fit it.
func (r *Remote) Next(ctx context.Context, s State) (Decision, error) {
	req := r.request(&s)
	d, again, err := r.ask(ctx, &s, req)
	if err == nil && again && !s.Stuck {
		req.AgentState = &wire.AgentState{Stuck: true}
		d, again, err = r.ask(ctx, &s, req)
	}
	switch {
	case err != nil:
		return Decision{}, err
	case again:
		return Decision{}, fmt.Errorf("%w: it calls %s with the same arguments again", ErrRemote, d.Calls[0].Tool)
	}
	return d, nil
}

// ask asks once. again: the decision is a call that would bring nothing new.
func (r *Remote) ask(ctx context.Context, s *State, req wire.AgentIntentRequest) (d Decision, again bool, err error) {
	req.CorrelationID = r.newID()
	resp, err := r.Client.AgentIntent(ctx, &req)
	if ctx.Err() != nil {
		r.cancel(ctx, req.CorrelationID)
		return d, false, fmt.Errorf("ask the reasoning service: %w", context.Cause(ctx))
	}
	if err != nil {
		return d, false, fmt.Errorf("ask the reasoning service: %w", err)
	}
	if d, err = decided(s, resp); err != nil {
		return d, false, err
	}
	return d, d.Action == contextwindow.UseTools && s.Forced == "" && s.repeats(d.Calls[0]), nil
}

func (r *Remote) newID() string {
	if r.NewID != nil {
		return r.NewID()
	}
	return uuid.Must(uuid.NewV7()).String()
}

// cancel tells the service that nobody waits any longer. It does what it can:
// the service ends by itself too.
func (r *Remote) cancel(ctx context.Context, correlation string) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer stop()
	_, _ = r.Client.Cancel(ctx, correlation)
}

// request says in the API's words what there is to decide from.
func (r *Remote) request(s *State) wire.AgentIntentRequest {
	req := wire.AgentIntentRequest{
		SessionID: r.Session, GoalText: s.Question, Instructions: s.Instructions,
		ForcedTool: s.Forced, MaxSteps: s.limit(), MemoryState: conversation(s.History),
	}
	if s.Depth < s.MaxDepth {
		req.Tools = append(req.Tools, wire.Tool{Name: Subproblem, Description: subproblemTool.Description, InputSchema: subproblemTool.InputSchema})
	}
	for _, t := range s.Tools {
		if t.Name != Subproblem || s.Depth >= s.MaxDepth {
			req.Tools = append(req.Tools, wire.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
		}
	}
	if s.Stuck || len(req.Tools) == 0 { // without tools there is nothing left but to answer
		req.AgentState = &wire.AgentState{Stuck: true}
	}
	calls := 0
	for _, step := range s.Steps {
		req.History = append(req.History, items(&step)...)
		calls += len(step.Calls)
	}
	// The service counts calls; here a step may have several, or none.
	req.MaxSteps = max(1, req.MaxSteps+calls-len(s.Steps))
	return req
}

// item is one call of the records as the API's history has it.
type item struct {
	Step      int             `json:"step"`
	Tool      string          `json:"tool_name,omitempty"`
	Args      json.RawMessage `json:"tool_args,omitempty"`
	Result    *string         `json:"result,omitempty"`
	Error     string          `json:"error,omitempty"`
	Reasoning string          `json:"reasoning,omitempty"`
}

// items are a step's calls, or, where it has none, its thought.
func items(step *contextwindow.Record) []wire.HistoryItem {
	if len(step.Calls) == 0 {
		return []wire.HistoryItem{marshal(item{Step: step.Index, Reasoning: step.Thought})}
	}
	var out []wire.HistoryItem
	for i, c := range step.Calls {
		it := item{Step: step.Index, Tool: c.Tool, Args: c.Arguments, Reasoning: c.Reason}
		if i < len(step.Results) {
			if res := step.Results[i]; res.OK() {
				it.Result = &res.Text
			} else {
				it.Error = res.Error
			}
		}
		out = append(out, marshal(it))
	}
	return out
}

// conversation is what was said before, as the state of a memory; nil if
// nothing was.
func conversation(history []llm.Message) json.RawMessage {
	type said struct {
		Role llm.Role `json:"role"`
		Text string   `json:"text"`
	}
	var all []said
	for _, m := range history {
		if m.Text != "" {
			all = append(all, said{m.Role, m.Text})
		}
	}
	if len(all) == 0 {
		return nil
	}
	return marshal(map[string]any{"conversation": all})
}

// decided is the decision that a response holds.
func decided(s *State, resp *wire.AgentIntentResponse) (Decision, error) {
	if resp.Status == wire.StatusError {
		return Decision{}, fmt.Errorf("%w: %s: %s", ErrRemote, resp.Error, resp.Message)
	}
	d := Decision{Source: sourceOf(resp.Trace)}
	if resp.Finish {
		if d.Answer, d.Confidence = confidence(strings.TrimSpace(resp.FinalText)); d.Answer == "" {
			return Decision{}, fmt.Errorf("%w: it finishes without a text", ErrRemote)
		}
		d.Action, d.Conclusion = contextwindow.Finish, firstSentence(d.Answer)
		d.Thought = cut(apart(resp.Reasoning, d.Conclusion), maxNarrative)
		return d, nil
	}
	t := s.named(resp.ToolName)
	if t == nil {
		return Decision{}, fmt.Errorf("%w: there is no tool %.100q", ErrRemote, resp.ToolName)
	}
	args, err := arguments(t, resp.ToolArgs)
	if err != nil {
		return Decision{}, fmt.Errorf("%w: the arguments of %s do not fit its schema", ErrRemote, t.Name) // err may quote them
	}
	d.Action = contextwindow.UseTools
	d.Calls = []contextwindow.Call{{Tool: t.Name, Arguments: args, Reason: sentence(resp.Reasoning)}}
	return d, nil
}

// arguments are those of a call that somebody else decided on; none stand for
// an empty object.
func arguments(t *Tool, raw json.RawMessage) (json.RawMessage, error) {
	if noSchema(raw) {
		raw = json.RawMessage("{}")
	}
	if len(raw) > maxArguments {
		return nil, fmt.Errorf("arguments: %d bytes are more than the %d that are taken", len(raw), maxArguments)
	}
	return raw, Validate(t.InputSchema, raw)
}

// sourceOf reads from a trace who decided.
func sourceOf(trace []wire.TraceItem) Source {
	src := ByRemote
	for _, it := range trace {
		switch strings.ToLower(it.Step) {
		case "llm":
			src = ByModel
		case "rules":
			src = ByRules
		case "forced_tool":
			src = ByForce
		case "fallback":
			return Fallback
		}
	}
	return src
}
