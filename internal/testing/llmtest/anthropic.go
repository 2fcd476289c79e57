package llmtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// messages answers in the format of Anthropic's Messages. It rejects the same
// mistakes as the real API: changed thinking, a call without its result in the
// next message, thinking together with a forced call.
func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("anthropic-version") == "" {
		writeJSON(w, http.StatusBadRequest, messagesRefusal("invalid_request_error", "anthropic-version: header is required"))
		return
	}
	s.serve(w, r, format{
		parse:    parseMessages,
		events:   messagesEvents,
		document: messagesDocument,
		refusal:  messagesRefusal,
	})
}

// Signature returns the signature of a thinking block.
func Signature(thinking string) string {
	sum := sha256.Sum256([]byte("signature of " + thinking))
	return base64.StdEncoding.EncodeToString(sum[:])
}

type messagesRequest struct {
	Model     string          `json:"model"`
	Stream    bool            `json:"stream"`
	MaxTokens int             `json:"max_tokens"`
	System    json.RawMessage `json:"system"`
	Messages  []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	ToolChoice struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tool_choice"`
	Thinking struct {
		Type         string `json:"type"`
		BudgetTokens int    `json:"budget_tokens"`
	} `json:"thinking"`
	OutputConfig struct {
		Effort string `json:"effort"`
	} `json:"output_config"`
}

// contentBlock is any that a request may have.
type contentBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// parseMessages parses a request. For an assistant's turn with more than text
// and calls, the blocks are in Opaque.
func parseMessages(body []byte) (Request, error) {
	var in messagesRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	if err := in.check(); err != nil {
		return Request{}, err
	}
	out := Request{Model: in.Model, stream: in.Stream}
	out.MaxTokens, out.Effort, out.Choice = in.MaxTokens, in.OutputConfig.Effort, in.choice()
	for _, t := range in.Tools {
		out.Tools = append(out.Tools, llm.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	system, err := blocksOf(in.System)
	if err != nil {
		return Request{}, fmt.Errorf("system: %w", err)
	}
	for _, b := range system {
		out.Messages = append(out.Messages, llm.Message{Role: llm.System, Text: b.Text})
	}
	for i, m := range in.Messages {
		read, err := in.message(i, m.Role, m.Content)
		if err != nil {
			return Request{}, fmt.Errorf("messages.%d.%w", i, err)
		}
		out.Messages = append(out.Messages, read...)
	}
	return out, answered(out.Messages)
}

func (in *messagesRequest) check() error {
	thinks := in.Thinking.Type == "enabled" || in.Thinking.Type == "adaptive"
	forced := in.ToolChoice.Type == "any" || in.ToolChoice.Type == "tool"
	switch {
	case in.Model == "" || len(in.Messages) == 0:
		return errors.New("model and messages: fields required")
	case in.MaxTokens <= 0:
		return errors.New("max_tokens: field required")
	case in.Messages[0].Role != "user":
		return errors.New("messages: first message must use the user role")
	case in.Thinking.Type == "enabled" && (in.Thinking.BudgetTokens < 1024 || in.Thinking.BudgetTokens >= in.MaxTokens):
		return errors.New("thinking.budget_tokens: must be at least 1024, and max_tokens greater than it")
	case thinks && forced:
		return errors.New("thinking may not be enabled when tool_choice forces tool use")
	case forced && len(in.Tools) == 0:
		return errors.New("tool_choice may only be specified while providing tools")
	}
	return nil
}

func (in *messagesRequest) choice() llm.ToolChoice {
	switch in.ToolChoice.Type {
	case "any":
		return llm.Required
	case "none":
		return llm.None
	case "tool":
		return llm.ToolChoice(in.ToolChoice.Name)
	}
	return llm.Auto
}

// message parses one message; a user's message may become several.
func (in *messagesRequest) message(i int, role string, content json.RawMessage) ([]llm.Message, error) {
	blocks, err := blocksOf(content)
	if err != nil {
		return nil, err
	}
	switch {
	case role != "user" && role != "assistant":
		return nil, fmt.Errorf("role: %q is neither user nor assistant", role)
	case len(blocks) == 0:
		return nil, errors.New("content: must not be empty")
	case role == "user":
		return userMessages(blocks)
	case in.Thinking.Type == "enabled" && i == len(in.Messages)-2 && calls(blocks) &&
		blocks[0].Type != "thinking" && blocks[0].Type != "redacted_thinking":
		return nil, fmt.Errorf("content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`", blocks[0].Type)
	}
	m, err := assistantMessage(blocks)
	if err == nil && m.Opaque.Provider != "" {
		m.Opaque.Data = content
	}
	return []llm.Message{m}, err
}

func calls(blocks []contentBlock) bool {
	for _, b := range blocks {
		if b.Type == "tool_use" {
			return true
		}
	}
	return false
}

func userMessages(blocks []contentBlock) ([]llm.Message, error) {
	var out []llm.Message
	for i, b := range blocks {
		switch b.Type {
		case "text":
			out = append(out, llm.Message{Role: llm.User, Text: b.Text})
		case "tool_result":
			text, err := contentText(b.Content)
			if err != nil {
				return nil, fmt.Errorf("content.%d: %w", i, err)
			}
			out = append(out, llm.Message{Role: llm.ToolResult, CallID: b.ToolUseID, Text: text, IsError: b.IsError})
		default:
			return nil, fmt.Errorf("content.%d.type: %q is not for users", i, b.Type)
		}
	}
	return out, nil
}

func assistantMessage(blocks []contentBlock) (llm.Message, error) {
	m := llm.Message{Role: llm.Assistant}
	for i, b := range blocks {
		switch b.Type {
		case "text":
			m.Text += b.Text
		case "tool_use":
			if len(b.Input) == 0 || b.Input[0] != '{' {
				return m, fmt.Errorf("content.%d.input: Input should be a valid dictionary", i)
			}
			m.Calls = append(m.Calls, llm.ToolCall{ID: b.ID, Name: b.Name, Arguments: b.Input})
		case "thinking", "redacted_thinking":
			m.Opaque.Provider = "anthropic"
			if b.Type == "thinking" && b.Signature != Signature(b.Thinking) {
				return m, fmt.Errorf("content.%d: Invalid `signature` in `thinking` block", i)
			}
		default:
			return m, fmt.Errorf("content.%d.type: %q is unknown", i, b.Type)
		}
	}
	return m, nil
}

// blocksOf parses content, which is a text or a list of blocks.
func blocksOf(raw json.RawMessage) ([]contentBlock, error) {
	var text string
	if len(raw) == 0 {
		return nil, nil
	}
	if json.Unmarshal(raw, &text) == nil {
		return []contentBlock{{Type: "text", Text: text}}, nil
	}
	var blocks []contentBlock
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return nil, errors.New("content: neither a text nor a list of blocks")
	}
	for i, b := range blocks {
		if b.Type == "text" && b.Text == "" {
			return nil, fmt.Errorf("content.%d: text content blocks must be non-empty", i)
		}
	}
	return blocks, nil
}
