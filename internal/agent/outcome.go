package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"go.opentelemetry.io/otel/attribute"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/publisher"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
	"github.com/meup-protocol/meup/internal/participant"
	"github.com/meup-protocol/meup/internal/redact"
	"github.com/meup-protocol/meup/internal/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// maxResult bounds the mcp.response of a call, in bytes; longer results are
// truncated. The planner receives more.
const maxResult = 256 << 10

// refusalOf separates a refusal by the capabilities, which is the outcome of a
// call, from an error that ends the problem.
func refusalOf(err error) (refusal *protocol.Error, fatal error) {
	if err == nil {
		return nil, nil
	}
	var u *publisher.UnknownError
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

// rpcError converts the error of a call to an error of JSON-RPC.
func rpcError(ctx context.Context, err error) *client.RPCError {
	var refusal *jsonrpc.Error
	switch {
	case ctx.Err() != nil:
		return errCallCancelled
	case errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, mcptools.ErrServerGone):
		return &client.RPCError{Code: participant.CodeTimeout, Message: "the tool took too long"}
	case errors.Is(err, mcptools.ErrUnknownTool):
		return &client.RPCError{Code: participant.CodeInvalidParams, Message: "no such tool"}
	case errors.As(err, &refusal):
		return &client.RPCError{Code: refusal.Code, Message: textutil.ShortenChars(refusal.Message, maxThought)}
	case errors.Is(err, mcptools.ErrServerGone):
		return failedCall("the tool server is gone")
	}
	return failedCall("the tool could not be called") // the reason is only logged, because it may contain addresses
}

var errCallCancelled = &client.RPCError{Code: participant.CodeCancelled, Message: "cancelled"}

func failedCall(message string) *client.RPCError {
	return &client.RPCError{Code: participant.CodeFailed, Message: message}
}

// fit returns the result unchanged if it fits into an envelope. A result that
// is too large, or nested too deeply for the gateway, is reduced to its text,
// truncated and marked.
func (a *Agent) fit(res mcptools.Result) json.RawMessage {
	limit := maxResult
	if most := a.opts.Space.Welcome().You.Limits.MessageBytes; most > 0 {
		limit = min(limit, int(most)/2)
	}
	return mcptools.Fit(res, limit)
}

// describe returns the span attributes of a problem.
func (a *Agent) describe(p *problem) []attribute.KeyValue {
	return []attribute.KeyValue{
		telemetry.ConversationID.String(a.space.Name), telemetry.AgentName.String(string(a.you)),
		attribute.String("meup.context", string(p.path)), attribute.String("meup.question", string(p.q.chat.ID)),
	}
}

func (a *Agent) describeCall(x *action) []attribute.KeyValue {
	id := string(x.request.ID)
	if x.request.ID == "" {
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

// errTakenOver is the cause that ends a question when another process of the
// same participant continues it.
var errTakenOver = errors.New("another process of this agent continues it")

// errBehind is the cause that ends a question when another process of the same
// participant has begun to answer it first.
var errBehind = errors.New("another process of this agent began first")

// errPlannerFailed replaces the panic of a planner.
var errPlannerFailed = errors.New("the planner failed")

// explain describes a cause for the space. Text from elsewhere in an error
// (addresses of this network, quotes from a provider) is written only to the
// log.
func explain(cause error) string {
	var (
		refusal *protocol.Error
		public  interface{ Public() string }
		stopped *cancelled
		network net.Error
		service *reasoner.APIError
	)
	switch {
	case errors.As(cause, &stopped):
		return stopped.Error()
	case errors.As(cause, &refusal):
		return fmt.Sprintf("the gateway refused it (%s: %s)", refusal.Code, trimStop(refusal.Message))
	case errors.As(cause, &public): // of a model, or of a Solver
		return public.Public()
	case errors.As(cause, &service):
		return "the Reasoning API answered with " + llm.PublicCode(service.Status, service.Code)
	case errors.Is(cause, reasoner.ErrTimeout):
		return "the Reasoning API did not answer in time"
	case errors.Is(cause, llm.ErrTruncated):
		return "the model's answer was cut off"
	case errors.Is(cause, context.DeadlineExceeded):
		return "it took too long"
	case errors.As(cause, &network):
		return "the model or the Reasoning API cannot be reached"
	}
	for _, plain := range []error{
		errShutdown, errRestarted, errTakenOver, errBehind, errPlannerFailed,
		planner.ErrRefused, planner.ErrRemote, planner.ErrLength, planner.ErrSilent, planner.ErrBadCalls, planner.ErrForced,
	} {
		if errors.Is(cause, plain) {
			return plain.Error()
		}
	}
	return "internal error; see the log of the agent"
}

// forLog formats an error for the operator's log. Secrets are masked, because
// the error may quote a key.
func forLog(err error) string {
	rules, broken := redact.Default()
	if broken != nil { // the rules are built in
		return explain(err)
	}
	return rules.Mask(err.Error())
}

func trimStop(s string) string { return strings.TrimRight(strings.TrimSpace(s), ". ") }

// field is one member of an object; members keep their order.
type field struct {
	name  string
	value any
}

// object builds a JSON object. A value that cannot be marshaled becomes null;
// the callers pass none.
func object(fields ...field) json.RawMessage {
	out := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			out = append(out, ',')
		}
		out = protocol.AppendString(out, f.name)
		out = append(out, ':')
		raw, err := json.Marshal(f.value)
		if err != nil {
			raw = []byte("null")
		}
		out = append(out, raw...)
	}
	return append(out, '}')
}
