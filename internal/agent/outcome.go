package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
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
	var u *unknownError
	if errors.As(err, &u) {
		return nil, err
	}
	if errors.As(err, &refusal) && refusal.Code != protocol.CodeUnavailable {
		return refusal, nil
	}
	return nil, err
}

func errorOf(r contextwindow.Result) error {
	if r.Success {
		return nil
	}
	return errors.New(r.Error)
}

// fit returns the result unchanged if it fits into an envelope. A result that
// is too large, or nested too deeply for the gateway, is reduced to the items that
// fit, and marked.
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
	id := string(cmp.Or(x.request.ID, x.thought.ID))
	return append(a.describe(x.p), telemetry.ToolName.String(x.call.Tool), telemetry.ToolCallID.String(id))
}

// notAllowed describes a refusal for the planner and the space.
func notAllowed(refusal *protocol.Error) string {
	return fmt.Sprintf("not allowed: %s: %s", refusal.Code, refusal.Message)
}

// errTakenOver is the cause that ends a question when another process of the
// same participant continues it.
const errTakenOver = publicError("another process of this agent continues it")

// errBehind is the cause that ends a question when another process of the same
// participant has begun to answer it first.
const errBehind = publicError("another process of this agent began first")

// errGivenUp is the cause that ends a question when maxInterrupted attempts to answer it
// ended with their process.
const errGivenUp = publicError("this agent ended three times while it worked on the question, and does not try again. Ask once more if something else was the cause")

// errPanicked replaces the panic of a planner or a solver.
const errPanicked = publicError("the planner failed")

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
