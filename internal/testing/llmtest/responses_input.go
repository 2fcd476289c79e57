package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// messages converts the input, a text or a list of items.
func (in *responsesRequest) messages() ([]llm.Message, error) {
	var text string
	if json.Unmarshal(in.Input, &text) == nil {
		return []llm.Message{{Role: llm.User, Text: text}}, nil
	}
	var items []json.RawMessage
	if json.Unmarshal(in.Input, &items) != nil {
		return nil, reject("invalid_type", "input", "Invalid type for 'input': expected a string or an array.")
	}
	r := inputReader{open: map[string]bool{}, seen: map[string]bool{}}
	for i, raw := range items {
		if err := r.item(fmt.Sprintf("input[%d]", i), raw); err != nil {
			return nil, err
		}
	}
	if err := r.follows(""); err != nil {
		return nil, err
	}
	for _, m := range r.out {
		for _, c := range m.Calls {
			if r.open[c.ID] {
				return nil, reject("", "input", "No tool output found for function call %s.", c.ID)
			}
		}
	}
	return r.out, nil
}

// inputReader reads input items. The items of one turn of the model become one
// message.
type inputReader struct {
	out       []llm.Message
	turn      []json.RawMessage // the items of the turn that is read
	open      map[string]bool   // calls by id; true: without output
	reasoning string            // id of a reasoning item whose next item is awaited
	seen      map[string]bool   // ids of the reasoning items
}

func (r *inputReader) item(at string, raw json.RawMessage) error {
	var head struct {
		Type string `json:"type"`
		Role string `json:"role"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return reject("invalid_type", at, "Invalid type for '%s': expected an object.", at)
	}
	if head.Type == "" && head.Role != "" {
		head.Type = "message"
	}
	switch {
	case head.Type == "message" && head.Role == "assistant":
		return r.assistant(at, raw)
	case head.Type == "message":
		return r.message(at, raw)
	case head.Type == "reasoning":
		return r.reason(at, raw)
	case head.Type == "function_call":
		return r.call(at, raw)
	case head.Type == "function_call_output":
		return r.output(at, raw)
	}
	return reject("invalid_value", at, "Invalid value: '%s'. Supported values are: 'message', 'reasoning', 'function_call', and 'function_call_output'.", head.Type)
}

// follows checks what comes after a reasoning item. kind is the type of an item
// of the same turn, or "".
func (r *inputReader) follows(kind string) error {
	if r.reasoning != "" && (kind == "" || kind == "reasoning") {
		return reject("", "input", "Item '%s' of type 'reasoning' was provided without its required following item.", r.reasoning)
	}
	r.reasoning = ""
	if kind == "" {
		r.turn = nil
	}
	return nil
}

// own begins or continues a turn of the model.
func (r *inputReader) own(at, kind, prefix, id string, raw json.RawMessage) (*llm.Message, error) {
	if err := r.follows(kind); err != nil {
		return nil, err
	}
	if id != "" && !strings.HasPrefix(id, prefix) {
		return nil, reject("invalid_value", at+".id", "Invalid '%s.id': '%s'. Expected an ID that begins with '%s'.", at, id, prefix)
	}
	if _, needs, found := strings.Cut(id, "_after_"); found && !r.seen[needs] {
		return nil, reject("", "input", "Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", id, kind, needs)
	}
	if r.turn == nil {
		r.out = append(r.out, llm.Message{Role: llm.Assistant})
	}
	r.turn = append(r.turn, raw)
	m := &r.out[len(r.out)-1]
	if kind == "reasoning" || m.Opaque.Provider != "" {
		data, err := json.Marshal(r.turn)
		if err != nil { // cannot happen: it was parsed
			return nil, err
		}
		m.Opaque = llm.ProviderState{Provider: "openai", Data: data}
	}
	return m, nil
}

func (r *inputReader) reason(at string, raw json.RawMessage) error {
	var item struct {
		Type             string     `json:"type"`
		ID               string     `json:"id"`
		EncryptedContent string     `json:"encrypted_content"`
		Summary          []textPart `json:"summary"`
		Content          []textPart `json:"content"`
	}
	if err := unmarshal(raw, at, &item); err != nil {
		return err
	}
	switch {
	case item.Summary == nil:
		return reject("missing_required_parameter", at+".summary", "Missing required parameter: '%s.summary'.", at)
	case item.EncryptedContent == "":
		return &rejection{http.StatusNotFound, "", fmt.Sprintf("Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", item.ID), "input"}
	case !isEncrypted(item.EncryptedContent):
		return reject("invalid_encrypted_content", "input", "The encrypted content for item %s could not be verified.", item.ID)
	}
	if _, err := r.own(at, "reasoning", "rs", item.ID, raw); err != nil {
		return err
	}
	r.reasoning, r.seen[item.ID] = item.ID, true
	return nil
}

type textPart struct {
	Type        string            `json:"type"`
	Text        string            `json:"text"`
	Refusal     string            `json:"refusal"`
	Annotations []json.RawMessage `json:"annotations"`
	Logprobs    []json.RawMessage `json:"logprobs"`
}

type messageItem struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Status  string          `json:"status"`
	Phase   string          `json:"phase"`
	Content json.RawMessage `json:"content"`
}

// parts reads the content of a message, a text or parts of the given types.
func (m *messageItem) parts(at string, types ...string) (text string, err error) {
	if json.Unmarshal(m.Content, &text) == nil {
		return text, nil
	}
	var parts []json.RawMessage
	if json.Unmarshal(m.Content, &parts) != nil {
		return "", reject("invalid_type", at+".content", "Invalid type for '%s.content': expected a string or an array.", at)
	}
	for i, raw := range parts {
		var p textPart
		where := fmt.Sprintf("%s.content[%d]", at, i)
		if err := unmarshal(raw, where, &p); err != nil {
			return "", err
		}
		if !slices.Contains(types, p.Type) {
			return "", reject("invalid_value", where+".type", "Invalid value: '%s'. Supported values are: '%s'.", p.Type, strings.Join(types, "' and '"))
		}
		text += p.Text + p.Refusal
	}
	return text, nil
}

func (r *inputReader) message(at string, raw json.RawMessage) error {
	var item messageItem
	if err := unmarshal(raw, at, &item); err != nil {
		return err
	}
	role := map[string]llm.Role{"user": llm.User, "system": llm.System, "developer": llm.System}[item.Role]
	if role == "" {
		return reject("invalid_value", at+".role", "Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", item.Role)
	}
	text, err := item.parts(at, "input_text")
	if err != nil {
		return err
	}
	if err := r.follows(""); err != nil {
		return err
	}
	r.out = append(r.out, llm.Message{Role: role, Text: text})
	return nil
}

func (r *inputReader) assistant(at string, raw json.RawMessage) error {
	var item messageItem
	if err := unmarshal(raw, at, &item); err != nil {
		return err
	}
	text, err := item.parts(at, "output_text", "refusal")
	if err != nil {
		return err
	}
	m, err := r.own(at, "message", "msg", item.ID, raw)
	if err != nil {
		return err
	}
	m.Text += text
	return nil
}

func (r *inputReader) call(at string, raw json.RawMessage) error {
	var item struct {
		Type      string  `json:"type"`
		ID        string  `json:"id"`
		CallID    string  `json:"call_id"`
		Name      string  `json:"name"`
		Arguments *string `json:"arguments"`
		Status    string  `json:"status"`
	}
	if err := unmarshal(raw, at, &item); err != nil {
		return err
	}
	if item.CallID == "" || item.Name == "" || item.Arguments == nil {
		return reject("missing_required_parameter", at, "Missing required parameter: '%s' needs 'call_id', 'name' and 'arguments'.", at)
	}
	if _, known := r.open[item.CallID]; known {
		return reject("", "input", "Duplicate function call %s.", item.CallID)
	}
	m, err := r.own(at, "function_call", "fc", item.ID, raw)
	if err != nil {
		return err
	}
	m.Calls = append(m.Calls, llm.ToolCall{ID: item.CallID, Name: item.Name, Arguments: json.RawMessage(*item.Arguments)})
	r.open[item.CallID] = true
	return nil
}

func (r *inputReader) output(at string, raw json.RawMessage) error {
	var item struct {
		Type   string  `json:"type"`
		ID     string  `json:"id"`
		CallID string  `json:"call_id"`
		Output *string `json:"output"`
		Status string  `json:"status"`
	}
	if err := unmarshal(raw, at, &item); err != nil {
		return err
	}
	switch {
	case item.Output == nil:
		return reject("missing_required_parameter", at+".output", "Missing required parameter: '%s.output'.", at)
	case !r.open[item.CallID]:
		return reject("", "input", "No tool call found for function call output with call_id %s.", item.CallID)
	}
	if err := r.follows(""); err != nil {
		return err
	}
	r.open[item.CallID] = false
	r.out = append(r.out, llm.Message{Role: llm.ToolResult, CallID: item.CallID, Text: *item.Output})
	return nil
}
