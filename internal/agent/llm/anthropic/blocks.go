package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// block is one content block of an answer: its first form, and the added
// pieces.
type block struct {
	raw json.RawMessage
	started

	text, thinking, signature, input strings.Builder // pieces added
}

type started struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

// arguments returns the arguments of a call: an object, or the model's text in
// its place. A call without arguments has an empty object. Invalid JSON, such
// as an object that max_tokens cut, becomes a JSON string.
func (b *block) arguments() json.RawMessage {
	wrote := b.input.String()
	if strings.TrimSpace(wrote) == "" {
		if len(b.Input) > 0 && string(b.Input) != "null" {
			return b.Input
		}
		return json.RawMessage(`{}`)
	}
	if !json.Valid([]byte(wrote)) {
		return llm.Marshal(wrote)
	}
	return json.RawMessage(wrote)
}

// forReplay returns the block for the next request, or nil for one that cannot be
// returned: thinking without its signature, blank text, an incomplete block.
// Content that the provider signs or encrypts is unchanged, byte for byte.
func (b *block) forReplay() json.RawMessage {
	switch b.Type {
	case "text":
		if text := b.Text + b.text.String(); !blank(text) {
			return llm.Marshal(textBlock{Type: "text", Text: text})
		}
		return nil
	case "thinking":
		signature := b.Signature + b.signature.String()
		if signature == "" {
			return nil
		}
		return llm.Marshal(struct {
			Type      string `json:"type"`
			Thinking  string `json:"thinking"`
			Signature string `json:"signature"`
		}{"thinking", b.Thinking + b.thinking.String(), signature})
	case "tool_use":
		return llm.Marshal(toolUseBlock{Type: "tool_use", ID: b.ID, Name: b.Name, Input: object(b.arguments())})
	}
	if b.input.Len() == 0 {
		return b.raw // redacted_thinking, and future types
	}
	var fields map[string]json.RawMessage // of an unknown type that has an input
	if json.Unmarshal(b.raw, &fields) != nil || fields == nil {
		return nil
	}
	fields["input"] = object(b.arguments())
	return llm.Marshal(fields)
}

// track collects the text, or the thinking, of an answer over all its blocks.
type track struct {
	out  strings.Builder
	emit func(string)
	gap  bool // other blocks came since the last piece
}

// open is called for each block that starts; mine: the block belongs to the track.
func (t *track) open(mine bool, on func(llm.Delta), kind llm.DeltaKind) {
	t.gap = t.gap || !mine
	t.emit = func(s string) {
		t.out.WriteString(s)
		if on != nil {
			on(llm.Delta{Kind: kind, Text: s})
		}
	}
}

// add adds a piece. Blocks that are separated by others become paragraphs.
func (t *track) add(s string) {
	if s == "" || t.emit == nil {
		return
	}
	if t.gap && t.out.Len() > 0 {
		t.emit("\n\n")
	}
	t.gap = false
	t.emit(s)
}

// Response returns the complete answer.
func (a *answer) Response() llm.Response {
	r := llm.Response{
		ID:       a.head.ID,
		Model:    a.head.Model,
		Message:  llm.Message{Role: llm.Assistant, Text: a.text.out.String()},
		Thinking: a.thinking.out.String(),
		Stop:     stopOf(a.head.StopReason),
		Usage:    a.usage.sum(),
	}
	for _, b := range a.blocks {
		if b.Type == "tool_use" {
			call := llm.ToolCall{ID: b.ID, Name: b.Name, Arguments: b.arguments()}
			r.Message.Calls = append(r.Message.Calls, call)
		}
	}
	if r.Stop != llm.StopRefusal { // a refused turn must not be returned
		r.Message.Opaque = a.opaque()
	}
	return r
}

// opaque returns the blocks, unless text and calls contain all of their
// content.
func (a *answer) opaque() llm.ProviderState {
	var blocks []json.RawMessage
	special, calls := false, false
	for i, b := range a.blocks {
		calls = calls || b.Type == "tool_use"
		special = special || b.Type != "tool_use" && (b.Type != "text" || i > 0 || calls)
		if own := b.forReplay(); own != nil {
			blocks = append(blocks, own)
		}
	}
	if !special || len(blocks) == 0 {
		return llm.ProviderState{}
	}
	return llm.ProviderState{Provider: provider, Data: llm.Marshal(blocks)}
}

// stopOf converts a stop_reason. pause_turn is for the provider's own tools,
// which are not offered here.
func stopOf(reason string) llm.Stop {
	switch reason {
	case "end_turn", "stop_sequence":
		return llm.StopEnd
	case "tool_use":
		return llm.StopTools
	case "max_tokens", "model_context_window_exceeded":
		return llm.StopLength
	case "refusal":
		return llm.StopRefusal
	}
	return llm.StopOther
}

// sum converts to llm.Usage: the API's input_tokens exclude tokens that were
// read from or written to a cache.
func (u *usage) sum() llm.Usage {
	out := llm.Usage{
		Input:  value(u.Input) + value(u.CacheCreation) + value(u.CacheRead),
		Output: value(u.Output),
		Cached: value(u.CacheRead),
	}
	if u.Details != nil {
		out.Reasoning = int(u.Details.Thinking)
	}
	return out
}

func value(n *llm.Count) int {
	if n == nil {
		return 0
	}
	return int(*n)
}
