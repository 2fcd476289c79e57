package anthropic

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// earlier opens a conversation whose first message is the model's own, which
// the API does not take.
const earlier = "(What was said before is not shown.)"

// turn is a message that is being put together; the results of calls come
// before everything else that the user says.
type turn struct {
	role    string
	results []json.RawMessage
	content []json.RawMessage
}

// conversation turns messages into the alternation of user and assistant that
// the API wants: neighbours of one side become one message, and with them all
// results of an assistant's calls.
func conversation(messages []llm.Message, blocks bool) []message {
	var turns []*turn
	for i := range messages {
		role, results, content := encode(&messages[i], blocks)
		if len(results)+len(content) == 0 {
			continue
		}
		if len(turns) == 0 || turns[len(turns)-1].role != role {
			turns = append(turns, &turn{role: role})
		}
		last := turns[len(turns)-1]
		last.results = append(last.results, results...)
		last.content = append(last.content, content...)
	}
	if len(turns) > 0 && turns[0].role == "assistant" {
		turns = slices.Insert(turns, 0, &turn{role: "user", content: texts(earlier)})
	}
	out := make([]message, len(turns))
	for i, t := range turns {
		out[i] = message{Role: t.role, Content: append(t.results, t.content...)}
	}
	return out
}

// encode returns the blocks of one message: results of calls, and the rest.
func encode(m *llm.Message, blocks bool) (role string, results, content []json.RawMessage) {
	switch m.Role {
	case llm.User:
		return "user", nil, texts(m.Text)
	case llm.ToolResult:
		block := toolResultBlock{Type: "tool_result", ToolUseID: m.CallID, Content: m.Text, IsError: m.IsError}
		return "user", []json.RawMessage{marshal(block)}, nil
	case llm.Assistant:
		if own := opaque(m); blocks && own != nil {
			return "assistant", nil, own
		}
		return "assistant", nil, plain(m)
	}
	return "", nil, nil // the system prompt is elsewhere
}

// opaque returns the blocks of a turn as the provider gave them, or nil where
// there are none, or where they are not the turn's any more: a call that was
// taken out of it must not come back.
func opaque(m *llm.Message) []json.RawMessage {
	if m.Opaque.Provider != provider {
		return nil
	}
	var blocks []json.RawMessage
	if json.Unmarshal(m.Opaque.Data, &blocks) != nil {
		return nil
	}
	var calls []string
	for _, raw := range blocks {
		var b struct{ Type, ID string }
		if json.Unmarshal(raw, &b) != nil {
			return nil
		}
		if b.Type == "tool_use" {
			calls = append(calls, b.ID)
		}
	}
	same := slices.EqualFunc(calls, m.Calls, func(id string, c llm.ToolCall) bool { return id == c.ID })
	if !same || len(blocks) == 0 {
		return nil
	}
	return blocks
}

// plain tells a turn from what it says and calls.
func plain(m *llm.Message) []json.RawMessage {
	out := texts(m.Text)
	for _, c := range m.Calls {
		out = append(out, marshal(toolUseBlock{Type: "tool_use", ID: c.ID, Name: c.Name, Input: object(c.Arguments)}))
	}
	return out
}

// object is the arguments of a call as the API wants them. What the model
// wrote in place of an object goes back in the wrapping that the provider
// documents for that.
func object(args json.RawMessage) json.RawMessage {
	trimmed := bytes.TrimSpace(args)
	if len(trimmed) == 0 {
		return json.RawMessage(`{}`)
	}
	if trimmed[0] == '{' && json.Valid(trimmed) {
		return trimmed
	}
	var wrote string
	if json.Unmarshal(trimmed, &wrote) != nil {
		wrote = string(trimmed)
	}
	return marshal(map[string]string{"INVALID_JSON": wrote})
}

// texts is one text block, or none: the API refuses blank ones.
func texts(s string) []json.RawMessage {
	if blank(s) {
		return nil
	}
	return []json.RawMessage{marshal(textBlock{Type: "text", Text: s})}
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// hasThinking reports whether any message brings thinking back.
func hasThinking(messages []message) bool {
	for _, m := range messages {
		if slices.ContainsFunc(m.Content, isThinking) {
			return true
		}
	}
	return false
}

// continuesWithoutThinking reports whether the model is in the midst of a turn
// that did not begin with thinking. With a budget the API wants a turn to
// begin with it, so that it cannot be switched on there.
func continuesWithoutThinking(messages []message) bool {
	n := len(messages)
	if n < 2 || messages[n-2].Role != "assistant" {
		return false
	}
	if typeOf(messages[n-1].Content[0]) != "tool_result" {
		return false
	}
	return !isThinking(messages[n-2].Content[0])
}

func isThinking(block json.RawMessage) bool {
	t := typeOf(block)
	return t == "thinking" || t == "redacted_thinking"
}

func typeOf(block json.RawMessage) string {
	var b struct{ Type string }
	if json.Unmarshal(block, &b) != nil {
		return ""
	}
	return b.Type
}

// marshal encodes without escaping < and >, as the provider does. What it is
// given can always be encoded.
func marshal(v any) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage(`null`)
	}
	return bytes.TrimRight(buf.Bytes(), "\n")
}
