package anthropic

import (
	"encoding/json"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// request is the body of POST /v1/messages.
type request struct {
	Model        string        `json:"model"`
	MaxTokens    int           `json:"max_tokens"`
	Stream       bool          `json:"stream"`
	System       []textBlock   `json:"system,omitempty"`
	Messages     []message     `json:"messages"`
	Tools        []tool        `json:"tools,omitempty"`
	ToolChoice   *toolChoice   `json:"tool_choice,omitempty"`
	Thinking     *thinking     `json:"thinking,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
}

type message struct {
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

type textBlock struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Cache *cache `json:"cache_control,omitempty"`
}

type toolUseBlock struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type toolResultBlock struct {
	Type      string `json:"type"`
	ToolUseID string `json:"tool_use_id"`
	Content   string `json:"content,omitempty"`
	IsError   bool   `json:"is_error,omitempty"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
	Cache       *cache          `json:"cache_control,omitempty"`
}

type toolChoice struct {
	Type string `json:"type"` // auto, any, tool, none
	Name string `json:"name,omitempty"`
}

type outputConfig struct {
	Effort string        `json:"effort,omitempty"`
	Format *outputFormat `json:"format,omitempty"`
}

type outputFormat struct {
	Type   string          `json:"type"` // json_schema
	Schema json.RawMessage `json:"schema"`
}

// cache marks the end of a prefix that the provider may cache for later
// requests. The tools and the system prompt are constant throughout a question,
// so each has a mark.
type cache struct {
	Type string `json:"type"`
}

var ephemeral = &cache{Type: "ephemeral"}

// build encodes req for the model. Without blocks, the assistant's turns are
// rebuilt without their thinking.
func build(model string, answerTokens int, req llm.Request, blocks bool) request {
	choice, plan := choose(model, req)
	if req.MaxTokens > 0 {
		answerTokens = req.MaxTokens
	}
	out := request{
		Model:     model,
		MaxTokens: answerTokens + plan.reserve,
		Stream:    true,
		Messages:  conversation(req.Messages, blocks && !plan.off),
		Thinking:  plan.thinking,
	}
	for i := range req.Messages { // the system messages: this API has one field for them
		if m := &req.Messages[i]; m.Role == llm.System && !blank(m.Text) {
			out.System = append(out.System, textBlock{Type: "text", Text: m.Text})
		}
	}
	if len(out.System) > 0 {
		out.System[len(out.System)-1].Cache = ephemeral
	}
	for _, t := range req.Tools {
		schema := t.InputSchema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		out.Tools = append(out.Tools, tool{Name: t.Name, Description: t.Description, InputSchema: schema})
	}
	if len(out.Tools) > 0 {
		out.Tools[len(out.Tools)-1].Cache = ephemeral
	}
	budgeted := plan.thinking != nil && plan.thinking.BudgetTokens > 0
	if budgeted && continuesWithoutThinking(out.Messages) {
		out.Thinking, out.MaxTokens = nil, answerTokens
	}
	if len(out.Tools) > 0 {
		out.ToolChoice = choice
	}
	config := outputConfig{Effort: plan.effort}
	if len(req.Schema) > 0 {
		config.Format = &outputFormat{"json_schema", req.Schema}
	}
	if config != (outputConfig{}) {
		out.OutputConfig = &config
	}
	return out
}
