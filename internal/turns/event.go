package turns

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/protocol"
)

// The names of events.
const (
	ReasoningUpdate = "reasoning_update"
	JobReasoning    = "job_reasoning"
)

// Event says that a step of an agent is over. What it tells depends on who
// hears it.
type Event struct {
	Name string
	// Seq is that of the entry by which the step was over: its last end of a
	// call, or the first word of what came next.
	Seq protocol.Seq

	agent protocol.ParticipantID
	items []*item
	key   key         // of a turn
	job   protocol.ID // of a job
	bytes int
}

// Bytes is what the event holds on to in memory, about. Events of one turn
// share it.
func (e *Event) Bytes() int { return 256 + e.bytes }

// turnUpdate is the data of a reasoning_update. Agent and Truncated are
// additions to the published shape.
type turnUpdate struct {
	Type          string                 `json:"type"`
	ThreadID      protocol.ID            `json:"thread_id"`
	SessionID     uuid.UUID              `json:"session_id"`
	TurnNumber    int                    `json:"turn_number"`
	Agent         protocol.ParticipantID `json:"agent"`
	Narrative     string                 `json:"narrative,omitempty"`
	ToolDecisions []toolUpdate           `json:"tool_decisions"`
	Truncated     bool                   `json:"truncated,omitempty"`
}

// jobUpdate is the data of a job_reasoning. Agent and Truncated are
// additions to the published shape.
type jobUpdate struct {
	Type          string                 `json:"type"`
	JobID         protocol.ID            `json:"job_id"`
	Agent         protocol.ParticipantID `json:"agent"`
	Narrative     string                 `json:"narrative,omitempty"`
	ToolDecisions []toolUpdate           `json:"tool_decisions"`
	Truncated     bool                   `json:"truncated,omitempty"`
}

// maxTold is how many decisions an event tells: of more, the newest.
const maxTold = 256

type toolUpdate struct {
	ToolName      string `json:"tool_name"`
	Rationale     string `json:"rationale"`
	Outcome       string `json:"outcome"`
	ParallelGroup *int   `json:"parallel_group"`
}

// Data returns the event as a viewer is told it: all decisions of the turn so
// far, without their parameters. It reports false when the viewer sees nothing
// of what it is about. It may be called concurrently.
func (e *Event) Data(v Viewer) (json.RawMessage, bool) {
	first, last := e.items[0], e.items[len(e.items)-1]
	if !v.sees(&last.entry) || e.Name == ReasoningUpdate && !v.sees(&first.entry) {
		return nil, false
	}
	r := read(seen(e.items, &v))
	decisions := r.decisions(e.agent)
	more := max(0, len(decisions)-maxTold)
	var tools []toolUpdate
	for _, d := range decisions[more:] {
		tools = append(tools, toolUpdate{d.ToolName, d.Rationale, d.Outcome, d.ParallelGroup})
	}
	if len(tools) == 0 || !r.isAgent(e.agent) {
		return nil, false
	}
	data, err := encode(e.payload(r.narrative(e.agent), tools, more > 0))
	return data, err == nil
}

func (e *Event) payload(narrative string, tools []toolUpdate, truncated bool) any {
	if e.Name == JobReasoning {
		return jobUpdate{Type: e.Name, JobID: e.job, Agent: e.agent, Narrative: narrative, ToolDecisions: tools, Truncated: truncated}
	}
	return turnUpdate{
		Type: e.Name, ThreadID: e.key.thread, SessionID: e.key.session, TurnNumber: e.key.turn,
		Agent: e.agent, Narrative: narrative, ToolDecisions: tools, Truncated: truncated,
	}
}
