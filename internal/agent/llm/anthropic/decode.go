package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

const (
	maxBlocks = 10_000
	maxBytes  = 64 << 20 // of the pieces of one answer
)

var (
	errOrder    = errors.New("events are out of order")
	errTooLarge = errors.New("the answer is too large")
)

// event is an event of the stream, of any type.
type event struct {
	Type    string          `json:"type"`
	Message *head           `json:"message"`       // message_start
	Index   int             `json:"index"`         // content_block_…
	Block   json.RawMessage `json:"content_block"` // content_block_start
	Delta   json.RawMessage `json:"delta"`
	Usage   *usage          `json:"usage"` // message_delta
	Error   *apiError       `json:"error"`
}

// head is a message: without its content in message_start, complete in the
// answer of a server that does not stream.
type head struct {
	ID         string            `json:"id"`
	Model      string            `json:"model"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Usage      usage             `json:"usage"`
}

// delta is a piece of a block, or (of message_delta) of the message.
type delta struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	PartialJSON string `json:"partial_json"`
	StopReason  string `json:"stop_reason"`
}

// usage is cumulative; missing counts are unchanged.
type usage struct {
	Input         *llm.Count `json:"input_tokens"`
	CacheCreation *llm.Count `json:"cache_creation_input_tokens"`
	CacheRead     *llm.Count `json:"cache_read_input_tokens"`
	Output        *llm.Count `json:"output_tokens"`
	Details       *struct {
		Thinking llm.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// UnmarshalJSON never fails: counts of another form do not fail the answer.
func (u *usage) UnmarshalJSON(b []byte) error {
	type members usage
	_ = json.Unmarshal(b, (*members)(u)) // it reads the members that fit
	return nil
}

// apiError is the body of a refusal. Compatible servers may send a code instead
// of the type.
type apiError struct {
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"`
	Message string          `json:"message"`
}

// answer is an incomplete answer. The zero value is ready to use; on is
// optional.
type answer struct {
	on    func(llm.Delta) // may be nil
	head  head
	usage usage

	blocks   []*block
	text     track
	thinking track
	bytes    int // of all pieces

	begun, done bool
}

// applyEvent applies one event. Its type is in the data; name is the equivalent type
// in the frame, used if the data has none. Events of unknown types are ignored.
// applyEvent returns *refused for an error event.
func (a *answer) applyEvent(name string, data []byte) error {
	var ev event
	if err := json.Unmarshal(data, &ev); err != nil {
		return fmt.Errorf("read event: %w", err)
	}
	if ev.Type == "" {
		ev.Type = name
	}
	if ev.Type == "" && ev.Error != nil { // of a server that is compatible
		ev.Type = "error"
	}
	a.bytes += len(data)
	if a.bytes > maxBytes {
		return fmt.Errorf("read event: %w: more than %d MiB", errTooLarge, maxBytes>>20)
	}
	if err := a.apply(&ev); err != nil {
		return fmt.Errorf("event %.40q: %w", ev.Type, err)
	}
	return nil
}

func (a *answer) apply(ev *event) error {
	switch ev.Type {
	case "error":
		return refusedWith(ev.Error)
	case "message_start":
		return a.start(ev.Message)
	case "content_block_start":
		return a.startBlock(ev.Index, ev.Block)
	case "content_block_delta":
		b, err := a.block(ev.Index)
		if err != nil {
			return err
		}
		var d delta
		if err := json.Unmarshal(ev.Delta, &d); err != nil {
			return err
		}
		switch d.Type { // not citations, and future types
		case "text_delta":
			b.text.WriteString(d.Text)
			a.text.add(d.Text)
		case "thinking_delta":
			b.thinking.WriteString(d.Thinking)
			a.thinking.add(d.Thinking)
		case "signature_delta":
			b.signature.WriteString(d.Signature)
		case "input_json_delta":
			b.input.WriteString(d.PartialJSON)
		}
	case "content_block_stop":
		_, err := a.block(ev.Index)
		return err
	case "message_delta":
		if !a.begun {
			return errOrder
		}
		var d delta
		if len(ev.Delta) > 0 {
			if err := json.Unmarshal(ev.Delta, &d); err != nil {
				return err
			}
		}
		a.head.StopReason = cmp.Or(d.StopReason, a.head.StopReason)
		if ev.Usage != nil {
			a.count(ev.Usage)
		}
	case "message_stop":
		if !a.begun {
			return errOrder
		}
		a.done = true
	}
	return nil // ping, and future types
}

func (a *answer) start(m *head) error {
	if m == nil || a.begun {
		return errOrder
	}
	a.begun, a.head = true, *m
	a.head.Content = nil
	a.count(&m.Usage)
	return nil
}

func (a *answer) startBlock(index int, raw json.RawMessage) error {
	if !a.begun || index != len(a.blocks) {
		return errOrder
	}
	if index >= maxBlocks {
		return errTooLarge
	}
	b := &block{raw: bytes.Clone(raw)}
	if err := json.Unmarshal(raw, &b.started); err != nil {
		return err
	}
	a.blocks = append(a.blocks, b)
	a.text.open(b.Type == "text", a.on, llm.TextDelta)
	a.thinking.open(b.Type == "thinking", a.on, llm.ThinkingDelta)
	a.text.add(b.Text)
	a.thinking.add(b.Thinking)
	if b.Type == "tool_use" && a.on != nil {
		a.on(llm.Delta{Kind: llm.CallDelta})
	}
	return nil
}

func (a *answer) block(index int) (*block, error) {
	if index < 0 || index >= len(a.blocks) {
		return nil, errOrder
	}
	return a.blocks[index], nil
}

// count copies the counts that are present.
func (a *answer) count(u *usage) {
	for _, c := range []struct{ to, from **llm.Count }{
		{&a.usage.Input, &u.Input}, {&a.usage.Output, &u.Output},
		{&a.usage.CacheCreation, &u.CacheCreation}, {&a.usage.CacheRead, &u.CacheRead},
	} {
		if *c.from != nil {
			*c.to = *c.from
		}
	}
	if u.Details != nil {
		a.usage.Details = u.Details
	}
}

// applyDocument applies the answer of a server that does not stream, through the
// same methods as events.
func (a *answer) applyDocument(body []byte) error {
	var whole struct {
		head
		Type  string    `json:"type"`
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(body, &whole); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if whole.Error != nil {
		return refusedWith(whole.Error)
	}
	if whole.Type != "message" {
		return fmt.Errorf("read answer: it is of type %.40q", whole.Type)
	}
	if err := a.start(&whole.head); err != nil {
		return err
	}
	for i, raw := range whole.Content {
		if err := a.startBlock(i, raw); err != nil {
			return fmt.Errorf("read block %d: %w", i, err)
		}
	}
	a.done = true
	return nil
}

// refused is an error that the API sent instead of an answer.
type refused struct{ apiError }

func (r *refused) Error() string { return r.Type + ": " + r.Message }

func refusedWith(e *apiError) error {
	if e == nil {
		e = &apiError{}
	}
	if e.Type == "" {
		e.Type = strings.Trim(string(e.Code), `"`)
	}
	if e.Type == "" || e.Type == "null" {
		e.Type = "api_error"
	}
	return &refused{*e}
}
