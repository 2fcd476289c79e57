package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

const created = 1767225600 // constant, so that answers are reproducible

// object is a JSON object for output.
type object = map[string]any

// completions returns the format of OpenAI's Chat Completions.
func (s *Server) completions() format {
	return format{
		parse:    parseCompletion,
		events:   s.completionEvents,
		document: s.completionDocument,
		refusal:  refusal,
	}
}

type completionRequest struct {
	Model   string `json:"model"`
	Stream  bool   `json:"stream"`
	Options struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Messages []struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		ToolCallID string          `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	MaxTokens           int             `json:"max_tokens"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	ReasoningEffort     string          `json:"reasoning_effort"`
}

func parseCompletion(body []byte) (Request, error) {
	var in completionRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return Request{}, err
	}
	if in.Model == "" || len(in.Messages) == 0 {
		return Request{}, errors.New("model and messages are required")
	}
	out := Request{Model: in.Model, stream: in.Stream, usage: in.Options.IncludeUsage}
	out.MaxTokens, out.Effort = max(in.MaxTokens, in.MaxCompletionTokens), in.ReasoningEffort
	out.Choice = parseChoice(in.ToolChoice)
	for _, t := range in.Tools {
		out.Tools = append(out.Tools, llm.Tool{Name: t.Function.Name, Description: t.Function.Description, InputSchema: t.Function.Parameters})
	}
	for i, m := range in.Messages {
		text, err := contentText(m.Content)
		if err != nil {
			return Request{}, fmt.Errorf("messages[%d]: %w", i, err)
		}
		msg := llm.Message{Role: llm.Role(m.Role), Text: text, CallID: m.ToolCallID}
		if m.Role == "developer" {
			msg.Role = llm.System
		}
		for _, c := range m.ToolCalls {
			if !json.Valid([]byte(c.Function.Arguments)) { // vLLM and Ollama reject it too
				return Request{}, fmt.Errorf("messages[%d]: the arguments of %s are no JSON", i, c.Function.Name)
			}
			msg.Calls = append(msg.Calls, llm.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)})
		}
		out.Messages = append(out.Messages, msg)
	}
	return out, answered(out.Messages)
}

// answered checks a rule of every provider: each call has its result directly
// after it, and each result has its call.
func answered(messages []llm.Message) error {
	open := map[string]bool{}
	for i, m := range messages {
		if m.Role == llm.ToolResult {
			if !open[m.CallID] {
				return fmt.Errorf("messages[%d]: no call %q before this result", i, m.CallID)
			}
			delete(open, m.CallID)
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("messages[%d]: %d calls before this have no result", i, len(open))
		}
		for _, c := range m.Calls {
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("the last message has %d calls without a result", len(open))
	}
	return nil
}

func contentText(raw json.RawMessage) (string, error) {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", errors.New("content is neither a text nor a list of parts")
	}
	for _, p := range parts {
		text += p.Text
	}
	return text, nil
}

func parseChoice(raw json.RawMessage) llm.ToolChoice {
	var word string
	if json.Unmarshal(raw, &word) == nil {
		if word == "auto" {
			return llm.Auto
		}
		return llm.ToolChoice(word)
	}
	var named struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	_ = json.Unmarshal(raw, &named) // no choice means auto
	return llm.ToolChoice(named.Function.Name)
}

// completionEvents returns the chunks of an answer, its usage, and [DONE].
func (s *Server) completionEvents(req Request, t Turn) []string {
	deltas := []object{{"role": "assistant", "content": ""}}
	thinking, text := s.deltasOf(t)
	deltas = append(deltas, thinking...)
	deltas = append(deltas, text...)
	for i, c := range t.Calls {
		deltas = append(deltas, callDelta(object{"index": i, "id": c.ID, "type": "function",
			"function": object{"name": c.Name, "arguments": ""}}))
		for _, p := range pieces(string(c.Arguments)) {
			deltas = append(deltas, callDelta(object{"index": i, "function": object{"arguments": p}}))
		}
	}
	var out []string
	for _, d := range deltas {
		out = append(out, event(chunk(req, []any{object{"index": 0, "delta": d, "finish_reason": nil}}, nil)))
	}
	out = append(out, event(chunk(req, []any{object{"index": 0, "delta": object{}, "finish_reason": finishReason(t.Stop)}}, nil)))
	if req.usage {
		out = append(out, event(chunk(req, []any{}, usage(t.Usage))))
	}
	return append(out, "data: [DONE]\n\n")
}

// deltasOf returns the deltas of thinking and of text.
func (s *Server) deltasOf(t Turn) (thinking, text []object) {
	field, words := s.ThinkingField, pieces(t.Thinking)
	switch {
	case field == "":
		field = "reasoning_content"
	case field == "content" && t.Thinking != "":
		words = pieces("<think>" + t.Thinking + "</think>\n\n")
	}
	for _, p := range words {
		var v any = p
		if field == "reasoning_details" {
			v = []any{object{"type": "reasoning.summary", "summary": p, "format": "openai-responses-v1", "index": 0}}
		}
		thinking = append(thinking, object{field: v})
	}
	for _, p := range pieces(t.Text) {
		text = append(text, object{"content": p})
	}
	return thinking, text
}

func callDelta(c object) object { return object{"tool_calls": []any{c}} }

func chunk(req Request, choices []any, usage any) object {
	return object{"id": answerID(req), "object": "chat.completion.chunk", "created": created, "model": req.Model,
		"choices": choices, "usage": usage}
}

func answerID(req Request) string { return fmt.Sprintf("chatcmpl-%d", req.N) }

// completionDocument returns an answer in one piece.
func (s *Server) completionDocument(req Request, t Turn) any {
	message := object{"role": "assistant", "content": t.Text}
	thinking, _ := s.deltasOf(Turn{Thinking: t.Thinking})
	if len(thinking) > 0 && (s.ThinkingField == "" || s.ThinkingField == "reasoning_content" || s.ThinkingField == "reasoning") {
		for field := range thinking[0] {
			message[field] = t.Thinking
		}
	}
	var calls []any
	for _, c := range t.Calls {
		calls = append(calls, object{"id": c.ID, "type": "function",
			"function": object{"name": c.Name, "arguments": string(c.Arguments)}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	return object{"id": answerID(req), "object": "chat.completion", "created": created, "model": req.Model,
		"choices": []any{object{"index": 0, "message": message, "finish_reason": finishReason(t.Stop)}},
		"usage":   usage(t.Usage)}
}

func usage(u llm.Usage) object {
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.Cached},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}

func finishReason(s llm.Stop) string {
	if s == llm.StopRefusal {
		return "content_filter"
	}
	return string(s)
}

func event(v any) string {
	data, err := json.Marshal(v)
	if err != nil { // cannot happen: the server creates v
		panic(err)
	}
	return "data: " + strings.TrimSpace(string(data)) + "\n\n"
}
