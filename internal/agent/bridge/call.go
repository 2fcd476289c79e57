package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/protocol"
)

// call is one accepted request.
type call struct {
	asker       protocol.ParticipantID
	envelope    protocol.ID
	contextPath protocol.ContextPath
	id          json.RawMessage // of JSON-RPC, as written
	method      string
	params      protocol.Value

	ctx    context.Context
	cancel context.CancelCauseFunc
}

// execute carries out a request on the server and logs it.
func (b *Bridge) execute(c *call, run method) outcome {
	begun := time.Now()
	out := b.inTurn(c, run)
	attrs := []any{"envelope", c.envelope, "from", c.asker, "method", c.method, "took", time.Since(begun)}
	if out.fault != nil {
		attrs = append(attrs, "code", out.fault.Code)
	}
	b.log.Debug("request answered", attrs...)
	return out
}

func (b *Bridge) inTurn(c *call, run method) outcome {
	if err := b.begin(c.ctx); err != nil {
		return outcome{fault: faultFrom(c.ctx, err)}
	}
	defer b.end()
	out, err := run(b, c)
	if err != nil {
		if errors.Is(err, mcptools.ErrServerGone) {
			b.log.Warn("call lost", "envelope", c.envelope, "err", err)
		}
		return outcome{fault: faultFrom(c.ctx, err)}
	}
	return out
}

// begin waits for a free slot and for the end of a pause.
func (b *Bridge) begin(ctx context.Context) error {
	select {
	case b.turns <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := b.gate.wait(ctx); err != nil {
		<-b.turns
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun++
	return nil
}

func (b *Bridge) end() {
	<-b.turns
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun--
}

// outcome is the result of a request, or a fault.
type outcome struct {
	result json.RawMessage
	fault  *fault
	// cut truncates a result that is too large to at most limit bytes; nil: it
	// cannot be truncated.
	cut func(limit int) json.RawMessage
}

// fault is the error of a JSON-RPC response.
type fault struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error returns the message.
func (f *fault) Error() string { return f.Message }

// Reason is data.reason of the errors that the bridge itself returns.
type Reason string

// The reasons of the bridge's own errors.
const (
	Busy      Reason = "busy"      // too many calls; retry later
	Timeout   Reason = "timeout"   // the server took too long
	Cancelled Reason = "cancelled" // cancelled by the requester
	Gone      Reason = "gone"      // the server ended; the state of the call is unknown
	TooLarge  Reason = "too_large" // the result does not fit into an envelope; data.bytes, data.limit
	Unusable  Reason = "unusable"  // the result is not valid in an envelope
	Shutdown  Reason = "shutdown"  // the bridge is ending
	Failed    Reason = "failed"    // anything else
)

// JSON-RPC codes of the bridge's own errors. Servers may also use the codes
// from -32000 on, so data.reason identifies the bridge's own errors.
const (
	codeNoSuchMethod  = -32601
	codeInvalidParams = -32602
	codeFailed        = -32000
	codeTimeout       = -32001
	codeCancelled     = -32002
)

// maxMessage bounds the message of the bridge's own errors, in characters.
const maxMessage = 1000

func faultOf(code int64, reason Reason, format string, args ...any) *fault {
	return &fault{
		Code: code, Message: textutil.Shorten(fmt.Sprintf(format, args...), maxMessage),
		Data: mustMarshal(map[string]Reason{"reason": reason}),
	}
}

// faultFrom converts the error of a call into a fault.
func faultFrom(ctx context.Context, err error) *fault {
	var own *fault
	var refusal *jsonrpc.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(context.Cause(ctx), errShutdown):
		return faultOf(codeFailed, Shutdown, "%v", errShutdown)
	case ctx.Err() != nil:
		return faultOf(codeCancelled, Cancelled, "%v", errCancelled)
	case errors.Is(err, mcptools.ErrClosed):
		return faultOf(codeFailed, Shutdown, "%v", errShutdown)
	case errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, mcptools.ErrServerGone):
		return faultOf(codeTimeout, Timeout, "the server took too long")
	case errors.Is(err, mcptools.ErrServerGone):
		// Not err: it may contain addresses.
		return faultOf(codeFailed, Gone, "the server ended, or did not come back in time")
	case errors.As(err, &refusal):
		return &fault{Code: refusal.Code, Message: refusal.Message, Data: refusal.Data}
	}
	return faultOf(codeFailed, Failed, "%v", err)
}
