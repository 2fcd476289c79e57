package anthropic

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// earlier begins a conversation if its first message is the model's own, which
// the API rejects.
const earlier = "(What was said before is not shown.)"

// turn is a message under construction. The results of calls come before the
// rest of the user's content.
type turn struct {
	role    string
	results []json.RawMessage
	content []json.RawMessage
}

// conversation converts messages to alternating user and assistant messages,
// which the API requires: consecutive messages of one role are merged,
// including the results of an assistant's calls.
func conversation(messages []llm.Message, blocks bool) []message {
	var turns []*turn
	for i := range messages {
		m, role := &messages[i], "user"
		var results, content []json.RawMessage
		switch m.Role {
		case llm.User:
			content = texts(m.Text)
		case llm.ToolResult:
			results = append(results, llm.Marshal(toolResultBlock{Type: "tool_result", ToolUseID: m.CallID, Content: m.Text, IsError: m.IsError}))
		case llm.Assistant:
			role = "assistant"
			if blocks {
				content = opaque(m)
			}
			if content == nil {
				content = plain(m)
			}
		case llm.System: // build collects these
		}
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

// opaque returns the provider's own blocks of a turn, or nil if there are none
// or they do not match the turn: a call that was removed from it must not
// reappear.
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

// plain builds a turn from its text and calls.
func plain(m *llm.Message) []json.RawMessage {
	out := texts(m.Text)
	for _, c := range m.Calls {
		out = append(out, llm.Marshal(toolUseBlock{Type: "tool_use", ID: c.ID, Name: c.Name, Input: object(c.Arguments)}))
	}
	return out
}

// object returns the arguments of a call as an object. A text that is not an
// object is wrapped as the provider documents.
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
	return llm.Marshal(map[string]string{"INVALID_JSON": wrote})
}

// texts returns one text block, or none: the API rejects blank ones.
func texts(s string) []json.RawMessage {
	if blank(s) {
		return nil
	}
	return []json.RawMessage{llm.Marshal(textBlock{Type: "text", Text: s})}
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// hasThinking reports whether any message contains thinking.
func hasThinking(messages []message) bool {
	for _, m := range messages {
		if slices.ContainsFunc(m.Content, isThinking) {
			return true
		}
	}
	return false
}

// continuesWithoutThinking reports whether the model continues a turn that did
// not begin with thinking. With a budget the API requires a turn to begin with
// thinking, so it cannot be enabled there.
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
