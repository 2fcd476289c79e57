package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/protocol"
)

// Receipt is the gateway's response to an admitted envelope.
type Receipt struct {
	ID  protocol.ID  `json:"id,omitempty"`
	Seq protocol.Seq `json:"seq,omitempty"`
	// Token lets the invited participant join. The gateway sends it once: it is
	// empty for kinds other than space.invite, for a retried invitation, and
	// for a user of the space's issuer, who already has a token.
	Token     string `json:"token,omitempty"`
	ExpiresAt string `json:"expires_at,omitempty"` // of the token, RFC 3339; "": never
	// Decides means, of an mcp.opinion, that its sender is a reviewer that decides on the
	// proposal. It is false for a retry.
	Decides bool `json:"decides,omitempty"`
}

// Send publishes an envelope in a space and returns its position in the log. If
// ID is empty, Send generates one. It ignores From, TS and Seq. If the gateway
// does not know the outcome, Send retries with the same id, up to sendAttempts
// times in total. If the error is a network error or outcome_unknown, the
// envelope may or may not be in the log; sending it again with the returned id
// is safe.
//
// Errors: a *protocol.Error for an invalid draft, without a request to the
// gateway; a *StatusError for a refusal.
func (c *Client) Send(ctx context.Context, space string, e protocol.Envelope) (Receipt, error) {
	if e.ID == "" {
		e.ID = protocol.ID(uuid.Must(uuid.NewV7()).String())
	}
	for attempt := 1; ; attempt++ {
		receipt, err := c.send(ctx, space, &e)
		if err == nil {
			return receipt, nil
		}
		if attempt == sendAttempts || !errors.Is(err, errOutcomeUnknown) || !pause(ctx, err) {
			return Receipt{ID: e.ID}, fmt.Errorf("send %s: %w", e.Kind, err)
		}
	}
}

// sendAttempts bounds how often an envelope with an unknown outcome is sent.
const sendAttempts = 5

var errOutcomeUnknown = &protocol.Error{Code: protocol.CodeOutcomeUnknown}

// pause waits for the delay that a refusal requests, at least a second. It
// returns false if ctx has ended.
func pause(ctx context.Context, cause error) bool {
	wait := time.Second
	var refused *StatusError
	if errors.As(cause, &refused) {
		wait = max(wait, refused.RetryAfter)
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *Client) send(ctx context.Context, space string, e *protocol.Envelope) (Receipt, error) {
	draft := EncodeDraft(e)
	if _, refused := protocol.Decode(bytes.Clone(draft), protocol.DialectMEUP01, protocol.MaxContextBytes); refused != nil {
		return Receipt{}, refused
	}
	r, err := c.request(ctx, http.MethodPost, inSpace(space, "envelopes"), nil, bytes.NewReader(draft))
	if err != nil {
		return Receipt{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	body, _, err := c.do(r)
	if err != nil {
		return Receipt{}, err
	}
	receipt := Receipt{}
	if err := json.Unmarshal(body, &receipt); err != nil {
		return Receipt{}, fmt.Errorf("read receipt: %w", err)
	}
	receipt.ID = e.ID
	return receipt, nil
}

// EncodeDraft encodes the fields that a sender may set: without from, which
// follows from the token, and without the fields that the gateway sets.
func EncodeDraft(e *protocol.Envelope) []byte {
	b := append(protocol.AppendString([]byte(`{"id":`), string(e.ID)), `,"kind":`...)
	b = protocol.AppendString(b, string(e.Kind))
	if len(e.To) > 0 {
		b = append(b, `,"to":[`...)
		for i, id := range e.To {
			b = appendItem(b, i, string(id))
		}
		b = append(b, ']')
	}
	ids := e.Correlation.IDs
	if len(ids) > 0 {
		b = append(b, `,"correlationId":`...)
	}
	if len(ids) == 1 && !e.Correlation.Array {
		b = protocol.AppendString(b, string(ids[0]))
	} else if len(ids) > 0 {
		b = append(b, '[')
		for i, id := range ids {
			b = appendItem(b, i, string(id))
		}
		b = append(b, ']')
	}
	if e.Context != "" {
		b = protocol.AppendString(append(b, `,"context":`...), string(e.Context))
	}
	if len(e.Payload) > 0 {
		b = append(append(b, `,"payload":`...), e.Payload...)
	}
	if len(e.Extra) > 0 {
		b = append(append(b, ','), e.Extra...)
	}
	return append(b, '}')
}

func appendItem(b []byte, i int, s string) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return protocol.AppendString(b, s)
}
