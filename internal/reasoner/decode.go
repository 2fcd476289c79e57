package reasoner

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/schemas"
)

// DecodeAgentIntent decodes a request for an agent's next action. It ignores
// unknown fields, since clients of other versions may send more; null is the
// same as an absent field. The error is a *Fault.
func DecodeAgentIntent(raw []byte) (*wire.AgentIntentRequest, error) {
	if err := schemas.Document("reasoner/agent_intent.request", raw); err != nil {
		return nil, schemaFault(err)
	}
	var r wire.AgentIntentRequest
	var model, state json.RawMessage
	var tools []json.RawMessage
	err := assign("", raw, Fields{
		{"session_id", &r.SessionID}, {"persona", &r.Persona}, {"driver", &r.Driver}, {"rules", &r.Rules},
		{"instructions", &r.Instructions}, {"llm", &model}, {"repo_context", &r.RepoContext},
		{"memory_state", &r.MemoryState}, {"history", &r.History}, {"goal_text", &r.GoalText},
		{"forced_tool", &r.ForcedTool}, {"max_steps", &r.MaxSteps}, {"agent_state", &state},
		{"callback_url", &r.CallbackURL}, {"correlation_id", &r.CorrelationID}, {"tools", &tools},
		{"context_tokens", &r.ContextTokens}, {"context_utilization", &r.ContextUtilization}, {"summarization_model", &r.SummarizationModel},
	})
	if err == nil {
		r.LLM, err = decodeLLM(model)
	}
	if err == nil && state != nil {
		r.AgentState = new(wire.AgentState)
		err = assign("/agent_state", state, Fields{{"stuck", &r.AgentState.Stuck}})
	}
	for _, raw := range tools {
		var t wire.Tool
		if err == nil {
			err = assign("/tools", raw, Fields{{"name", &t.Name}, {"description", &t.Description}, {"inputSchema", &t.InputSchema}})
		}
		r.Tools = append(r.Tools, t)
	}
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// DecodeCancel decodes a request to cancel jobs. The error is a *Fault.
func DecodeCancel(raw []byte) (*wire.CancelRequest, error) {
	if err := schemas.Document("reasoner/agent_intent_cancel.request", raw); err != nil {
		return nil, schemaFault(err)
	}
	var r wire.CancelRequest
	if err := assign("", raw, Fields{{"correlation_id", &r.CorrelationID}}); err != nil {
		return nil, err
	}
	return &r, nil
}

// DecodeWorkflow decodes a request for a workflow's next node. The error is a
// *Fault.
func DecodeWorkflow(raw []byte) (*wire.WorkflowIntentRequest, error) {
	if err := schemas.Document("reasoner/workflow_intent.request", raw); err != nil {
		return nil, schemaFault(err)
	}
	var r wire.WorkflowIntentRequest
	var model json.RawMessage
	err := assign("", raw, Fields{
		{"run_id", &r.RunID}, {"workflow_name", &r.WorkflowName}, {"current_node", &r.CurrentNode},
		{"outputs", &r.Outputs}, {"params", &r.Params}, {"memory_state", &r.MemoryState}, {"llm", &model},
		{"context_tokens", &r.ContextTokens}, {"context_utilization", &r.ContextUtilization}, {"summarization_model", &r.SummarizationModel},
	})
	if err == nil {
		r.LLM, err = decodeLLM(model)
	}
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// decodeLLM decodes the field llm; nil if it is missing.
func decodeLLM(raw json.RawMessage) (*wire.LLM, error) {
	if raw == nil {
		return nil, nil
	}
	l := new(wire.LLM)
	return l, assign("/llm", raw, Fields{{"provider", &l.Provider}, {"model", &l.Model}, {"api_key", &l.APIKey}})
}

// Fields lists the names of fields and pointers for their values.
type Fields []struct {
	Name string
	Into any
}

// assign decodes the fields of an object by their exact names: the decoder of
// the standard library ignores case and would accept SESSION_ID for session_id,
// which the schema did not validate. Null leaves the value unchanged. path is
// the JSON pointer of the object, for the *Fault.
func assign(path string, object json.RawMessage, fields Fields) error {
	var have map[string]json.RawMessage
	if err := json.Unmarshal(object, &have); err != nil {
		return wrongType(path)
	}
	for _, f := range fields {
		raw, ok := have[f.Name]
		if !ok || isNull(raw) {
			continue
		}
		if err := json.Unmarshal(raw, f.Into); err != nil {
			return wrongType(path + "/" + f.Name)
		}
	}
	return nil
}

// isNull reports whether a JSON value is null.
func isNull(raw json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }

// wrongType returns the fault for a value that the schema accepts and Go cannot
// decode, such as the integer 1e2.
func wrongType(path string) error {
	return &Fault{
		Status: http.StatusUnprocessableEntity, Code: CodeInvalidRequest, Path: path,
		Message: "The request is wrong at " + path + ": write a whole number without fraction or exponent.",
	}
}

// textOf returns a string as it is and any other decoded value as JSON.
func textOf(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "" // it came from JSON
	}
	return string(raw)
}
