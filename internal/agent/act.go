package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// action is one call of a step, while it is carried out.
type action struct {
	p       *problem
	call    contextwindow.Call
	tool    boxTool
	thought protocol.Envelope // the reason for the call
	request protocol.Envelope // correlates to thought; empty for a sub-problem
	refusal *protocol.Error   // the gateway's refusal of request
	fault   error             // the note of a planner.Share cannot be published
}

// act carries out the calls of a step in parallel and returns their results in
// the order of the calls. It first publishes the envelopes in thoughts and the
// reasons, then the requests. Only admitted requests are carried out. It
// returns an error if the problem cannot continue, but only after every call
// has ended. ctx is the problem's, or one that ends earlier.
func (a *Agent) act(ctx context.Context, p *problem, box *toolbox, step contextwindow.Record, thoughts []protocol.Envelope) ([]contextwindow.Result, error) {
	actions := a.prepare(p, box, step)
	for i := range actions {
		if actions[i].fault == nil && step.Calls[i].Thought == "" {
			thoughts = append(thoughts, actions[i].thought)
		}
	}
	if err := a.out.Publish(ctx, thoughts...); err != nil {
		return nil, fmt.Errorf("share reasons: %w", err)
	}
	if err := a.publishRequests(ctx, actions); err != nil {
		return nil, fmt.Errorf("ask for the calls: %w", err)
	}
	results := make([]contextwindow.Result, len(actions))
	var under sync.WaitGroup
	for i := range actions {
		under.Go(func() { results[i] = a.perform(ctx, &actions[i]) })
	}
	under.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return results, nil
}

// prepare builds the reason and the request of every call. The request is addressed to the
// participant that runs the tool, which is the agent itself for the agent's own tools: tool hosts of
// mew/v0.4 execute a request without a recipient.
func (a *Agent) prepare(p *problem, box *toolbox, step contextwindow.Record) []action {
	group, calls := int64(-1), 0
	for i := range step.Calls {
		if step.Calls[i].Tool != planner.Share {
			calls++
		}
	}
	if calls > 1 {
		group = p.q.batches.Add(1) - 1
	}
	actions := make([]action, len(step.Calls))
	for i, c := range step.Calls {
		x := &actions[i]
		if c.Tool == planner.Share { // its thought is the note
			*x = action{p: p, call: c}
			var n planner.Note
			x.fault = json.Unmarshal(c.Arguments, &n)
			if x.fault == nil {
				x.thought, x.fault = p.note(n)
			}
			continue
		}
		fields := []field{{"message", textutil.ShortenChars(cmp.Or(c.Reason, planner.DefaultReason), maxThought)}, {"tool_name", c.Tool}}
		if group >= 0 {
			fields = append(fields, field{"parallel_group", group})
		}
		thought := p.inside(protocol.KindReasoningThought, fields...)
		thought.ID = cmp.Or(protocol.ID(c.Thought), newID())
		// A request to a tool host, and its response, are visible to the asker
		// because they correlate to the start through this thought.
		thought.Correlation = protocol.CorrelateTo(p.startID())
		*x = action{p: p, call: c, tool: box.Find(c.Tool), thought: thought}
		if planner.IsBuiltin(c.Tool) {
			continue
		}
		id, params := newID(), x.params()
		if x.tool.Owner != "" { // its progress extends the wait
			params["_meta"] = map[string]any{"progressToken": id}
		}
		x.request = protocol.Envelope{
			ID: id, Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{a.host(x)}, Context: p.path,
			Correlation: protocol.CorrelateTo(thought.ID),
			Payload:     object(field{"jsonrpc", "2.0"}, field{"id", id}, field{"method", "tools/call"}, field{"params", params}),
		}
	}
	return actions
}

// host returns the participant that runs the tool of a call.
func (a *Agent) host(x *action) protocol.ParticipantID { return cmp.Or(x.tool.Owner, a.you) }

func (x *action) params() map[string]any {
	return map[string]any{"name": x.tool.Name, "arguments": x.call.Arguments}
}

// publishRequests publishes the requests. A refusal by the capabilities is not
// an error, because the call can still be proposed to other participants. After an error, it closes
// the admitted requests, which will not be carried out.
func (a *Agent) publishRequests(ctx context.Context, actions []action) error {
	var envs []protocol.Envelope
	var asked []*action
	for i := range actions {
		x := &actions[i]
		if x.request.ID == "" {
			continue
		}
		envs, asked = append(envs, x.request), append(asked, x)
		if x.tool.Owner != "" {
			a.inbox.Expect(x.request.ID)
		}
	}
	var fatal error
	var admitted []*action
	for i, err := range a.out.Each(ctx, envs...) {
		refusal, bad := refusalOf(err)
		if bad != nil && fatal == nil {
			fatal = bad
		}
		if MaybeSent(err) {
			admitted = append(admitted, asked[i])
		}
		asked[i].refusal = refusal
	}
	if fatal == nil {
		return nil
	}
	for _, x := range asked {
		a.inbox.Release(x.request.ID)
	}
	for _, x := range admitted {
		if x.tool.Owner != "" {
			a.out.Final("cancellation", x.cancellation())
		} else {
			a.out.Final("response", x.response(nil, errCallCancelled))
		}
	}
	return fatal
}

// response builds the response to the request of one of the agent's own tools.
// It is a broadcast unless the question is private.
func (x *action) response(result json.RawMessage, fault *client.RPCError) protocol.Envelope {
	return protocol.Envelope{
		Kind: protocol.KindMCPResponse, Context: x.p.path, To: x.p.q.private,
		Correlation: protocol.CorrelateTo(x.request.ID),
		Payload:     participant.Response(protocol.AppendString(nil, string(x.request.ID)), result, fault),
	}
}

// perform carries out one call and returns its result.
func (a *Agent) perform(ctx context.Context, x *action) contextwindow.Result {
	about := append(a.describe(x.p), telemetry.ToolName.String(x.call.Tool), telemetry.ToolCallID.String(string(cmp.Or(x.request.ID, x.thought.ID))))
	ctx, span := a.opts.Telemetry.Span(ctx, telemetry.ExecuteTool, x.call.Tool, about...)
	defer a.inbox.Release(x.request.ID)
	var out contextwindow.Result
	switch {
	case x.call.Tool == planner.Subproblem:
		out = a.solvePart(ctx, x)
	case x.call.Tool == planner.Delegate:
		out = a.delegate(ctx, x)
	case x.fault != nil:
		out = failed(x.fault.Error())
	case x.call.Tool == planner.Share:
		out = contextwindow.Result{Success: true, Text: "shared"}
	case x.refusal != nil:
		out = a.propose(ctx, x)
	case x.tool.Owner != "":
		out = a.callPeer(ctx, x)
	default:
		var result json.RawMessage
		var fault *client.RPCError
		out, result, fault = a.run(ctx, x.tool.Name, x.call.Arguments)
		a.respond(ctx, x.response(result, fault))
	}
	out.Tool = x.call.Tool
	if a.opts.Solver == nil {
		out.JSON = "" // planners read the text
	}
	if x.fault == nil {
		out.Ref = x.p.q.refs.Add(cmp.Or(protocol.ID(out.Ref), x.request.ID, x.thought.ID))
	}
	if out.Outcome == "" && out.Success {
		out.Outcome = contextwindow.Success
	}
	out.Outcome = cmp.Or(out.Outcome, contextwindow.Failure)
	span.Set(attribute.String("meup.outcome", string(out.Outcome)))
	var err error
	if !out.Success {
		err = errors.New(out.Error)
	}
	span.End(err)
	return out
}

// solvePart solves a part of the problem in a context of its own.
func (a *Agent) solvePart(ctx context.Context, x *action) contextwindow.Result {
	var args struct {
		Question string `json:"question"`
		planner.Plan
	}
	if err := json.Unmarshal(x.call.Arguments, &args); err != nil || args.Question == "" {
		return failed("a sub-problem needs a question")
	}
	part := x.p.q.enter(ctx, &problem{path: x.p.path.Child(newID()), depth: x.p.depth + 1, text: args.Question, plan: args.Plan, cause: x.thought.ID})
	defer x.p.q.leave(part)
	s, err := a.solve(part)
	if err != nil {
		return failed("not solved: " + explainCause(err))
	}
	return contextwindow.Result{Success: true, Text: s.Answer}
}

// run calls one of the agent's own tools. It returns the result together with
// the result or the error of the JSON-RPC response, whose result fits into an envelope.
func (a *Agent) run(ctx context.Context, name string, args json.RawMessage) (contextwindow.Result, json.RawMessage, *client.RPCError) {
	res, err := a.opts.Tools.Call(ctx, name, args)
	if err != nil {
		a.log.Debug("tool call failed", "tool", name, "err", errorForLog(err))
		fault := callError(ctx, err)
		return failed(fault.Message), nil, fault
	}
	limit := maxResult
	if most := a.opts.Space.Welcome().You.Limits.MessageBytes; most > 0 {
		limit = min(limit, int(most)/2)
	}
	return toolResult(res), mcptools.Fit(res, limit), nil
}

// respond publishes a response even if the question was given up in the
// meantime, because every admitted request must have a response.
func (a *Agent) respond(ctx context.Context, response protocol.Envelope) {
	response.ID = newID() // a second attempt repeats the id of the first
	err := a.out.Publish(ctx, response)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		a.out.Final("response", response)
	default:
		a.log.Warn("response not shared", "context", response.Context, "err", err)
	}
}

// awayTimeout is how long a participant may be disconnected before a pending
// request to it fails.
const awayTimeout = 2 * time.Second

// callPeer waits for the response of the participant that owns the tool.
// The request is already in the log.
func (a *Agent) callPeer(ctx context.Context, x *action) contextwindow.Result {
	env, why := a.await(ctx, x.request.ID, x.request.To)
	if env != nil {
		return envelopeResult(env)
	}
	if ctx.Err() != nil {
		a.out.Final("cancellation", x.cancellation())
		return failed("cancelled")
	}
	if err := a.out.Publish(ctx, x.cancellation()); err != nil {
		a.log.Debug("cancellation not shared", "err", err)
	}
	return failed(why.Error())
}

// await returns the response to a request from one of the participants in asked
// (from any participant if asked is empty), or the reason why there is no
// response. Progress begins the timeout anew, up to MaxToolTimeout. While a question of such a
// participant about the request is answered, neither time passes; both begin anew afterwards.
func (a *Agent) await(ctx context.Context, request protocol.ID, asked []protocol.ParticipantID) (*protocol.Envelope, error) {
	answer := a.inbox.Expect(request)
	timeout, whole := a.opts.After(a.opts.ToolTimeout), a.opts.After(a.opts.MaxToolTimeout)
	var gone <-chan time.Time
	questions, end := context.WithCancel(ctx)
	defer end()
	elicited, open, answered := 0, 0, make(chan struct{})
	for {
		select {
		case env := <-answer:
			switch {
			case env.Kind == protocol.KindMCPResponse && (len(asked) == 0 || slices.Contains(asked, env.From)):
				return &env, nil
			case env.Kind == protocol.KindSystemPresence && len(asked) == 1:
				gone = a.awayTimer(gone, &env, asked[0])
			case a.isElicitation(&env, asked) && elicited == maxElicitations:
				a.declineElicitation(&env, participant.CodeFailed, "too many questions about one call")
			case a.isElicitation(&env, asked):
				elicited, open, timeout, whole = elicited+1, open+1, nil, nil
				a.runtime.Group.Go(func() {
					a.elicit(questions, &env)
					select {
					case answered <- struct{}{}:
					case <-questions.Done():
					}
				})
			case open == 0 && isProgress(&env, asked):
				timeout = a.opts.After(a.opts.ToolTimeout)
			}
		case <-answered:
			open--
			if open == 0 {
				timeout, whole = a.opts.After(a.opts.ToolTimeout), a.opts.After(a.opts.MaxToolTimeout)
			}
		case <-gone:
			gone = nil
			if !a.isConnected(asked[0]) {
				return nil, fmt.Errorf("%s left the space", asked[0])
			}
		case <-timeout:
			return nil, fmt.Errorf("no answer within %s", a.opts.ToolTimeout)
		case <-whole:
			return nil, fmt.Errorf("no answer within %s, in spite of its progress", a.opts.MaxToolTimeout)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// isProgress reports whether an envelope of one of the hosts says that a request goes on.
func isProgress(env *protocol.Envelope, hosts []protocol.ParticipantID) bool {
	return env.Kind == protocol.KindMCPRequest && slices.Contains(hosts, env.From) &&
		env.ParsePayload().Get("method").EqualText("notifications/progress")
}

// awayTimer starts or stops the timer for a participant that left: a lost
// connection may be restored.
func (a *Agent) awayTimer(gone <-chan time.Time, env *protocol.Envelope, who protocol.ParticipantID) <-chan time.Time {
	var p protocol.Presence
	if json.Unmarshal(env.Payload, &p) != nil || p.Participant.ID != who {
		return gone
	}
	if p.Event == protocol.PresenceJoin {
		return nil
	}
	if gone == nil {
		return a.opts.After(awayTimeout)
	}
	return gone
}

// isConnected reports whether a participant is connected. Its return is no notice
// to an agent that was disconnected itself.
func (a *Agent) isConnected(who protocol.ParticipantID) bool {
	return slices.ContainsFunc(a.opts.Space.Welcome().Participants, func(p protocol.Participant) bool { return p.ID == who })
}

// cancellation builds the notification to the tool's owner that the agent no
// longer waits for the response.
func (x *action) cancellation() protocol.Envelope {
	return protocol.Envelope{
		Kind: protocol.KindMCPRequest, To: x.request.To, Context: x.p.path,
		Correlation: protocol.CorrelateTo(x.request.ID),
		Payload: object(
			field{"jsonrpc", "2.0"}, field{"method", "notifications/cancelled"},
			field{"params", map[string]any{"requestId": x.request.ID, "reason": "the result is no longer needed"}},
		),
	}
}
