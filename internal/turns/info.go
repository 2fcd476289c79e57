package turns

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/protocol"
)

// DefaultRationale is the rationale of a call without an explanation.
const DefaultRationale = "Tool selected to satisfy the current subtask."

// The states of a turn.
const (
	TurnPending     = "pending"     // no agent has begun to answer it
	TurnProcessing  = "processing"  // a context of it is open
	TurnCompleted   = "completed"   // answered, or concluded without a word
	TurnFailed      = "failed"      // all its agents gave up
	TurnInterrupted = "interrupted" // cancelled, or its agents are gone
)

// History is a page of a thread, oldest turn first.
type History struct {
	ThreadID  protocol.ID `json:"thread_id"`
	SessionID uuid.UUID   `json:"session_id"`
	Turns     []TurnInfo  `json:"turns"`
	// HasMore: there are older turns; they are had with the number of the
	// first one here as the bound.
	HasMore bool `json:"has_more"`
}

// ThreadInfo is one thread of a list.
type ThreadInfo struct {
	ThreadID  protocol.ID  `json:"thread_id"`
	SessionID uuid.UUID    `json:"session_id"`
	Title     string       `json:"title"` // the beginning of its first chat; empty if that is not to be seen
	StartedAt Time         `json:"started_at"`
	LastTurn  int          `json:"last_turn"` // the number of the newest turn that is to be seen
	UpdatedAt Time         `json:"updated_at"`
	Seq       protocol.Seq `json:"seq"` // of its first chat; the bound of the next page
}

// TurnInfo is one turn. It is shared: read-only.
//
// From, MessageID, ResponseFrom, Responses, Reasonings and Truncated, and Agent of a tool
// call, are additions to the published shape.
type TurnInfo struct {
	TurnNumber int                    `json:"turn_number"`
	MessageID  protocol.ID            `json:"message_id"` // of the chat that began it
	From       protocol.ParticipantID `json:"from"`
	UserInput  string                 `json:"user_input"`
	// Response is the answer to the chat, an agent's before others; null while
	// there is none.
	Response *string `json:"response"`
	// ResponseFrom is whose answer it is.
	ResponseFrom protocol.ParticipantID `json:"response_from,omitempty"`

	State       string         `json:"state"`
	StartedAt   Time           `json:"started_at"`
	CompletedAt *Time          `json:"completed_at"`
	ToolCalls   []ToolCallInfo `json:"tool_calls"` // of all agents, in order
	// Reasoning is the reasoning of the first agent that called a tool.
	Reasoning *TurnReasoningInfo `json:"reasoning,omitempty"`

	// Reasonings are the reasonings of all agents, if there are several.
	Reasonings []TurnReasoningInfo `json:"reasonings,omitempty"`
	// Responses are all answers, where there are several.
	Responses []ResponseInfo `json:"responses,omitempty"`
	// Truncated: the turn is longer than its kept part.
	Truncated bool `json:"truncated,omitempty"`

	shared *encoding // nil: it is like no other
}

// ResponseInfo is one of several answers.
type ResponseInfo struct {
	From protocol.ParticipantID `json:"from"`
	Text string                 `json:"text"`
}

// ToolCallInfo is a call in short.
type ToolCallInfo struct {
	Name      string                 `json:"name"`
	HasResult bool                   `json:"has_result"`
	HasError  bool                   `json:"has_error"`
	Agent     protocol.ParticipantID `json:"agent,omitempty"` // where there are several
}

// TurnReasoningInfo is the reasoning of one agent in a turn. Agent and the times
// are additions to the published shape.
type TurnReasoningInfo struct {
	SessionID     uuid.UUID              `json:"session_id"`
	ThreadID      protocol.ID            `json:"thread_id"`
	TurnNumber    int                    `json:"turn_number"`
	Agent         protocol.ParticipantID `json:"agent"`
	StartedAt     Time                   `json:"started_at"`   // of its first context
	CompletedAt   *Time                  `json:"completed_at"` // null while one is open
	Narrative     string                 `json:"narrative,omitempty"`
	ToolDecisions []ToolDecisionInfo     `json:"tool_decisions"`
}

// ToolDecisionInfo is one call of a tool and why it was made. The fields below
// the blank line are additions to the published shape.
type ToolDecisionInfo struct {
	ToolName      string          `json:"tool_name"`
	Rationale     string          `json:"rationale"`
	Parameters    json.RawMessage `json:"parameters"` // an object; null when it is too long to be kept
	Outcome       string          `json:"outcome"`
	ParallelGroup *int            `json:"parallel_group"`

	CallID     protocol.ID `json:"call_id"` // of the request or the proposal
	StartedAt  Time        `json:"started_at"`
	DurationMS *int64      `json:"duration_ms,omitempty"` // from the request, or the proposal, to its end
	// ResultBytes is the size of the result, or of the error.
	ResultBytes *int `json:"result_bytes,omitempty"`
	// ParameterBytes is there when the parameters were too long.
	ParameterBytes int                    `json:"parameter_bytes,omitempty"`
	Context        protocol.ContextPath   `json:"context"`
	DecidedBy      protocol.ParticipantID `json:"decided_by,omitempty"` // who fulfilled a proposal, or rejected it or a request
	// AnsweredBy is the participant whose response ended the call, if it is not
	// the agent itself.
	AnsweredBy protocol.ParticipantID `json:"answered_by,omitempty"`
	// FulfilledWith are the parameters with which a proposal was fulfilled, if
	// they are others than those proposed.
	FulfilledWith json.RawMessage `json:"fulfilled_with,omitempty"`
}

// Time is written as a ts is.
type Time struct{ time.Time }

// MarshalJSON writes the time with all its microseconds.
func (t Time) MarshalJSON() ([]byte, error) {
	return t.UTC().AppendFormat(nil, `"`+protocol.TimeFormat+`"`), nil
}
