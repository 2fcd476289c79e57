package turns

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// DefaultRationale is the rationale of a call without an explanation.
const DefaultRationale = "Tool selected to satisfy the current subtask."

// History is a page of a thread, oldest turn first.
type History struct {
	ThreadID  protocol.ID
	SessionID string
	Turns     []Turn
	HasMore   bool // there are older turns
}

// Turn is a turn as it is shown to a viewer. It is shared: read-only.
type Turn struct {
	api.Turn
	encoded func() ([]byte, error) // shared by all viewers that see the same; nil: none
}

// JSON encodes the page like an [api.History], each turn once for all viewers that
// see the same: most of the cost of a cached page is encoding.
func (h *History) JSON() ([]byte, error) {
	body, err := encode(&api.History{ThreadID: h.ThreadID, SessionID: h.SessionID, Turns: []api.Turn{}, HasMore: h.HasMore})
	if err != nil {
		return nil, err
	}
	at := bytes.LastIndexByte(body, '[') + 1
	body, rest := body[:at:at], body[at:]
	for i, t := range h.Turns {
		if t.encoded == nil {
			t.encoded = encodeOnce(&t.Turn)
		}
		text, err := t.encoded()
		if err != nil {
			return nil, err
		}
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, text...)
	}
	return append(body, rest...), nil
}

// encodeOnce returns a function that encodes a turn on its first call.
func encodeOnce(t *api.Turn) func() ([]byte, error) {
	return sync.OnceValues(func() ([]byte, error) { return encode(t) })
}

// encode writes v as JSON without escaping for HTML, so that "a < b" stays
// readable.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
