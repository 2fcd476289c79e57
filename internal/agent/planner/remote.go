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
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// ErrRemote: the service's decision cannot be executed.
var ErrRemote = errors.New("unusable decision of the reasoning service")

// cancelTime bounds the request that cancels a decision.
const cancelTime = 2 * time.Second

// Remote decides by asking a service with the Reasoning API. Client is
// required. Remote is safe for concurrent use.
type Remote struct {
	Client reasoner.Client
	NewID  func() string // generates ids of decisions; nil: UUIDv7
}

// Next decides the next step: one call, or the answer. If the service decides
// on a call that would bring nothing new, Next asks it once more with the agent
// marked as stuck. If ctx ends, Next cancels the decision at the service.
// Errors are the client's, and ErrRemote for a response that is none, a tool that
// was not offered, or arguments that do not fit its schema.
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

// ask sends one request. again reports that the decision is a call that would
// bring nothing new.
func (r *Remote) ask(ctx context.Context, s *State, req wire.AgentIntentRequest) (d Decision, again bool, err error) {
	req.CorrelationID = uuid.Must(uuid.NewV7()).String()
	if r.NewID != nil {
		req.CorrelationID = r.NewID()
	}
	resp, err := r.Client.AgentIntent(ctx, &req)
	if ctx.Err() != nil {
		canceling, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
		defer stop()
		_, _ = r.Client.Cancel(canceling, req.CorrelationID) // best effort: the service has its own timeout
		return d, false, fmt.Errorf("ask the reasoning service: %w", context.Cause(ctx))
	}
	var invalid *reasoner.ValidationError
	var failed *reasoner.APIError
	var spent *wire.Usage
	switch {
	case err == nil:
		spent = resp.Usage
	case errors.As(err, &invalid):
		spent, err = invalid.Usage, fmt.Errorf("%w: %w", ErrRemote, err)
	case errors.Is(err, reasoner.ErrResponse):
		err = fmt.Errorf("%w: %w", ErrRemote, err)
	default:
		if errors.As(err, &failed) {
			spent = failed.Usage
		}
		err = fmt.Errorf("ask the reasoning service: %w", err)
	}
	if u := spent; u != nil {
		llm.Spend(ctx, llm.Usage{Input: u.Input, Output: u.Output, Cached: u.Cached, Reasoning: u.Reasoning}, u.Uncounted)
	}
	if err != nil {
		return d, false, err
	}
	d, err = decisionOf(s, resp)
	if err != nil {
		return d, false, err
	}
	return d, d.Action == contextwindow.UseTools && s.Forced == "" && s.repeats(d.Calls[0]), nil
}

// request converts the state to a request of the API.
func (r *Remote) request(s *State) wire.AgentIntentRequest {
	req := wire.AgentIntentRequest{
		SessionID: s.Session, GoalText: s.Question, Instructions: s.Instructions,
		ForcedTool: s.Forced, MaxSteps: s.Limit(),
	}
	type said struct {
		Role llm.Role `json:"role"`
		Text string   `json:"text"`
	}
	var earlier []said
	for _, m := range s.History {
		if m.Text != "" {
			earlier = append(earlier, said{m.Role, m.Text})
		}
	}
	if len(earlier) > 0 {
		req.MemoryState = llm.Marshal(map[string]any{"conversation": earlier})
	}
	for _, t := range s.tools() {
		req.Tools = append(req.Tools, wire.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	if s.Stuck || len(req.Tools) == 0 { // without tools the service can only answer
		req.AgentState = &wire.AgentState{Stuck: true}
	}
	calls := 0
	for _, step := range s.Steps {
		calls += len(step.Calls)
		if len(step.Calls) == 0 {
			req.History = append(req.History, llm.Marshal(item{Step: step.Index, Reasoning: step.Thought}))
		}
		for i, c := range step.Calls {
			it := item{Step: step.Index, Tool: c.Tool, Args: c.Arguments, Reasoning: c.Reason}
			if i < len(step.Results) {
				if res := step.Results[i]; res.OK() {
					it.Result = &res.Text
				} else {
					it.Error = res.Error
				}
			}
			req.History = append(req.History, llm.Marshal(it))
		}
	}
	// The service counts calls; a step here may have several calls, or none.
	req.MaxSteps = max(1, req.MaxSteps+calls-len(s.Steps))
	return req
}

// item is one call of the records, or the thought of a step without calls, in the form of the API's history.
type item struct {
	Step      int             `json:"step"`
	Tool      string          `json:"tool_name,omitempty"`
	Args      json.RawMessage `json:"tool_args,omitempty"`
	Result    *string         `json:"result,omitempty"`
	Error     string          `json:"error,omitempty"`
	Reasoning string          `json:"reasoning,omitempty"`
}

func decisionOf(s *State, resp *wire.AgentIntentResponse) (Decision, error) {
	if resp.Status == wire.StatusError {
		return Decision{}, fmt.Errorf("%w: %s: %s", ErrRemote, resp.Error, resp.Message)
	}
	var d Decision
	d.setTrace(resp.Trace)
	if resp.Finish {
		if d.setAnswer(strings.TrimSpace(resp.FinalText)); d.Answer == "" {
			return Decision{}, fmt.Errorf("%w: it finishes without a text", ErrRemote)
		}
		d.Action = contextwindow.Finish
		d.Thought = textutil.ShortenChars(withoutConclusion(resp.Reasoning, d.Conclusion), maxNarrative)
		return d, nil
	}
	t := s.Tool(resp.ToolName)
	if t == nil {
		return Decision{}, fmt.Errorf("%w: there is no tool %.100q", ErrRemote, resp.ToolName)
	}
	args, err := arguments(t, resp.ToolArgs)
	if err != nil {
		return Decision{}, fmt.Errorf("%w: the arguments of %s do not fit its schema", ErrRemote, t.Name) // err may quote the arguments
	}
	d.Action = contextwindow.UseTools
	d.Calls = []contextwindow.Call{{Tool: t.Name, Arguments: args, Reason: sentence(resp.Reasoning)}}
	return d, nil
}

// arguments validates the arguments of a call that the service decided on.
// Missing arguments mean an empty object.
func arguments(t *Tool, raw json.RawMessage) (json.RawMessage, error) {
	if noSchema(raw) {
		raw = json.RawMessage("{}")
	}
	if len(raw) > maxArguments {
		return nil, fmt.Errorf("arguments: %d bytes are more than the %d that are taken", len(raw), maxArguments)
	}
	return raw, Validate(t.InputSchema, raw)
}

// setTrace sets the source of a decision, and the description of the model's input, from its
// trace. The service may be wrong: negative counts become 0.
func (d *Decision) setTrace(trace []wire.TraceItem) {
	d.Source = ByRemote
	for _, it := range trace {
		switch step := strings.ToLower(it.Step); {
		case step == "fallback", d.Source == Fallback:
			d.Source = Fallback
		case step == "llm":
			d.Source = ByModel
		case step == "rules":
			d.Source = ByRules
		case step == "forced_tool":
			d.Source = ByForce
		}
		c := it.Context
		if d.Shown != nil || c == nil || c.Goal != string(contextwindow.Planning) && c.Goal != string(contextwindow.Synthesis) {
			continue
		}
		d.Shown = &contextwindow.Meta{
			Goal: contextwindow.Goal(c.Goal), Tokens: max(0, c.Tokens), Budget: max(0, c.Budget),
			Previews: max(0, c.Previews), Summaries: max(0, c.Summarized), Dropped: max(0, c.Dropped),
			History: max(0, c.Messages), Thoughts: max(0, c.Thoughts), Steps: max(0, c.Steps),
			Tools: max(0, c.Tools), ToolNames: leftOutNames(c.ToolNames),
		}
	}
}
