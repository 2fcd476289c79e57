package openai

import (
	"encoding/json"
	"slices"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// minOutputTokens is the smallest max_output_tokens that the API accepts.
const minOutputTokens = 16

// encryptedReasoning requests the reasoning items in a form that can be returned
// to a server that stores nothing.
const encryptedReasoning = "reasoning.encrypted_content"

type responsesRequest struct {
	Model           string            `json:"model"`
	Input           []json.RawMessage `json:"input"`
	Tools           []responsesTool   `json:"tools,omitempty"`
	ToolChoice      any               `json:"tool_choice,omitempty"`
	MaxOutputTokens int               `json:"max_output_tokens,omitempty"`
	Reasoning       *reasoning        `json:"reasoning,omitempty"`
	Text            *textConfig       `json:"text,omitempty"`
	Include         []string          `json:"include,omitempty"`
	Store           bool              `json:"store"`
	Stream          bool              `json:"stream"`
}

type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

type textConfig struct {
	Format jsonFormat `json:"format"`
}

// responsesTool is a function. The default of strict is true, which rejects most
// schemas.
type responsesTool struct {
	Type string `json:"type"`
	functionTool
	Strict bool `json:"strict"`
}

// inputMessage is a message of which only the text is known.
type inputMessage struct {
	Type    string   `json:"type"`
	Role    llm.Role `json:"role"`
	Content string   `json:"content"`
}

type functionCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type functionCallOutput struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output string `json:"output"`
}

// responsesBody builds a request. With items, the model's turns are returned in
// the form in which they arrived, otherwise they are rebuilt from their text and
// calls.
func (m *Model) responsesBody(req llm.Request, v variant, items bool) responsesRequest {
	out := responsesRequest{
		Model: m.name, Input: m.inputItems(req.Messages, items), Stream: true,
		Reasoning: &reasoning{Summary: "auto"}, Include: []string{encryptedReasoning},
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, responsesTool{Type: "function", functionTool: functionOf(t)})
	}
	if len(out.Tools) > 0 {
		out.ToolChoice = choiceOf(req.Choice, func(name string) any { return map[string]string{"type": "function", "name": name} })
	}
	if req.MaxTokens > 0 {
		out.MaxOutputTokens = max(req.MaxTokens, minOutputTokens)
	}
	if len(req.Schema) > 0 {
		out.Text = &textConfig{jsonFormat{Type: "json_schema", schemaFormat: newSchemaFormat(req.Schema)}}
	}
	if !v.has(noEffort) {
		out.Reasoning.Effort = req.Effort
	}
	if v.has(noSummary) {
		out.Reasoning.Summary = ""
	}
	if *out.Reasoning == (reasoning{}) {
		out.Reasoning = nil
	}
	if v.has(noEncrypted) {
		out.Include = nil
	}
	return out
}

func (m *Model) inputItems(messages []llm.Message, items bool) []json.RawMessage {
	out := make([]json.RawMessage, 0, len(messages))
	for i := range messages {
		msg := &messages[i]
		switch msg.Role {
		case llm.ToolResult:
			out = append(out, llm.Marshal(functionCallOutput{"function_call_output", msg.CallID, resultText(*msg)}))
		case llm.Assistant:
			var own []json.RawMessage
			if items {
				own = m.ownItems(msg)
			}
			if own == nil {
				if msg.Text != "" {
					own = append(own, llm.Marshal(inputMessage{"message", llm.Assistant, msg.Text}))
				}
				for _, c := range msg.Calls {
					own = append(own, llm.Marshal(functionCall{"function_call", c.ID, c.Name, argumentsText(c.Arguments)}))
				}
			}
			out = append(out, own...)
		default:
			out = append(out, llm.Marshal(inputMessage{"message", msg.Role, msg.Text}))
		}
	}
	return out
}

// ownItems returns the items of a turn that this API made, or nil if there are
// none or their calls are not those of the turn: a call that was removed must
// not reappear.
func (m *Model) ownItems(msg *llm.Message) []json.RawMessage {
	if msg.Opaque.Provider != m.provider {
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(msg.Opaque.Data, &items) != nil {
		return nil
	}
	var calls []string
	for _, raw := range items {
		var item outputItem
		if json.Unmarshal(raw, &item) != nil {
			return nil
		}
		if item.Type == itemCall {
			calls = append(calls, string(item.CallID))
		}
	}
	if !slices.EqualFunc(calls, msg.Calls, func(id string, c llm.ToolCall) bool { return id == c.ID }) {
		return nil
	}
	return items
}

// replayItems returns the items of an answer for later requests, or nil if text
// and calls contain all of them, or if a call has no complete item. The rules of
// the API with store false:
//
//   - A reasoning item is accepted only with its encrypted content. Servers of
//     open models accept it with its text. Others are left out, together with
//     the ids of the items after them, by which the API would miss them.
//   - A reasoning item belongs to the item after it; at the end of an answer
//     that was cut it is rejected.
//   - The status of a reasoning item is rejected.
func replayItems(outputs []*output) []json.RawMessage {
	var out []json.RawMessage
	special, orphaned, last := false, false, 0
	for _, o := range outputs {
		fields := o.fields()
		if fields == nil {
			if o.item.Type == itemCall {
				return nil
			}
			continue
		}
		if o.item.Type == itemReasoning {
			if o.item.EncryptedContent == "" && len(o.item.Content) == 0 {
				orphaned = true
				continue
			}
			delete(fields, "status")
			special = true
		} else {
			if orphaned {
				delete(fields, "id")
			}
			last = len(out) + 1
			special = special || o.item.Phase != ""
		}
		if o.item.Type == itemCall && !isObject([]byte(o.item.Arguments)) { // it was cut
			fields["arguments"] = llm.Marshal(argumentsText(argumentsOf(string(o.item.Arguments))))
		}
		out = append(out, llm.Marshal(fields))
	}
	if !special || last == 0 {
		return nil
	}
	return out[:last]
}
