package openai

import (
	"bytes"
	"encoding/json"
	"strings"
)

// chunk is a chat.completion.chunk or a chat.completion; they differ in the
// delta or message of their choices. Fields with a form that varies between
// servers are parsed leniently, so that an unusual one does not lose the
// answer.
type chunk struct {
	ID      str             `json:"id"`
	Object  str             `json:"object"`
	Model   str             `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Index        int    `json:"index"`
	Delta        *delta `json:"delta"`
	Message      *delta `json:"message"`
	FinishReason str    `json:"finish_reason"`

	Error json.RawMessage `json:"error"` // OpenRouter's
}

type delta struct {
	Content          content           `json:"content"`
	Refusal          str               `json:"refusal"`
	ReasoningContent str               `json:"reasoning_content"`
	Reasoning        str               `json:"reasoning"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	ToolCalls        []callDelta       `json:"tool_calls"`
	FunctionCall     *function         `json:"function_call"` // before there were tool_calls
}

type callDelta struct {
	Index        *int            `json:"index"`
	ID           str             `json:"id"`
	Function     function        `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content"`
}

type function struct {
	Name      str       `json:"name"`
	Arguments arguments `json:"arguments"`
}

// str is a string; null and other types are "".
type str string

// UnmarshalJSON never fails.
func (s *str) UnmarshalJSON(b []byte) error {
	var v string
	if json.Unmarshal(b, &v) == nil {
		*s = str(v)
	}
	return nil
}

// arguments is the text of a call's arguments, or a piece of it. Some servers
// send the object itself instead of a string.
type arguments string

// UnmarshalJSON never fails.
func (a *arguments) UnmarshalJSON(b []byte) error {
	var v string
	switch {
	case json.Unmarshal(b, &v) == nil: // null gives ""
		*a = arguments(v)
	default:
		*a = arguments(b)
	}
	return nil
}

// content is a text, or a list of parts: text parts, and thinking parts in
// Mistral's form.
type content struct{ text, thinking string }

// UnmarshalJSON never fails.
func (c *content) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &c.text) == nil {
		return nil
	}
	var parts []struct {
		Type     str     `json:"type"`
		Text     str     `json:"text"`
		Thinking content `json:"thinking"`
	}
	if json.Unmarshal(b, &parts) != nil {
		return nil
	}
	var text, thinking strings.Builder
	for _, p := range parts {
		if p.Type == "thinking" {
			thinking.WriteString(p.Thinking.text)
		} else {
			text.WriteString(string(p.Text))
		}
	}
	c.text, c.thinking = text.String(), thinking.String()
	return nil
}

// parseError returns the code and the message in the body of a refusal, in the
// forms that servers use: OpenAI's {"error":{…}}, the same in a list (Gemini),
// with only a text (Ollama, LM Studio), vLLM's {"object":"error",…} and
// FastAPI's {"detail":…}.
func parseError(body []byte) (code, message string) { return parseErrorIn(body, 2) }

func parseErrorIn(body []byte, depth int) (code, message string) {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var e struct {
		Error   json.RawMessage `json:"error"`
		Code    json.RawMessage `json:"code"`
		Type    str             `json:"type"`
		Message str             `json:"message"`
		Detail  str             `json:"detail"`
	}
	if json.Unmarshal(body, &e) != nil {
		return "", ""
	}
	if some(e.Error) && depth > 0 {
		var text string
		if json.Unmarshal(e.Error, &text) == nil {
			return "", text
		}
		return parseErrorIn(e.Error, depth-1)
	}
	code = strings.Trim(string(e.Code), `"`)
	if !some(e.Code) || code == "" {
		code = string(e.Type)
	}
	if e.Message == "" {
		e.Message = e.Detail
	}
	return code, string(e.Message)
}

// some reports whether there is a value other than null.
func some(raw json.RawMessage) bool {
	return len(raw) > 0 && !bytes.Equal(raw, []byte("null"))
}
