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

// Receipt is the gateway's answer to an envelope that it has admitted.
type Receipt struct {
	ID  protocol.ID  `json:"id"`
	Seq protocol.Seq `json:"seq"`
	// Token lets the invited participant join. The gateway sends it once: it is
	// empty for other kinds than space.invite, for a retried invitation, and for
	// a user of the space's issuer, who has a token already.
	Token     string `json:"token,omitempty"`
	ExpiresAt string `json:"expires_at,omitempty"` // of the token, RFC 3339; "": never
}

// Send puts an envelope into the log of a space and returns where it stands
// there. ID may be empty: then it is given one. From, TS and Seq are not looked
// at. An envelope whose outcome the gateway does not know is sent again under the
// same id, a few times. When the error is the network's or outcome_unknown, the
// envelope may be in the log or not; sending it again under the returned id is
// safe.
//
// Errors: a *protocol.Error for a draft whose form is wrong, without asking the
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

// sendAttempts is how often an envelope is sent whose outcome is unknown.
const sendAttempts = 5

var errOutcomeUnknown = &protocol.Error{Code: protocol.CodeOutcomeUnknown}

// pause waits as long as a refusal asks for, a second at least; false: ctx has
// ended.
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
	draft := encodeDraft(e)
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

// encodeDraft spells what a sender may say: without from, which the token
// says, and without what the gateway sets.
func encodeDraft(e *protocol.Envelope) []byte {
	b := append(protocol.AppendString([]byte(`{"id":`), string(e.ID)), `,"kind":`...)
	b = protocol.AppendString(b, string(e.Kind))
	if len(e.To) > 0 {
		b = append(b, `,"to":[`...)
		for i, id := range e.To {
			b = appendItem(b, i, string(id))
		}
		b = append(b, ']')
	}
	b = appendCorrelation(b, e.Correlation)
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

func appendCorrelation(b []byte, c protocol.Correlation) []byte {
	if len(c.IDs) == 0 {
		return b
	}
	b = append(b, `,"correlationId":`...)
	if len(c.IDs) == 1 && !c.Array {
		return protocol.AppendString(b, string(c.IDs[0]))
	}
	b = append(b, '[')
	for i, id := range c.IDs {
		b = appendItem(b, i, string(id))
	}
	return append(b, ']')
}

func appendItem(b []byte, i int, s string) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return protocol.AppendString(b, s)
}
