package wire

import "time"

// LogRecord is one decision, in GET /reasoning_logs and in log files. It
// contains no goals, histories, arguments and answers.
type LogRecord struct {
	Seq           int64     `json:"seq"`
	Time          time.Time `json:"time"` // of the end of the decision
	Type          string    `json:"type"` // agent_intent or workflow_intent
	SessionID     string    `json:"session_id"`
	IntentID      string    `json:"intent_id"`
	CorrelationID string    `json:"correlation_id,omitempty"`
	Status        string    `json:"status"` // ok or error
	// Outcome is use_tools, finish, enter_node, refused, cancelled or error.
	Outcome      string        `json:"outcome"`
	Source       string        `json:"source,omitempty"`
	Provider     string        `json:"provider,omitempty"`
	Model        string        `json:"model,omitempty"`
	ToolName     string        `json:"tool_name,omitempty"`
	NextNode     string        `json:"next_node,omitempty"` // of a workflow
	Reasoning    string        `json:"reasoning,omitempty"` // shortened
	DurationMS   int64         `json:"duration_ms"`
	InputTokens  int           `json:"input_tokens"`
	OutputTokens int           `json:"output_tokens"`
	Context      *ContextTrace `json:"context,omitempty"`
	Fallback     string        `json:"fallback,omitempty"` // why the model did not decide
	Error        string        `json:"error,omitempty"`    // a code with status error; the class of the error with Fallback
	Message      string        `json:"message,omitempty"`
}

// LogPage is the response of GET /reasoning_logs: records, the newest first.
type LogPage struct {
	Records []LogRecord `json:"records"`
	// NextCursor is the cursor of the next, older records; empty: there are
	// none.
	NextCursor string `json:"next_cursor,omitempty"`
}

// Diagnostics is the response of GET /reasoning_diagnostics.
type Diagnostics struct {
	Version       string         `json:"version"`
	Started       time.Time      `json:"started"`
	UptimeSeconds int64          `json:"uptime_seconds"`
	Configuration map[string]any `json:"configuration"`
	Decisions     DecisionTotals `json:"decisions"`
	Log           LogState       `json:"log"`
	Queue         *QueueCounts   `json:"queue,omitempty"` // if the process has one that can be reached
}

// DecisionTotals summarizes the kept records that match.
type DecisionTotals struct {
	Count        int              `json:"count"`
	Sessions     int              `json:"sessions"`
	Oldest       *time.Time       `json:"oldest,omitempty"`
	ByType       map[string]int   `json:"by_type"`
	ByOutcome    map[string]int   `json:"by_outcome"`
	BySource     map[string]int   `json:"by_source"`
	ByModel      map[string]int   `json:"by_model"`
	ByError      map[string]int   `json:"by_error"`
	InputTokens  int64            `json:"input_tokens"`
	OutputTokens int64            `json:"output_tokens"`
	DurationMS   map[string]int64 `json:"duration_ms"` // p50, p95, max
}

// LogState is the state of the store of records.
type LogState struct {
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"`
	Dropped int64 `json:"dropped"` // records that a file or standard output did not get in time
}

// QueueCounts is the state of a queue; see the status line of its workers.
type QueueCounts struct {
	Queued     int64 `json:"queued"`
	Processing int64 `json:"processing"`
	Done       int64 `json:"done"`
	Canceled   int64 `json:"canceled"`
	Failed     int64 `json:"failed"`
}
