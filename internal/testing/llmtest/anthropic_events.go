package llmtest

import (
	"encoding/json"
	"fmt"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// messagesEvents returns an answer as the events of the API's stream.
func messagesEvents(req Request, t Turn) []string {
	head := messagesHead(req)
	head["content"], head["stop_reason"] = []any{}, nil
	input := messagesUsage(t.Usage)
	input["output_tokens"] = 1
	head["usage"] = input
	out := []string{
		named("message_start", object{"message": head}),
		named("ping", nil),
	}
	n := 0
	if t.Thinking != "" {
		parts := append(deltas("thinking_delta", "thinking", t.Thinking), object{"type": "signature_delta", "signature": Signature(t.Thinking)})
		out = append(out, blockEvents(n, object{"type": "thinking", "thinking": "", "signature": ""}, parts)...)
		n++
	}
	if t.Text != "" {
		out = append(out, blockEvents(n, object{"type": "text", "text": ""}, deltas("text_delta", "text", t.Text))...)
		n++
	}
	for _, c := range t.Calls {
		start := object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}
		out = append(out, blockEvents(n, start, deltas("input_json_delta", "partial_json", string(c.Arguments)))...)
		n++
	}
	return append(out,
		named("message_delta", object{
			"delta": object{"stop_reason": stopReason(t.Stop), "stop_sequence": nil},
			"usage": messagesUsage(t.Usage),
		}),
		named("message_stop", nil))
}

// blockEvents returns the events of one content block.
func blockEvents(n int, start object, deltas []object) []string {
	out := []string{named("content_block_start", object{"index": n, "content_block": start})}
	for _, d := range deltas {
		out = append(out, named("content_block_delta", object{"index": n, "delta": d}))
	}
	return append(out, named("content_block_stop", object{"index": n}))
}

func deltas(kind, field, text string) []object {
	var out []object
	for _, p := range pieces(text) {
		out = append(out, object{"type": kind, field: p})
	}
	return out
}

// messagesDocument returns an answer in one piece.
func messagesDocument(req Request, t Turn) any {
	content := []any{}
	if t.Thinking != "" {
		content = append(content, object{"type": "thinking", "thinking": t.Thinking, "signature": Signature(t.Thinking)})
	}
	if t.Text != "" {
		content = append(content, object{"type": "text", "text": t.Text})
	}
	for _, c := range t.Calls {
		content = append(content, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.Arguments})
	}
	doc := messagesHead(req)
	doc["content"], doc["stop_reason"], doc["usage"] = content, stopReason(t.Stop), messagesUsage(t.Usage)
	return doc
}

func messagesHead(req Request) object {
	return object{"id": fmt.Sprintf("msg_%d", req.N), "type": "message", "role": "assistant", "model": req.Model, "stop_sequence": nil}
}

// messagesUsage counts as the API does: input_tokens exclude cached tokens.
func messagesUsage(u llm.Usage) object {
	return object{
		"input_tokens":                u.Input - u.Cached,
		"cache_creation_input_tokens": 0,
		"cache_read_input_tokens":     u.Cached,
		"output_tokens":               u.Output,
		"output_tokens_details":       object{"thinking_tokens": u.Reasoning},
	}
}

func stopReason(s llm.Stop) string {
	switch s {
	case llm.StopTools:
		return "tool_use"
	case llm.StopLength:
		return "max_tokens"
	case llm.StopRefusal:
		return "refusal"
	case llm.StopOther:
		return "pause_turn"
	}
	return "end_turn"
}

// messagesRefusal returns an error in Anthropic's form.
func messagesRefusal(code, message string) any {
	return object{"type": "error", "error": object{"type": code, "message": message}, "request_id": "req_test"}
}

// named returns an event with its type in the data.
func named(name string, data object) string {
	if data == nil {
		data = object{}
	}
	data["type"] = name
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err) // a script with arguments that are not JSON
	}
	return "event: " + name + "\ndata: " + string(raw) + "\n\n"
}
