package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/meup-protocol/meup/internal/mcptools"
	"github.com/meup-protocol/meup/internal/planner"
	"github.com/meup-protocol/meup/internal/reasoning"
	"github.com/meup-protocol/meup/protocol"
)

// Codes of the JSON-RPC errors with which the agent answers its own calls;
// those that a tool server gives pass as they are.
const (
	rpcNoSuchMethod = -32601
	rpcNoSuchTool   = -32602
	rpcFailed       = -32000
	rpcTimeout      = -32001
	rpcCancelled    = -32002
)

// maxSeen bounds what the planner sees of one result, in bytes.
const maxSeen = 1 << 20

// act carries out the calls of a step, all at the same time, and returns their
// results in their order. The error says why the question cannot go on; it is
// returned when every call has ended.
func (a *Agent) act(q *question, step reasoning.Record) ([]reasoning.Result, error) {
	results := make([]reasoning.Result, len(step.Calls))
	var calls sync.WaitGroup
	defer calls.Wait()
	for i, c := range step.Calls {
		request, err := a.announce(q, step, c)
		if err != nil {
			q.cancel(err) // and with it the calls under way
			return nil, err
		}
		refusal, err := a.ask(q, request)
		if err != nil {
			q.cancel(err)
			return nil, err
		}
		if refusal != nil {
			results[i] = reasoning.Result{Tool: c.Tool, Error: fmt.Sprintf("not allowed: %s: %s", refusal.Code, refusal.Message)}
			continue
		}
		calls.Go(func() { results[i] = a.call(q, request, c) })
	}
	calls.Wait()
	if q.ctx.Err() != nil {
		return nil, context.Cause(q.ctx)
	}
	return results, nil
}

// announce shares the reason of a call and returns the request that answers it.
func (a *Agent) announce(q *question, step reasoning.Record, c reasoning.Call) (protocol.Envelope, error) {
	fields := []field{{"message", cut(c.Reason, maxThought)}, {"tool_name", c.Tool}}
	if step.Concurrent {
		fields = append(fields, field{"parallel_group", step.Index})
	}
	thought := q.inside(protocol.KindReasoningThought, fields...)
	thought.ID = a.opts.NewID()
	if err := a.say(q, thought); err != nil {
		return protocol.Envelope{}, fmt.Errorf("share reason: %w", err)
	}
	request := protocol.Envelope{
		ID: a.opts.NewID(), Kind: protocol.KindMCPRequest, Context: q.path,
		Correlation: protocol.CorrelateTo(thought.ID),
	}
	if len(q.private) > 0 {
		request.To = []protocol.ParticipantID{a.you}
	}
	request.Payload = object(
		field{"jsonrpc", "2.0"}, field{"id", request.ID}, field{"method", "tools/call"},
		field{"params", map[string]any{"name": c.Tool, "arguments": c.Arguments}},
	)
	return request, nil
}

// ask puts the request into the log. A refusal of the gateway is not an error:
// it is the outcome of the call.
func (a *Agent) ask(q *question, request protocol.Envelope) (*protocol.Error, error) {
	err := a.say(q, request)
	var refusal *protocol.Error
	if err != nil && errors.As(err, &refusal) && q.ctx.Err() == nil {
		return refusal, nil
	}
	return nil, err
}

// call has the tool called, and tells the space what came of it.
func (a *Agent) call(q *question, request protocol.Envelope, c reasoning.Call) reasoning.Result {
	res, err := a.opts.Tools.Call(q.ctx, c.Tool, c.Arguments)
	response := protocol.Envelope{
		Kind: protocol.KindMCPResponse, Context: q.path, To: request.To,
		Correlation: protocol.CorrelateTo(request.ID),
	}
	head := []field{{"jsonrpc", "2.0"}, {"id", request.ID}}
	out := reasoning.Result{Tool: c.Tool}
	switch {
	case err != nil:
		rpc := rpcError(q.ctx, err)
		out.Error = rpc.Message
		response.Payload = object(append(head, field{"error", rpc})...)
	case res.IsError:
		out.Error = cutBytes(res.Text, maxThought)
		response.Payload = object(append(head, field{"result", a.fit(res)})...)
	default:
		out.Success, out.Text = true, cutBytes(res.Text, maxSeen)
		response.Payload = object(append(head, field{"result", a.fit(res)})...)
	}
	if err := a.respond(q, response); err != nil {
		a.log.Warn("response not shared", "context", q.path, "tool", c.Tool, "err", err)
	}
	return out
}

// respond sends the response even when the question was given up meanwhile:
// every request in the log gets one.
func (a *Agent) respond(q *question, response protocol.Envelope) error {
	response.ID = a.opts.NewID()
	err := a.say(q, response)
	if err == nil || q.ctx.Err() == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.ctx), closingTime)
	defer cancel()
	_, err = a.opts.Space.Send(ctx, response)
	return err
}

type rpcFault struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
}

func rpcError(ctx context.Context, err error) rpcFault {
	var refusal *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return rpcFault{rpcCancelled, "cancelled"}
	case errors.Is(err, context.DeadlineExceeded):
		return rpcFault{rpcTimeout, "the tool took too long"}
	case errors.Is(err, mcptools.ErrUnknownTool):
		return rpcFault{rpcNoSuchTool, "no such tool"}
	case errors.As(err, &refusal):
		return rpcFault{refusal.Code, cut(refusal.Message, maxThought)}
	}
	return rpcFault{rpcFailed, cut(err.Error(), maxThought)}
}

// fit returns a result as it is, or, where it is too large for an envelope or
// too deep for the gateway, its text alone, cut and marked.
func (a *Agent) fit(res mcptools.Result) json.RawMessage {
	limit := a.opts.MaxResultBytes
	if most := a.opts.Space.Welcome().You.Limits.MessageBytes; most > 0 {
		limit = min(limit, int(most)/2)
	}
	const wrapping = 8 // levels of nesting that an envelope adds
	if len(res.JSON) <= limit {
		if _, err := protocol.ParseJSON(res.JSON, protocol.MaxDepth-wrapping); err == nil {
			return res.JSON
		}
	}
	kept := res.Text
	for room := limit; ; room /= 2 {
		kept = cutBytes(kept, room)
		raw := cutResult(res, kept)
		if len(raw) <= limit || kept == "" {
			return raw
		}
	}
}

func cutResult(res mcptools.Result, kept string) json.RawMessage {
	text := kept
	if len(kept) < len(res.Text) {
		text += fmt.Sprintf("\n[cut: the first %d of %d bytes]", len(kept), len(res.Text))
	}
	return object(
		field{"content", []map[string]string{{"type": "text", "text": text}}},
		field{"isError", res.IsError},
		field{"_meta", map[string]any{"meup/truncated": map[string]int{"bytes": len(res.JSON), "text_bytes": len(res.Text), "text_kept": len(kept)}}},
	)
}

func plannable(tools []mcptools.Tool) []planner.Tool {
	out := make([]planner.Tool, 0, len(tools))
	for _, t := range tools {
		out = append(out, planner.Tool{
			Name: t.Name, Description: t.Description, InputSchema: t.InputSchema,
			ReadOnly: t.ReadOnly, Hinted: t.Hinted,
		})
	}
	return out
}

func trimStop(s string) string { return strings.TrimRight(strings.TrimSpace(s), ". ") }
