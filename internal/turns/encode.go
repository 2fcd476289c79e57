package turns

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
)

// encoding is a turn as JSON. It is computed on first use and shared by all
// viewers that see the same: most of the cost of a cached page is encoding.
type encoding struct {
	once sync.Once
	json []byte
	err  error
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

// AppendJSON appends the page as JSON, as [encoding/json] would write it without
// escaping for HTML.
func (h *History) AppendJSON(dst []byte) ([]byte, error) {
	head, err := encode(struct {
		ThreadID  any `json:"thread_id"`
		SessionID any `json:"session_id"`
	}{h.ThreadID, h.SessionID})
	if err != nil {
		return nil, err
	}
	size := 256
	for i := range h.Turns {
		if e := h.Turns[i].encoded(); e != nil {
			size += len(e.json) + 1
		}
	}
	dst = append(slices.Grow(dst, size), head[:len(head)-1]...)
	dst = append(dst, `,"turns":[`...)
	for i := range h.Turns {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = h.Turns[i].AppendJSON(dst); err != nil {
			return nil, err
		}
	}
	dst = append(dst, `],"has_more":`...)
	return append(strconv.AppendBool(dst, h.HasMore), '}'), nil
}

// AppendJSON appends the turn as JSON, as [encoding/json] would write it without
// escaping for HTML.
func (t *TurnInfo) AppendJSON(dst []byte) ([]byte, error) {
	if e := t.encoded(); e != nil {
		return append(dst, e.json...), e.err
	}
	text, err := encode(t)
	return append(dst, text...), err
}

// encoded returns the shared encoding of the turn; nil if it has none.
func (t *TurnInfo) encoded() *encoding {
	e := t.shared
	if e != nil {
		e.once.Do(func() { e.json, e.err = encode(t) })
	}
	return e
}
