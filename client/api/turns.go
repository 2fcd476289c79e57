package api

import (
	"encoding/json"
	"strings"

	"github.com/meup-protocol/meup/protocol"
)

// States of a turn.
const (
	TurnPending     = "pending"     // no agent has started on it or answered it
	TurnProcessing  = "processing"  // one of its contexts is open
	TurnCompleted   = "completed"   // answered, or concluded without an answer
	TurnFailed      = "failed"      // all its agents failed
	TurnInterrupted = "interrupted" // canceled, or its agents have left
)

// Outcomes of a tool decision.
const (
	OutcomePending   = "pending"   // neither result nor decision yet
	OutcomeSuccess   = "success"   // the tool has responded
	OutcomeError     = "error"     // the tool has failed
	OutcomeRejected  = "rejected"  // a participant rejected the proposal
	OutcomeFulfilled = "fulfilled" // a participant made the proposed call
	OutcomeWithdrawn = "withdrawn" // the proposer withdrew it
	OutcomeExpired   = "expired"   // there was no decision in time
)

// Outcomes of a part.
const (
	PartPending   = "pending"   // not ended
	PartConcluded = "concluded" // the participant that was asked sent a conclusion
	PartDeclined  = "declined"  // it canceled the part
	PartCancelled = "cancelled" // the asker or another participant did, or closed a context around it
)

// History is a page of a thread or a session, oldest turn first, or a job as its
// only turn.
type History struct {
	ThreadID  protocol.ID `json:"thread_id,omitempty"` // of a thread
	JobID     protocol.ID `json:"job_id,omitempty"`    // of a job
	SessionID string      `json:"session_id"`
	Turns     []Turn      `json:"turns"`
	// HasMore means that there are older turns; to get them, use the number of
	// the first turn as Page.Before; of a session, use Next.
	HasMore bool `json:"has_more"`
	// Next selects the next page of a session; it is valid if HasMore.
	Next protocol.Seq `json:"next,omitempty"`
}

// TurnOf is one turn with its thread, or a job.
type TurnOf struct {
	ThreadID  protocol.ID `json:"thread_id,omitempty"` // of a turn
	JobID     protocol.ID `json:"job_id,omitempty"`    // of a job
	SessionID string      `json:"session_id"`
	Turn      Turn        `json:"turn"`
	// MayDecide are the pending proposals in it on which the participant that reads it
	// may decide.
	MayDecide []protocol.ID `json:"may_decide,omitempty"`
}

// Threads is a page of threads, the newest first.
type Threads struct {
	Threads []Thread `json:"threads"`
	// Next selects the next page; it is valid if HasMore.
	Next    protocol.Seq `json:"next"`
	HasMore bool         `json:"has_more"`
}

// Thread is a summary of one thread.
type Thread struct {
	ThreadID  protocol.ID   `json:"thread_id"`
	SessionID string        `json:"session_id"`
	Title     string        `json:"title"` // the beginning of its first chat; empty if that is not visible
	StartedAt protocol.Time `json:"started_at"`
	LastTurn  int           `json:"last_turn"` // number of the newest visible turn
	UpdatedAt protocol.Time `json:"updated_at"`
	Seq       protocol.Seq  `json:"seq"` // of its first chat
}

// Jobs is a page of jobs, the newest first.
type Jobs struct {
	Jobs []Job `json:"jobs"`
	// Next selects the next page; it is valid if HasMore.
	Next    protocol.Seq `json:"next"`
	HasMore bool         `json:"has_more"`
}

// Job is a summary of one job: reasoning that no chat asked for.
type Job struct {
	JobID     protocol.ID            `json:"job_id"` // its outermost context
	SessionID string                 `json:"session_id"`
	From      protocol.ParticipantID `json:"from"`
	Title     string                 `json:"title"` // the beginning of its subject; empty if it has none, or if that is not visible
	StartedAt protocol.Time          `json:"started_at"`
	Seq       protocol.Seq           `json:"seq"` // of its first envelope
}

// Turn is a question with its reasoning and answers. A job has the same form: its
// number is 0, MessageID, From and UserInput are of its first envelope, and
// Response is its conclusion.
type Turn struct {
	// ThreadID or JobID is set in a page of a session.
	ThreadID   protocol.ID            `json:"thread_id,omitempty"`
	JobID      protocol.ID            `json:"job_id,omitempty"`
	TurnNumber int                    `json:"turn_number"` // from 1, with gaps if some turns are not visible; 0: a job
	MessageID  protocol.ID            `json:"message_id"`  // of the chat that began it
	From       protocol.ParticipantID `json:"from"`
	UserInput  string                 `json:"user_input"`
	// Response is the answer to the chat, an agent's in preference; nil if
	// there is none yet.
	Response *string `json:"response"`
	// ResponseFrom is the sender of Response; empty if there is none yet.
	ResponseFrom protocol.ParticipantID `json:"response_from,omitempty"`

	State       string         `json:"state"`
	StartedAt   protocol.Time  `json:"started_at"`
	CompletedAt *protocol.Time `json:"completed_at"` // nil while it is open
	ToolCalls   []ToolCall     `json:"tool_calls"`   // of all agents, in order
	// Reasoning is the reasoning of the first agent that called a tool or asked
	// another one to take a part (of a job, of the first agent); nil if there is none.
	Reasoning *Reasoning `json:"reasoning,omitempty"`
	// Reasonings contains the reasoning of all agents if there are several.
	Reasonings []Reasoning `json:"reasonings,omitempty"`
	// Responses contains all answers if there are several.
	Responses []Response `json:"responses,omitempty"`
	// Feedback is what participants think of its parts: the last one of each about
	// each envelope.
	Feedback []Feedback `json:"feedback,omitempty"`
	// Truncated means that the turn is longer than the part that the gateway
	// keeps.
	Truncated bool `json:"truncated,omitempty"`
}

// Response is one of several answers.
type Response struct {
	From protocol.ParticipantID `json:"from"`
	Text string                 `json:"text"`
}

// Feedback is what a participant thinks of an answer, a step, a call or the question of
// a turn. Section 2 of the protocol.
type Feedback struct {
	ID     protocol.ID            `json:"id"`
	From   protocol.ParticipantID `json:"from"`
	SentAt protocol.Time          `json:"sent_at"`
	Value  string                 `json:"value"`          // protocol.FeedbackUp or FeedbackDown
	Note   string                 `json:"note,omitempty"` // secrets masked

	About     protocol.ID            `json:"about"` // the envelope
	AboutKind protocol.Kind          `json:"about_kind"`
	AboutFrom protocol.ParticipantID `json:"about_from"`
}

// Subject names what the feedback of a turn is about: the question, an answer, a
// conclusion, a call or a step.
func (t *Turn) Subject(f *Feedback) string {
	switch {
	case f.About == t.MessageID && t.TurnNumber > 0:
		return "question"
	case f.AboutKind == protocol.KindChat:
		return "answer"
	case f.AboutKind == protocol.KindReasoningConclusion:
		return "conclusion"
	case strings.HasPrefix(string(f.AboutKind), "mcp."):
		return "call"
	}
	return "step"
}

// ToolCall is a summary of a call.
type ToolCall struct {
	Name      string                 `json:"name"`
	HasResult bool                   `json:"has_result"`
	HasError  bool                   `json:"has_error"`
	Agent     protocol.ParticipantID `json:"agent,omitempty"` // if there are several
}

// Reasoning is the reasoning of one agent in a turn.
type Reasoning struct {
	SessionID     string                 `json:"session_id"`
	ThreadID      protocol.ID            `json:"thread_id,omitempty"` // of a turn
	JobID         protocol.ID            `json:"job_id,omitempty"`    // of a job
	TurnNumber    int                    `json:"turn_number"`
	Agent         protocol.ParticipantID `json:"agent"`
	StartedAt     protocol.Time          `json:"started_at"`   // of its first context
	CompletedAt   *protocol.Time         `json:"completed_at"` // nil while one is open
	Narrative     string                 `json:"narrative,omitempty"`
	ToolDecisions []Decision             `json:"tool_decisions"`
	// Parts are the parts that the agent asked others to take.
	Parts []Part `json:"parts,omitempty"`
	// AskedBy is the agent that asked this one to take a part, unless this one also
	// reasons about the question in a context of its own.
	AskedBy protocol.ParticipantID `json:"asked_by,omitempty"`

	// References are the ids that its starts and thoughts refer to.
	References []string `json:"references,omitempty"`
	// Metadata contains the texts, numbers and booleans in the metadata of its
	// reasoning.start: approach, estimated_duration, confidence and others.
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
	// Notes are the hypotheses, observations and questions that have more than a
	// text.
	Notes []Note `json:"notes,omitempty"`
	// Conclusion is the last conclusion that has more than a message.
	Conclusion *Conclusion `json:"conclusion,omitempty"`
	// Usage is the sum of what the ends of its contexts report; nil: nothing.
	Usage *Usage `json:"usage,omitempty"`
}

// Usage is what models used, as the agent reports it.
type Usage struct {
	// Tokens are input and output together.
	Tokens    int64   `json:"tokens,omitempty"`
	Input     int64   `json:"input_tokens,omitempty"`
	Output    int64   `json:"output_tokens,omitempty"`
	Cached    int64   `json:"cached_tokens,omitempty"`    // of Input
	Reasoning int64   `json:"reasoning_tokens,omitempty"` // of Output
	Uncounted int64   `json:"uncounted,omitempty"`        // answers without a count: the other numbers are lower bounds
	Cost      float64 `json:"cost,omitempty"`             // of the contexts that report one
	Currency  string  `json:"currency,omitempty"`         // of Cost: costs in others than the first are not added
}

// HasDetails reports whether the agent gave more than texts and calls.
func (r *Reasoning) HasDetails() bool {
	return len(r.References) > 0 || len(r.Metadata) > 0 || len(r.Notes) > 0 || r.Conclusion != nil || r.Usage != nil
}

// Note is a hypothesis, an observation or a question with more than a text.
type Note struct {
	ID              protocol.ID   `json:"id"`
	Kind            protocol.Kind `json:"kind"`
	Text            string        `json:"text,omitempty"` // its beginning; the narrative or a rationale has all of it
	Confidence      *float64      `json:"confidence,omitempty"`
	Evidence        []string      `json:"evidence,omitempty"`
	EvidenceAgainst []string      `json:"evidence_against,omitempty"`
	References      []string      `json:"references,omitempty"`
}

// IsEmpty reports whether a note has nothing but its text.
func (n *Note) IsEmpty() bool {
	return n.Confidence == nil && len(n.Evidence) == 0 && len(n.EvidenceAgainst) == 0 && len(n.References) == 0
}

// Conclusion is the structured part of a conclusion.
type Conclusion struct {
	Decision       string   `json:"decision,omitempty"`
	Recommendation string   `json:"recommendation,omitempty"`
	Confidence     *float64 `json:"confidence,omitempty"` // from 0 to 1
	KeyFactors     []string `json:"key_factors,omitempty"`
	References     []string `json:"references,omitempty"`
}

// IsEmpty reports whether a conclusion has none of the fields.
func (c *Conclusion) IsEmpty() bool {
	return c.Decision == "" && c.Recommendation == "" && c.Confidence == nil && len(c.KeyFactors) == 0 && len(c.References) == 0
}

// Decision is one tool call with its rationale.
type Decision struct {
	ToolName      string          `json:"tool_name"`
	Rationale     string          `json:"rationale"`
	Parameters    json.RawMessage `json:"parameters"` // an object, secrets masked; null if it is too long
	Outcome       string          `json:"outcome"`
	ParallelGroup *int            `json:"parallel_group"` // nil: not in a batch

	CallID     protocol.ID   `json:"call_id"` // of the request or the proposal
	StartedAt  protocol.Time `json:"started_at"`
	DurationMS *int64        `json:"duration_ms,omitempty"` // to its end; nil if it has not ended
	// OutcomeText describes the response: "3 documents found", "42 lines",
	// "142 characters", or "error: " and its text, secrets masked. Of a rejection it
	// is the reason. It is empty without either, and for a response without countable content.
	OutcomeText string `json:"outcome_text,omitempty"`
	// ResultBytes is the size of the result, or of the error.
	ResultBytes *int `json:"result_bytes,omitempty"`
	// ParameterBytes is set if the parameters were too long.
	ParameterBytes int                    `json:"parameter_bytes,omitempty"`
	Context        protocol.ContextPath   `json:"context"`
	DecidedBy      protocol.ParticipantID `json:"decided_by,omitempty"` // the participant that fulfilled a proposal, or rejected it or a request
	// AnsweredBy is the participant whose response ended the call, unless it is
	// the agent itself.
	AnsweredBy protocol.ParticipantID `json:"answered_by,omitempty"`
	// FulfilledWith contains the parameters of the fulfilling call, if they
	// differ from the proposed ones.
	FulfilledWith json.RawMessage `json:"fulfilled_with,omitempty"`
}

// Part is a part of a question that an agent asked another participant to take.
type Part struct {
	ID            protocol.ID            `json:"id"` // of the nested reasoning.start
	Participant   protocol.ParticipantID `json:"participant"`
	Question      string                 `json:"question"`
	Rationale     string                 `json:"rationale,omitempty"` // the thought that led to it
	Outcome       string                 `json:"outcome"`
	ParallelGroup *int                   `json:"parallel_group"` // nil: not in a batch
	// Conclusion is the text of the participant's conclusion, and Details its fields.
	Conclusion string      `json:"conclusion,omitempty"`
	Details    *Conclusion `json:"details,omitempty"`
	// Reason is the reason of the reasoning.cancel that ended it.
	Reason string `json:"reason,omitempty"`
	// EndID is the id of the envelope that ended it, and EndedBy its sender.
	EndID   protocol.ID            `json:"end_id,omitempty"`
	EndedBy protocol.ParticipantID `json:"ended_by,omitempty"`
	// Metadata is the metadata of the reasoning.start, as in Reasoning.
	Metadata   map[string]json.RawMessage `json:"metadata,omitempty"`
	Context    protocol.ContextPath       `json:"context"` // of the participant's reasoning
	StartedAt  protocol.Time              `json:"started_at"`
	DurationMS *int64                     `json:"duration_ms,omitempty"` // to its end; nil if it has not ended
}

// AllReasonings returns the reasoning of all agents of the turn, one or
// several.
func (t *Turn) AllReasonings() []Reasoning {
	if len(t.Reasonings) > 0 {
		return t.Reasonings
	}
	if t.Reasoning != nil {
		return []Reasoning{*t.Reasoning}
	}
	return nil
}

// Batch is a call, or the calls that an agent made at once.
type Batch struct {
	Group     *int  // the parallel group; nil: a single call
	Decisions []int // indexes in Reasoning.ToolDecisions
}

// Batches returns the calls in order, with the calls of a parallel group together at
// the position of the first. A group of one is a single call.
func (r *Reasoning) Batches() []Batch {
	var all []Batch
	at := make(map[int]int) // index in all, by group
	for i, d := range r.ToolDecisions {
		if d.ParallelGroup != nil {
			if n, ok := at[*d.ParallelGroup]; ok {
				all[n].Group, all[n].Decisions = d.ParallelGroup, append(all[n].Decisions, i)
				continue
			}
			at[*d.ParallelGroup] = len(all)
		}
		all = append(all, Batch{Decisions: []int{i}})
	}
	return all
}
