package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"go.opentelemetry.io/otel/attribute"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
	"github.com/meup-protocol/meup/protocol"
)

// Codes of the JSON-RPC errors that the agent returns for calls. Codes from
// tool servers are passed through.
const (
	rpcNoSuchMethod = -32601
	rpcNoSuchTool   = -32602
	rpcFailed       = -32000
	rpcTimeout      = -32001
	rpcCancelled    = -32002
)

// Bounds of the part of one result that the planner receives, in bytes.
const (
	maxSeen  = 12 << 20
	maxError = 64 << 10
)

// refusalOf separates a refusal by the capabilities, which is the outcome of a
// call, from an error that ends the problem.
func refusalOf(err error) (refusal *protocol.Error, fatal error) {
	if err == nil {
		return nil, nil
	}
	var u *unknownOutcome
	if errors.As(err, &u) {
		return nil, err
	}
	if errors.As(err, &refusal) && refusal.Code != protocol.CodeUnavailable {
		return refusal, nil
	}
	return nil, err
}

func outcomeOf(success bool) contextwindow.Outcome {
	if success {
		return contextwindow.Success
	}
	return contextwindow.Failure
}

func errorOf(r contextwindow.Result) error {
	if r.Success {
		return nil
	}
	return errors.New(r.Error)
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
		return rpcFault{refusal.Code, textutil.Shorten(refusal.Message, maxThought)}
	case errors.Is(err, mcptools.ErrServerGone):
		return rpcFault{rpcFailed, "the tool server is gone"}
	}
	return rpcFault{rpcFailed, "the tool could not be called"} // the reason is only logged, because it may contain addresses
}

// fit returns the result unchanged if it fits into an envelope. A result that
// is too large, or nested too deeply for the gateway, is reduced to its text,
// truncated and marked.
func (a *Agent) fit(res mcptools.Result) json.RawMessage {
	limit := a.opts.MaxResultBytes
	if most := a.opts.Space.Welcome().You.Limits.MessageBytes; most > 0 {
		limit = min(limit, int(most)/2)
	}
	return mcptools.Fit(res, limit)
}

// resultIn reads the response to a request, from any participant.
func resultIn(env *protocol.Envelope) contextwindow.Result {
	var p struct {
		Result json.RawMessage  `json:"result"`
		Error  *client.RPCError `json:"error"`
	}
	if err := json.Unmarshal(env.Payload, &p); err != nil {
		return failed("the response cannot be read")
	}
	if p.Error != nil {
		return failed(textutil.Truncate(p.Error.Message, maxError))
	}
	res, err := mcptools.ParseResult(p.Result)
	if err != nil { // not a tool result: return it unchanged
		return contextwindow.Result{Success: true, Text: string(p.Result)}
	}
	return resultOf(res)
}

// describe returns the span attributes of a problem.
func (a *Agent) describe(p *problem) []attribute.KeyValue {
	return []attribute.KeyValue{
		telemetry.ConversationID.String(a.space), telemetry.AgentName.String(string(a.you)),
		attribute.String("meup.context", string(p.path)), attribute.String("meup.question", string(p.q.chat.ID)),
	}
}

func (a *Agent) describeCall(x *action) []attribute.KeyValue {
	id := string(x.request.ID)
	if x.call.Tool == planner.Subproblem {
		id = string(x.thought.ID)
	}
	return append(a.describe(x.p), telemetry.ToolName.String(x.call.Tool), telemetry.ToolCallID.String(id))
}

func outcomeAttribute(o contextwindow.Outcome) attribute.KeyValue {
	return attribute.String("meup.outcome", string(o))
}

// notAllowed describes a refusal for the planner and the space.
func notAllowed(refusal *protocol.Error) string {
	return fmt.Sprintf("not allowed: %s: %s", refusal.Code, refusal.Message)
}
