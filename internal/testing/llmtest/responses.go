package llmtest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// responses returns the format of OpenAI's Responses. It rejects the same
// mistakes as the real API does with store false, in its words: unknown or
// misplaced parameters, ids of another kind of item, an output without its call,
// a call without its output, reasoning that is not encrypted or was changed,
// reasoning at the end of a turn, and an item without the reasoning before it.
func responses() format {
	return format{
		parse:  parseResponses,
		events: responsesEvents,
		document: func(req Request, t Turn) any {
			return responseObject(req, t, responsesOutput(req, t), responsesStatus(t))
		},
		refusal: func(code, message string) any {
			return object{"error": object{"message": message, "type": "invalid_request_error", "param": nil, "code": code}}
		},
	}
}

// rejection is an invalid request, with the parts of the API's error.
type rejection struct {
	status              int
	code, message, name string
}

func (r *rejection) Error() string { return r.message }

func (r *rejection) body() any {
	e := object{"message": r.message, "type": "invalid_request_error", "param": r.name, "code": nil}
	if r.code != "" {
		e["code"] = r.code
	}
	return object{"error": e}
}

func reject(code, name, format string, args ...any) error {
	return &rejection{http.StatusBadRequest, code, fmt.Sprintf(format, args...), name}
}

type responsesRequest struct {
	Model             string            `json:"model"`
	Input             json.RawMessage   `json:"input"`
	Instructions      string            `json:"instructions"`
	Tools             []json.RawMessage `json:"tools"`
	ToolChoice        json.RawMessage   `json:"tool_choice"`
	ParallelToolCalls *bool             `json:"parallel_tool_calls"`
	MaxOutputTokens   *int              `json:"max_output_tokens"`
	Reasoning         *struct {
		Effort  string `json:"effort"`
		Summary string `json:"summary"`
	} `json:"reasoning"`
	Text *struct {
		Format    *textFormat `json:"format"`
		Verbosity string      `json:"verbosity"`
	} `json:"text"`
	Include []string `json:"include"`
	Store   *bool    `json:"store"`
	Stream  bool     `json:"stream"`
}

type textFormat struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Strict      bool            `json:"strict"`
}

type functionTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"` // the default is true
}

// unmarshal rejects unknown parameters. at is the path of v.
func unmarshal(raw []byte, at string, v any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	if err == nil {
		return nil
	}
	if _, field, ok := strings.Cut(err.Error(), "unknown field "); ok {
		name := strings.TrimPrefix(at+"."+strings.Trim(field, `"`), ".")
		return reject("unknown_parameter", name, "Unknown parameter: '%s'.", name)
	}
	return reject("invalid_type", at, "Invalid type for '%s': %v", at, err)
}

func parseResponses(body []byte) (Request, error) {
	var in responsesRequest
	if !json.Valid(body) {
		return Request{}, errors.New("We could not parse the JSON body of your request.") //nolint:revive,staticcheck // the API's words
	}
	if err := unmarshal(body, "", &in); err != nil {
		return Request{}, err
	}
	if err := in.check(); err != nil {
		return Request{}, err
	}
	out := Request{Model: in.Model, stream: in.Stream, encrypted: slices.Contains(in.Include, "reasoning.encrypted_content")}
	if in.Reasoning != nil {
		out.Effort, out.summary = in.Reasoning.Effort, in.Reasoning.Summary != ""
	}
	if in.MaxOutputTokens != nil {
		out.MaxTokens = *in.MaxOutputTokens
	}
	if in.Text != nil && in.Text.Format != nil {
		out.Schema = in.Text.Format.Schema
	}
	for i, raw := range in.Tools {
		tool, err := parseFunction(raw, fmt.Sprintf("tools[%d]", i))
		if err != nil {
			return Request{}, err
		}
		out.Tools = append(out.Tools, tool)
	}
	var err error
	out.Choice, err = in.choice(out.Tools)
	if err != nil {
		return Request{}, err
	}
	if in.Instructions != "" {
		out.Messages = append(out.Messages, llm.Message{Role: llm.System, Text: in.Instructions})
	}
	messages, err := in.messages()
	out.Messages = append(out.Messages, messages...)
	return out, err
}

func (in *responsesRequest) check() error {
	oneOf := func(name, value string, values ...string) error {
		if value == "" || slices.Contains(values, value) {
			return nil
		}
		return reject("invalid_value", name, "Invalid value: '%s'. Supported values are: '%s'.", value, strings.Join(values, "', '"))
	}
	switch {
	case in.Model == "":
		return reject("missing_required_parameter", "model", "Missing required parameter: 'model'.")
	case len(in.Input) == 0:
		return reject("missing_required_parameter", "input", "Missing required parameter: 'input'.")
	case in.Store == nil || *in.Store:
		return reject("invalid_value", "store", "this server stores nothing: 'store' has to be false")
	case in.MaxOutputTokens != nil && *in.MaxOutputTokens < 16:
		return reject("integer_below_min_value", "max_output_tokens", "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.", *in.MaxOutputTokens)
	}
	for i, include := range in.Include {
		if err := oneOf(fmt.Sprintf("include[%d]", i), include, "reasoning.encrypted_content", "message.output_text.logprobs"); err != nil {
			return err
		}
	}
	if r := in.Reasoning; r != nil {
		if err := errors.Join(oneOf("reasoning.effort", r.Effort, "none", "minimal", "low", "medium", "high", "xhigh", "max"),
			oneOf("reasoning.summary", r.Summary, "auto", "concise", "detailed")); err != nil {
			return err
		}
	}
	if in.Text == nil || in.Text.Format == nil || in.Text.Format.Type == "text" {
		return nil
	}
	f := in.Text.Format
	switch {
	case f.Type != "json_schema":
		return oneOf("text.format.type", f.Type, "text", "json_schema")
	case f.Name == "":
		return reject("missing_required_parameter", "text.format.name", "Missing required parameter: 'text.format.name'.")
	case f.Strict:
		return checkStrict(f.Schema, "response_format", f.Name)
	}
	return nil
}

func parseFunction(raw json.RawMessage, at string) (llm.Tool, error) {
	var f functionTool
	if err := unmarshal(raw, at, &f); err != nil {
		return llm.Tool{}, err
	}
	switch {
	case f.Type != "function":
		return llm.Tool{}, reject("invalid_value", at+".type", "Invalid value: '%s'. Supported values are: 'function'.", f.Type)
	case f.Name == "":
		return llm.Tool{}, reject("missing_required_parameter", at+".name", "Missing required parameter: '%s.name'.", at)
	case f.Strict == nil || *f.Strict:
		if err := checkStrict(f.Parameters, "function", f.Name); err != nil {
			return llm.Tool{}, err
		}
	}
	return llm.Tool{Name: f.Name, Description: f.Description, InputSchema: f.Parameters}, nil
}

// checkStrict checks the outermost object of a schema.
func checkStrict(raw json.RawMessage, what, name string) error {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional *bool                      `json:"additionalProperties"`
	}
	if json.Unmarshal(raw, &schema) != nil || schema.Additional == nil || *schema.Additional {
		return reject("invalid_function_parameters", name, "Invalid schema for %s '%s': In context=(), 'additionalProperties' is required to be supplied and to be false.", what, name)
	}
	for property := range schema.Properties {
		if !slices.Contains(schema.Required, property) {
			return reject("invalid_function_parameters", name, "Invalid schema for %s '%s': In context=(), 'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", what, name, property)
		}
	}
	return nil
}

func (in *responsesRequest) choice(tools []llm.Tool) (llm.ToolChoice, error) {
	var word string
	if len(in.ToolChoice) == 0 {
		return llm.Auto, nil
	}
	if json.Unmarshal(in.ToolChoice, &word) == nil {
		switch {
		case word == "auto":
			return llm.Auto, nil
		case word == "required" && len(tools) == 0:
			return "", reject("", "tool_choice", "Tool choice 'required' must be specified with 'tools' parameter.")
		case word == "none" || word == "required":
			return llm.ToolChoice(word), nil
		}
		return "", reject("invalid_value", "tool_choice", "Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", word)
	}
	var named struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	if err := unmarshal(in.ToolChoice, "tool_choice", &named); err != nil {
		return "", err
	}
	if !slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == named.Name }) {
		return "", reject("", "tool_choice", "Tool choice '%s' not found in 'tools' parameter.", named.Type)
	}
	return llm.ToolChoice(named.Name), nil
}

// encrypted returns the encrypted content of a reasoning item.
func encrypted(thinking string) string {
	return "gAAAA" + base64.StdEncoding.EncodeToString([]byte(thinking))
}

func isEncrypted(content string) bool {
	_, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(content, "gAAAA"))
	return err == nil && strings.HasPrefix(content, "gAAAA")
}
