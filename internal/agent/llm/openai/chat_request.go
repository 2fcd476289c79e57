package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

type chatRequest struct {
	Model               string         `json:"model"`
	Messages            []chatMessage  `json:"messages"`
	Tools               []chatTool     `json:"tools,omitempty"`
	ToolChoice          any            `json:"tool_choice,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	ResponseFormat      *jsonFormat    `json:"response_format,omitempty"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
}

// jsonFormat requests an answer that matches a schema. The Responses API has the
// fields of the schema next to the type.
type jsonFormat struct {
	Type       string        `json:"type"`
	JSONSchema *schemaFormat `json:"json_schema,omitempty"`
	schemaFormat
}

type schemaFormat struct {
	Name   string          `json:"name,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
	Strict bool            `json:"strict,omitempty"`
}

func newSchemaFormat(schema json.RawMessage) schemaFormat {
	return schemaFormat{Name: "answer", Schema: schema, Strict: true}
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content"` // null for calls without a text
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`

	ReasoningContent string            `json:"reasoning_content,omitempty"`
	Reasoning        string            `json:"reasoning,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
}

type chatCall struct {
	ID           string          `json:"id"`
	Type         string          `json:"type"`
	Function     chatFunction    `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content,omitempty"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON within a string
}

type chatTool struct {
	Type     string       `json:"type"`
	Function functionTool `json:"function"`
}

type functionTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

var emptySchema = json.RawMessage(`{"type":"object","properties":{}}`)

func (m *Model) chatBody(req llm.Request, v variant) chatRequest {
	out := chatRequest{
		Model: m.name, Messages: m.messages(req.Messages),
		Stream: true,
	}
	if !v.has(noStreamOptions) {
		out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, chatTool{"function", functionOf(t)})
	}
	if len(out.Tools) > 0 { // servers reject tool_choice without tools
		out.ToolChoice = choiceOf(req.Choice, func(name string) any {
			return map[string]any{"type": "function", "function": map[string]any{"name": name}}
		})
	}
	if len(req.Schema) > 0 {
		format := newSchemaFormat(req.Schema)
		out.ResponseFormat = &jsonFormat{Type: "json_schema", JSONSchema: &format}
	}
	if !v.has(noEffort) {
		out.ReasoningEffort = req.Effort
	}
	// OpenAI's reasoning models reject max_tokens; other servers do not support
	// its successor.
	if v.has(newTokens) {
		out.MaxCompletionTokens = req.MaxTokens
	} else {
		out.MaxTokens = req.MaxTokens
	}
	return out
}

func functionOf(t llm.Tool) functionTool {
	schema := t.InputSchema
	if len(schema) == 0 {
		schema = emptySchema
	}
	return functionTool{t.Name, t.Description, schema}
}

// choiceOf returns the tool choice; named returns the form for one tool.
func choiceOf(c llm.ToolChoice, named func(string) any) any {
	switch c {
	case llm.Auto:
		return nil
	case llm.None, llm.Required:
		return string(c)
	}
	return named(string(c))
}

func (m *Model) messages(in []llm.Message) []chatMessage {
	out := make([]chatMessage, 0, len(in))
	tooled := false // the question, which extends to the next user's message, has calls of tools
	for i, msg := range in {
		if i == 0 || msg.Role == llm.User {
			end := slices.IndexFunc(in[i+1:], func(x llm.Message) bool { return x.Role == llm.User })
			if end < 0 {
				end = len(in[i+1:])
			}
			tooled = slices.ContainsFunc(in[i:i+1+end], func(x llm.Message) bool { return len(x.Calls) > 0 })
		}
		text := msg.Text
		c := chatMessage{Role: string(msg.Role), Content: &text}
		switch msg.Role {
		case llm.ToolResult:
			c.ToolCallID = msg.CallID
			text = resultText(msg)
		case llm.Assistant:
			var kept replay
			if msg.Opaque.Provider == m.provider && json.Unmarshal(msg.Opaque.Data, &kept) != nil {
				kept = replay{}
			}
			for _, call := range msg.Calls {
				c.ToolCalls = append(c.ToolCalls, chatCall{
					ID: call.ID, Type: "function",
					Function:     chatFunction{call.Name, argumentsText(call.Arguments)},
					ExtraContent: kept.Extra[call.ID],
				})
			}
			if len(c.ToolCalls) > 0 && msg.Text == "" {
				c.Content = nil
			}
			if tooled {
				c.ReasoningContent, c.Reasoning, c.ReasoningDetails = kept.ReasoningContent, kept.Reasoning, kept.Details
			}
		}
		out = append(out, c)
	}
	return out
}

// resultText returns a tool's result. The format has no field for a failure.
func resultText(msg llm.Message) string {
	if msg.IsError && !strings.HasPrefix(strings.ToLower(msg.Text), "error") {
		return "Error: " + msg.Text
	}
	return msg.Text
}

// argumentsText always returns an object: servers with templates that read the
// arguments reject a whole conversation because of one call without an object.
func argumentsText(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "{}"
	}
	if isObject(raw) {
		return string(raw)
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	wrapped, err := json.Marshal(map[string]string{"invalid": text})
	if err != nil {
		return "{}"
	}
	return string(wrapped)
}

func isObject(raw []byte) bool {
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}
