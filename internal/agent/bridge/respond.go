package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/protocol"
)

// closingTime bounds the sending of responses after the bridge has been
// stopped.
const closingTime = 3 * time.Second

const (
	// envelopeOverhead bounds the bytes of an envelope outside its payload:
	// participants, ids, a context and the field names.
	envelopeOverhead = 2 << 10
	// envelopeDepth is the nesting depth of a result in an envelope.
	envelopeDepth = 4
)

// respond sends the only response of a call. If the gateway rejects the result,
// the response is an error that says so.
func (b *Bridge) respond(work context.Context, c *call, out outcome) {
	err := b.send(work, b.response(c, b.fit(c, out)))
	var refusal *protocol.Error
	if err == nil || !errors.As(err, &refusal) {
		return
	}
	f := faultOf(codeFailed, Unusable, "the gateway does not take the result: %s: %s", refusal.Code, refusal.Message)
	_ = b.send(work, b.response(c, outcome{fault: f})) // send logs the error
}

// response builds the envelope that answers a call.
func (b *Bridge) response(c *call, out outcome) protocol.Envelope {
	payload := append([]byte(`{"jsonrpc":"2.0","id":`), c.id...)
	if out.fault != nil {
		payload = append(payload, `,"error":`...)
		payload = append(payload, mustMarshal(out.fault)...)
	} else {
		payload = append(payload, `,"result":`...)
		payload = append(payload, out.result...)
	}
	return protocol.Envelope{
		Kind: protocol.KindMCPResponse, To: []protocol.ParticipantID{c.asker}, Context: c.contextPath,
		Correlation: protocol.CorrelateTo(c.envelope), Payload: append(payload, '}'),
	}
}

// fit reduces an outcome to one that fits into an envelope.
func (b *Bridge) fit(c *call, out outcome) outcome {
	room := int(^uint(0) >> 1)
	if most := b.opts.Space.Welcome().You.Limits.MessageBytes; most > 0 {
		room = max(0, int(most)-envelopeOverhead-len(c.id))
	}
	if out.fault != nil {
		return outcome{fault: fitFault(out.fault, room)}
	}
	f := checkResult(out.result, room)
	if f == nil {
		return out
	}
	if out.cut != nil {
		if short := out.cut(room); len(short) <= room {
			return outcome{result: short}
		}
	}
	return outcome{fault: f}
}

// checkResult returns a fault if a result is not valid in an envelope,
// otherwise nil.
func checkResult(result json.RawMessage, room int) *fault {
	if len(result) > room {
		return tooLarge(len(result), room)
	}
	if _, err := protocol.ParseJSON(result, protocol.MaxDepth-envelopeDepth); err != nil {
		return faultOf(codeFailed, Unusable, "the server's result cannot be put into an envelope: %v", err)
	}
	return nil
}

// fitFault removes the data of a fault if it is too large or not valid JSON for
// the gateway, and truncates the message.
func fitFault(f *fault, room int) *fault {
	fitting := *f
	if _, err := protocol.ParseJSON(fitting.Data, protocol.MaxDepth-envelopeDepth); err != nil {
		fitting.Data = nil
	}
	if len(mustMarshal(fitting)) > room {
		fitting.Data = mustMarshal(map[string]any{"reason": TooLarge, "bytes": len(f.Data) + len(f.Message), "limit": room})
		fitting.Message = textutil.Shorten(fitting.Message, maxMessage)
	}
	return &fitting
}

func tooLarge(size, room int) *fault {
	f := faultOf(codeFailed, TooLarge, "the result has %d bytes; an envelope has room for %d", size, room)
	f.Data = mustMarshal(map[string]any{"reason": TooLarge, "bytes": size, "limit": room})
	return f
}

// send publishes an envelope. It waits for an unreachable gateway, but at most
// closingTime after the bridge has been stopped.
func (b *Bridge) send(work context.Context, env protocol.Envelope) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(work))
	defer cancel()
	stop := context.AfterFunc(work, func() { time.AfterFunc(closingTime, cancel) })
	defer stop()
	_, err := b.opts.Space.Send(ctx, env)
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
