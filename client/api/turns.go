package api

import (
	"encoding/json"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// The states of a turn.
const (
	TurnPending     = "pending"     // nobody has taken it up, or answered it
	TurnProcessing  = "processing"  // a context of it is open
	TurnCompleted   = "completed"   // answered, or concluded without a word
	TurnFailed      = "failed"      // all its agents gave up
	TurnInterrupted = "interrupted" // cancelled, or its agents are gone
)

// The outcomes of a tool decision.
const (
	OutcomePending   = "pending"   // neither result nor decision yet
	OutcomeSuccess   = "success"   // the tool has answered
	OutcomeError     = "error"     // the tool has failed
	OutcomeRejected  = "rejected"  // somebody said no to the proposal
	OutcomeFulfilled = "fulfilled" // somebody made the proposed call
	OutcomeWithdrawn = "withdrawn" // the proposer took it back
	OutcomeExpired   = "expired"   // nobody decided in time
)

// History is a page of a thread, oldest turn first.
type History struct {
	ThreadID  protocol.ID `json:"thread_id"`
	SessionID string      `json:"session_id"`
	Turns     []Turn      `json:"turns"`
	// HasMore: there are older turns; they are had with the number of the
	// first one here as Page.Before.
	HasMore bool `json:"has_more"`
}

// TurnOf is one turn and where it stands.
type TurnOf struct {
	ThreadID  protocol.ID `json:"thread_id"`
	SessionID string      `json:"session_id"`
	Turn      Turn        `json:"turn"`
}

// Threads is a page of threads, the newest first.
type Threads struct {
	Threads []Thread `json:"threads"`
	// Next gives the page behind this one; it is meant when HasMore.
	Next    protocol.Seq `json:"next"`
	HasMore bool         `json:"has_more"`
}

// Thread is one conversation in short.
type Thread struct {
	ThreadID  protocol.ID  `json:"thread_id"`
	SessionID string       `json:"session_id"`
	Title     string       `json:"title"` // the beginning of its first chat; empty if that is not to be seen
	StartedAt time.Time    `json:"started_at"`
	LastTurn  int          `json:"last_turn"` // the number of the newest turn that is to be seen
	UpdatedAt time.Time    `json:"updated_at"`
	Seq       protocol.Seq `json:"seq"` // of its first chat
}

// Turn is a question and what came of it.
type Turn struct {
	TurnNumber int                    `json:"turn_number"` // from 1; who may not see all sees gaps
	MessageID  protocol.ID            `json:"message_id"`  // of the chat that began it
	From       protocol.ParticipantID `json:"from"`
	UserInput  string                 `json:"user_input"`
	// Response is the answer to the chat, an agent's before others; nil while
	// there is none.
	Response *string `json:"response"`
	// ResponseFrom is whose answer it is; empty while there is none.
	ResponseFrom protocol.ParticipantID `json:"response_from,omitempty"`

	State       string     `json:"state"`
	StartedAt   time.Time  `json:"started_at"`
	CompletedAt *time.Time `json:"completed_at"` // nil while it is open
	ToolCalls   []ToolCall `json:"tool_calls"`   // of all agents, in order
	// Reasoning is that of the first agent who has called a tool; nil without
	// one.
	Reasoning *Reasoning `json:"reasoning,omitempty"`
	// Reasonings are those of all agents, where there are several.
	Reasonings []Reasoning `json:"reasonings,omitempty"`
	// Responses are all answers, where there are several.
	Responses []Response `json:"responses,omitempty"`
	// Truncated: the turn is longer than what the gateway keeps of it.
	Truncated bool `json:"truncated,omitempty"`
}

// Response is one of several answers.
type Response struct {
	From protocol.ParticipantID `json:"from"`
	Text string                 `json:"text"`
}

// ToolCall is a call in short.
type ToolCall struct {
	Name      string                 `json:"name"`
	HasResult bool                   `json:"has_result"`
	HasError  bool                   `json:"has_error"`
	Agent     protocol.ParticipantID `json:"agent,omitempty"` // where there are several
}

// Reasoning is what one agent reasoned in a turn.
type Reasoning struct {
	SessionID     string                 `json:"session_id"`
	ThreadID      protocol.ID            `json:"thread_id"`
	TurnNumber    int                    `json:"turn_number"`
	Agent         protocol.ParticipantID `json:"agent"`
	StartedAt     time.Time              `json:"started_at"`   // of its first context
	CompletedAt   *time.Time             `json:"completed_at"` // nil while one is open
	Narrative     string                 `json:"narrative,omitempty"`
	ToolDecisions []Decision             `json:"tool_decisions"`
}

// Decision is one call of a tool and why it was made.
type Decision struct {
	ToolName      string          `json:"tool_name"`
	Rationale     string          `json:"rationale"`
	Parameters    json.RawMessage `json:"parameters"` // an object, secrets masked; null when it is too long
	Outcome       string          `json:"outcome"`
	ParallelGroup *int            `json:"parallel_group"` // nil: not in a batch

	CallID     protocol.ID `json:"call_id"` // of the request or the proposal
	StartedAt  time.Time   `json:"started_at"`
	DurationMS *int64      `json:"duration_ms,omitempty"` // to its end; nil without one
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

// AllReasonings returns what all agents of the turn reasoned, whether they are
// one or several.
func (t *Turn) AllReasonings() []Reasoning {
	if len(t.Reasonings) > 0 {
		return t.Reasonings
	}
	if t.Reasoning != nil {
		return []Reasoning{*t.Reasoning}
	}
	return nil
}
