// Package wire defines the messages between a client of the Reasoning API and
// the service: the bodies of its HTTP requests and responses, which the queue
// uses too. Their schemas are in the repository's directory schemas.
package wire

import "encoding/json"

// SearchTool is the tool that a service knows for a request that offers none.
const SearchTool = "context.fts_search"

// Version is the value of the header Accept-Version.
const Version = "v1"

// AgentIntentRequest requests an agent's next action. SessionID and GoalText
// are required.
type AgentIntentRequest struct {
	SessionID     string          `json:"session_id"`
	Persona       json.RawMessage `json:"persona,omitempty"` // objects, included in a model's instructions
	Driver        json.RawMessage `json:"driver,omitempty"`
	Rules         json.RawMessage `json:"rules,omitempty"`
	Instructions  string          `json:"instructions,omitempty"`
	LLM           *LLM            `json:"llm,omitempty"`
	RepoContext   json.RawMessage `json:"repo_context,omitempty"`
	MemoryState   json.RawMessage `json:"memory_state,omitempty"`
	History       []HistoryItem   `json:"history,omitempty"`
	GoalText      string          `json:"goal_text"`
	ForcedTool    string          `json:"forced_tool,omitempty"`
	MaxSteps      int             `json:"max_steps,omitempty"`
	AgentState    *AgentState     `json:"agent_state,omitempty"`
	CallbackURL   string          `json:"callback_url,omitempty"`
	CorrelationID string          `json:"correlation_id,omitempty"`
	// Tools are the offered tools. If absent, the service assumes
	// context.fts_search.
	Tools []Tool `json:"tools,omitempty"`

	// ContextTokens is the size of the deciding model's context window in
	// tokens, ContextUtilization the share of it to use: full, half or low (a
	// quarter). SummarizationModel is the PROVIDER:NAME of a model that
	// summarizes long results, or SummarizationOff. Empty: the service's own.
	ContextTokens      int    `json:"context_tokens,omitempty"`
	ContextUtilization string `json:"context_utilization,omitempty"`
	SummarizationModel string `json:"summarization_model,omitempty"`
}

// SummarizationOff disables summaries for a request.
const SummarizationOff = "off"

// LLM names the model that decides.
type LLM struct {
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	APIKey   string `json:"api_key,omitempty"` // neither logged nor stored, except in a queue that permits it
}

// Tool is an offered tool.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}

// HistoryItem is one earlier step: an object that the runtime defines. The
// service reads its tool (tool_name, tool, action), arguments (tool_args, args,
// arguments), result (result, output), error and reasoning, and ignores other
// fields.
type HistoryItem = json.RawMessage

// AgentState is the state of the agent.
type AgentState struct {
	Stuck bool `json:"stuck,omitempty"`
}

// Values of Status.
const (
	StatusOK    = "ok"
	StatusError = "error"
)

// AgentIntentResponse is the next action: a tool with its arguments, or, with
// Finish, the final text.
type AgentIntentResponse struct {
	Status     string          `json:"status"` // ok or error
	DurationMS int64           `json:"duration_ms"`
	IntentID   string          `json:"intent_id"`
	ToolName   string          `json:"tool_name,omitempty"`
	ToolArgs   json.RawMessage `json:"tool_args,omitempty"` // an object
	Reasoning  string          `json:"reasoning,omitempty"`
	Finish     bool            `json:"finish"`
	FinalText  string          `json:"final_text,omitempty"`
	Usage      *Usage          `json:"usage,omitempty"` // nil: no model answered
	Trace      []TraceItem     `json:"trace"`
	Error      string          `json:"error,omitempty"` // a code, with StatusError
	Message    string          `json:"message,omitempty"`
}

// Usage counts the tokens that models reported for a decision.
type Usage struct {
	Input     int `json:"input_tokens"`
	Output    int `json:"output_tokens"`
	Cached    int `json:"cached_tokens,omitempty"`    // of Input
	Reasoning int `json:"reasoning_tokens,omitempty"` // of Output
	Uncounted int `json:"uncounted,omitempty"`        // answers without a count: the other numbers are lower bounds
}

// TraceItem is one step that led to a decision.
type TraceItem struct {
	Step   string `json:"step"` // "llm", "rules", "forced_tool", "fallback", "context", "later", "workflow"
	Detail string `json:"detail,omitempty"`
	// Context counts the parts of a model's input, with the step context.
	Context *ContextTrace `json:"context,omitempty"`
}

// ContextTrace describes the input of a model: its estimated tokens, and what
// was not shown in full.
type ContextTrace struct {
	Goal       string `json:"goal"`   // planning or synthesis
	Tokens     int    `json:"tokens"` // estimate
	Budget     int    `json:"budget"` // after utilization
	Previews   int    `json:"previews"`
	Summarized int    `json:"summarized"`
	Dropped    int    `json:"dropped"`  // results replaced by a mark, or dropped with their step
	Messages   int    `json:"messages"` // earlier messages that were dropped
	Thoughts   int    `json:"thoughts"` // steps shown without their thought
	Steps      int    `json:"steps"`    // steps that were dropped
	// Tools counts the tools that were not offered to the model, because their
	// definitions did not fit. ToolNames are the first of them, at most 16.
	Tools     int      `json:"tools"`
	ToolNames []string `json:"tool_names,omitempty"`
}

// Callback is the body that is posted to the callback URL.
type Callback struct {
	AgentIntentResponse
	JobID         string `json:"job_id"`
	CorrelationID string `json:"correlation_id,omitempty"`
}

// Accepted is the response to an asynchronous request.
type Accepted struct {
	Status string `json:"status"` // "accepted"
	JobID  string `json:"job_id"`
}

// CancelRequest requests the cancellation of the jobs of a correlation id.
type CancelRequest struct {
	CorrelationID string `json:"correlation_id"`
}

// CancelResponse reports whether there were jobs to cancel.
type CancelResponse struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
	// Message explains an Error that is a code: the status is 4xx or 5xx.
	Message string `json:"message,omitempty"`
}

// WorkflowIntentRequest requests the next transition of a workflow.
type WorkflowIntentRequest struct {
	RunID        string          `json:"run_id"`
	WorkflowName string          `json:"workflow_name"`
	CurrentNode  string          `json:"current_node"`
	Outputs      json.RawMessage `json:"outputs,omitempty"`
	Params       json.RawMessage `json:"params,omitempty"`
	MemoryState  json.RawMessage `json:"memory_state,omitempty"`
	LLM          *LLM            `json:"llm,omitempty"` // the model that chooses where a node lets one

	// The following fields are as in AgentIntentRequest, for the model that
	// chooses.

	ContextTokens      int    `json:"context_tokens,omitempty"`
	ContextUtilization string `json:"context_utilization,omitempty"`
	SummarizationModel string `json:"summarization_model,omitempty"`
}

// WorkflowIntentResponse is the transition.
type WorkflowIntentResponse struct {
	Status     string          `json:"status"`
	DurationMS int64           `json:"duration_ms"`
	IntentID   string          `json:"intent_id"`
	NextNode   string          `json:"next_node,omitempty"`
	ActionType string          `json:"action_type,omitempty"`
	ToolName   string          `json:"tool_name,omitempty"`
	ToolArgs   json.RawMessage `json:"tool_args,omitempty"`
	Reasoning  string          `json:"reasoning,omitempty"`
	Finish     bool            `json:"finish"`
	Usage      *Usage          `json:"usage,omitempty"` // nil: no model answered
	Trace      []TraceItem     `json:"trace"`
}

// ErrorBody describes an error.
type ErrorBody struct {
	Error   string `json:"error"`   // a code, such as invalid_request
	Message string `json:"message"` // a sentence with the remedy
	// Path is a JSON pointer to the invalid part of the request; empty for the
	// whole request.
	Path  string `json:"path,omitempty"`
	Usage *Usage `json:"usage,omitempty"` // of the decision that failed; nil: no model answered
}

// ErrorResponse is the body of a response with a 4xx or 5xx status: an
// AgentIntentResponse or a WorkflowIntentResponse with the status error, also where
// the request asks for no decision.
type ErrorResponse struct {
	Status     string      `json:"status"`       // error
	OK         *bool       `json:"ok,omitempty"` // false, of a cancellation
	DurationMS int64       `json:"duration_ms"`
	IntentID   string      `json:"intent_id"`
	Finish     bool        `json:"finish"` // false
	Trace      []TraceItem `json:"trace"`  // empty
	ErrorBody
}
