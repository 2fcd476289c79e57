package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// call is one accepted request.
type call struct {
	participant.Request
	asker       protocol.ParticipantID
	envelope    protocol.ID
	contextPath protocol.ContextPath
	token       string // of progress, at the server; "": none is requested

	bridge *Bridge
	place  *participant.Place // one of Options.MaxCalls
	asked  atomic.Int32       // questions of the server about it

	ctx    context.Context
	cancel context.CancelCauseFunc
}

// execute carries out a request on the server, and sends its only response. If the
// gateway rejects the result, the response is an error that says so.
func (b *Bridge) execute(c *call, run method) {
	begun := time.Now()
	out, err := b.inTurn(c, run)
	if err != nil {
		if errors.Is(err, mcptools.ErrServerGone) {
			b.log.Warn("call lost", "envelope", c.envelope, "err", err)
		}
		out = outcome{fault: faultFrom(c.ctx, err)}
	}
	attrs := []any{"envelope", c.envelope, "from", c.asker, "method", c.Method, "took", time.Since(begun)}
	if out.fault != nil {
		attrs = append(attrs, "code", out.fault.Code)
	}
	b.log.Debug("request answered", attrs...)
	err = b.send(b.response(c, b.fit(c, out)))
	var refusal *protocol.Error
	if errors.As(err, &refusal) {
		f := faultOf(participant.CodeFailed, Unusable, "the gateway rejected the result: %s: %s", refusal.Code, refusal.Message)
		_ = b.send(b.response(c, outcome{fault: f})) // send logs the error
	}
}

// inTurn waits for a free slot and for the end of a pause, and then runs the
// method.
func (b *Bridge) inTurn(c *call, run method) (outcome, error) {
	if err := c.place.Take(c.ctx); err != nil {
		return outcome{}, err
	}
	defer c.place.Leave()
	if err := b.runtime.Gate.Wait(c.ctx); err != nil {
		return outcome{}, err
	}
	b.begun.Add(1)
	defer b.begun.Add(-1)
	return run(b, c)
}

// outcome is the result of a request, or a fault.
type outcome struct {
	result json.RawMessage
	fits   bool // the result is known to be valid in an envelope that has room for it
	fault  *client.RPCError
	// cut truncates a result that is too large to at most limit bytes; nil: it
	// cannot be truncated.
	cut func(limit int) json.RawMessage
}

func outcomeOf(r mcptools.Result) outcome { return outcome{result: r.JSON, fits: r.Fits} }

// Reason is data.reason of the errors that the bridge itself returns. It
// identifies them, since servers may use the same codes.
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
	Restarted Reason = "restarted" // the bridge was restarted; the state of the call is unknown
	HeldBack  Reason = "held_back" // the tool's definition has changed and was not accepted; data.tool
	Failed    Reason = "failed"    // anything else
)

// maxMessage bounds the message of the bridge's own errors, in bytes.
const maxMessage = 1000

func faultOf(code int64, reason Reason, format string, args ...any) *client.RPCError {
	return &client.RPCError{
		Code: code, Message: textutil.ShortenChars(fmt.Sprintf(format, args...), maxMessage),
		Data: mustMarshal(map[string]Reason{"reason": reason}),
	}
}

// faultFrom converts the error of a call into a fault.
func faultFrom(ctx context.Context, err error) *client.RPCError {
	var own *client.RPCError
	var held *heldBackError
	var refusal *jsonrpc.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &held):
		f := faultOf(participant.CodeFailed, HeldBack, "%v", held)
		f.Data = mustMarshal(map[string]any{"reason": HeldBack, "tool": textutil.ShortenChars(held.Tool, maxMessage)})
		return f
	case errors.Is(context.Cause(ctx), errShutdown):
		return faultOf(participant.CodeFailed, Shutdown, "%v", errShutdown)
	case ctx.Err() != nil:
		return faultOf(participant.CodeCancelled, Cancelled, "%v", errCancelled)
	case errors.Is(err, mcptools.ErrClosed):
		return faultOf(participant.CodeFailed, Shutdown, "%v", errShutdown)
	case errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, mcptools.ErrServerGone):
		return faultOf(participant.CodeTimeout, Timeout, "the server took too long")
	case errors.Is(err, mcptools.ErrServerGone):
		// Not err: it may contain addresses.
		return faultOf(participant.CodeFailed, Gone, "the server ended, or was not restarted in time")
	case errors.As(err, &refusal):
		return &client.RPCError{Code: refusal.Code, Message: refusal.Message, Data: refusal.Data}
	}
	return faultOf(participant.CodeFailed, Failed, "%v", err)
}

const (
	// envelopeOverhead bounds the bytes of an envelope outside its payload:
	// participants, ids, a context and the field names.
	envelopeOverhead = 2 << 10
	// envelopeDepth is the nesting depth of a result in an envelope.
	envelopeDepth = 4
)

// response builds the envelope that answers a call. Its id is the same in all processes of
// the bridge: the response of the second one is a retry, and a request gets one response.
func (b *Bridge) response(c *call, out outcome) protocol.Envelope {
	id := uuid.NewSHA1(uuid.NameSpaceOID, []byte("response to "+c.envelope)).String()
	return protocol.Envelope{
		ID: protocol.ID(id), Kind: protocol.KindMCPResponse, To: []protocol.ParticipantID{c.asker}, Context: c.contextPath,
		Correlation: protocol.CorrelateTo(c.envelope), Payload: participant.Response(c.ID, out.result, out.fault),
	}
}

// fit reduces an outcome to one that is valid in an envelope and has room in it.
func (b *Bridge) fit(c *call, out outcome) outcome {
	room := math.MaxInt
	if most := b.opts.Space.Welcome().You.Limits.MessageBytes; most > 0 {
		room = max(0, int(most)-envelopeOverhead-len(c.ID))
	}
	tooLarge := func(size int) json.RawMessage {
		return mustMarshal(map[string]any{"reason": TooLarge, "bytes": size, "limit": room})
	}
	if f := out.fault; f != nil {
		fitting := *f
		fitting.Data = nil
		if doc, err := protocol.ParseForeignJSON(f.Data, protocol.MaxDepth-envelopeDepth); err == nil {
			fitting.Data = doc.Root().Raw()
		}
		if len(mustMarshal(fitting)) > room {
			fitting.Data = tooLarge(len(f.Data) + len(f.Message))
			fitting.Message = textutil.ShortenChars(fitting.Message, maxMessage)
		}
		return outcome{fault: &fitting}
	}
	var fault *client.RPCError
	if size := len(out.result); size > room {
		fault = faultOf(participant.CodeFailed, TooLarge, "the result has %d bytes; an envelope has room for %d", size, room)
		fault.Data = tooLarge(size)
	} else if !out.fits {
		if _, err := protocol.ParseJSON(out.result, protocol.MaxDepth-envelopeDepth); err != nil {
			fault = faultOf(participant.CodeFailed, Unusable, "the server's result cannot be put into an envelope: %v", err)
		}
	}
	if fault == nil {
		return out
	}
	if out.cut != nil {
		if short := out.cut(room); len(short) <= room {
			return outcome{result: short}
		}
	}
	return outcome{fault: fault}
}

// send publishes an envelope. It waits for an unreachable gateway, but at most
// participant.ClosingTime after the bridge has been stopped.
func (b *Bridge) send(env protocol.Envelope) error {
	_, err := b.opts.Space.Send(b.runtime.Final, env)
	if err != nil {
		b.log.Warn("envelope not sent", "kind", env.Kind, "to", env.To, "answers", env.Correlation.First(), "err", err)
	}
	return err
}

// mustMarshal marshals values that cannot fail.
func mustMarshal(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}
