package turns

import (
	"context"
	"encoding/json"
	"slices"
	"sort"

	"github.com/meup-protocol/meup/internal/turns/reduce"
	"github.com/meup-protocol/meup/protocol"
)

// The names of events.
const (
	ReasoningUpdate = "reasoning_update" // an agent has completed a step of a turn
	JobReasoning    = "job_reasoning"    // an agent has completed a step outside of turns
)

// update is the data of an event: all decisions of an agent so far. Agent and
// Truncated are additions to the published shape.
type update struct {
	Type          string                 `json:"type"`
	ThreadID      protocol.ID            `json:"thread_id,omitempty"`   // of a turn
	SessionID     string                 `json:"session_id,omitempty"`  // of a turn
	TurnNumber    int                    `json:"turn_number,omitempty"` // of a turn
	JobID         protocol.ID            `json:"job_id,omitempty"`      // of a job
	Agent         protocol.ParticipantID `json:"agent"`
	Narrative     string                 `json:"narrative,omitempty"`
	ToolDecisions []updateDecision       `json:"tool_decisions"`
	Truncated     bool                   `json:"truncated,omitempty"` // only the newest decisions are included
}

// updateDecision is a decision in short.
type updateDecision struct {
	ToolName      string `json:"tool_name"`
	Rationale     string `json:"rationale"`
	Outcome       string `json:"outcome"`
	ParallelGroup *int   `json:"parallel_group"`
}

// Event is the end of a step of an agent. It holds no contents: [Tracker.Data]
// computes them, for a viewer and under the rules of that moment.
type Event struct {
	// Seq is the entry that ended the step: the last end of one of its calls, or
	// the agent's first envelope after it.
	Seq protocol.Seq

	at    ref
	agent protocol.ParticipantID
	bytes int // of the turn
}

// Bounds of the events that a resumed stream can get. maxEventBytes bounds the
// contents that must be read and masked for all of them.
const (
	maxEvents     = 1024
	maxEventBytes = 64 << 20
)

// Events holds the youngest events of a space, in order of Seq.
type Events struct {
	list  []Event
	bytes int // of their turns
}

// Add adds an event. When there are too many, the youngest of those goes that the new one
// includes, which is found soon, else the oldest.
func (s *Events) Add(e Event) {
	s.list = append(s.list, e)
	s.bytes += e.bytes
	for len(s.list) > 1 && (len(s.list) > maxEvents || s.bytes > maxEventBytes) {
		drop := len(s.list) - 1
		for drop > 0 { // an older event of the same reasoning is included
			old := &s.list[drop]
			if e.at == old.at && e.agent == old.agent && e.Seq > old.Seq {
				break
			}
			drop--
		}
		s.bytes -= s.list[drop].bytes
		s.list = slices.Delete(s.list, drop, drop+1)
	}
}

// Between returns the events with after < Seq <= upTo.
func (s *Events) Between(after, upTo protocol.Seq) (list []Event) {
	for _, e := range s.list {
		if e.Seq > after && e.Seq <= upTo {
			list = append(list, e)
		}
	}
	return list
}

// savedEvent is an event as JSON.
type savedEvent struct {
	Seq   protocol.Seq           `json:"seq"`
	Root  protocol.Seq           `json:"root"`
	Turn  int                    `json:"turn"`
	Agent protocol.ParticipantID `json:"agent"`
	Bytes int                    `json:"bytes"`
}

// MarshalJSON encodes the events, to be saved with their Tracker.
func (s *Events) MarshalJSON() ([]byte, error) {
	list := make([]savedEvent, len(s.list))
	for i, e := range s.list {
		list[i] = savedEvent{e.Seq, e.at.root, e.at.turn, e.agent, e.bytes}
	}
	return json.Marshal(list)
}

// UnmarshalJSON decodes events that were saved.
func (s *Events) UnmarshalJSON(b []byte) error {
	var list []savedEvent
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	*s = Events{}
	for _, e := range list {
		s.Add(Event{Seq: e.Seq, at: ref{e.Root, e.Turn}, agent: e.Agent, bytes: e.Bytes})
	}
	return nil
}

// Name is the name of the event.
func (e Event) Name() string {
	if e.at.isJob() {
		return JobReasoning
	}
	return ReasoningUpdate
}

// maxEventDecisions bounds the decisions in an event: of more, the newest.
const maxEventDecisions = 256

// Data returns an event for a viewer: all decisions of the agent in the turn up
// to the event, without their parameters; nil when the viewer sees nothing of
// them, or when the index has dropped the turn. The error is the log's.
func (t *Tracker) Data(ctx context.Context, e Event, v Viewer) (json.RawMessage, error) {
	r := t.refOf(e.at)
	if r == nil || !e.at.isJob() && !v.isVisible(r.entry) {
		return nil, nil
	}
	refs, err := t.load(ctx, []*turnRef{r})
	if err != nil {
		return nil, err
	}
	items := r.items[:sort.Search(len(r.items), func(i int) bool { return r.items[i].Env().Seq > e.Seq })]
	if len(refs) == 0 || len(items) == 0 || !v.isVisible(&items[len(items)-1].Entry) {
		return nil, nil
	}
	narrative, decisions, more := reduce.Build(filterVisible(items, &v)).Decisions(e.agent, maxEventDecisions, t.display())
	if len(decisions) == 0 {
		return nil, nil
	}
	u := update{
		Type: e.Name(), Agent: e.agent, Narrative: narrative,
		ToolDecisions: make([]updateDecision, len(decisions)), Truncated: more,
	}
	for i, dec := range decisions {
		u.ToolDecisions[i] = updateDecision{ToolName: dec.ToolName, Rationale: dec.Rationale, Outcome: dec.Outcome, ParallelGroup: dec.ParallelGroup}
	}
	if k := r.key; e.at.isJob() {
		u.JobID = k.Job
	} else {
		u.ThreadID, u.SessionID, u.TurnNumber = k.Thread, k.Session, k.Turn
	}
	return reduce.Encode(u)
}

func (t *Tracker) refOf(at ref) *turnRef {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.shrink()
	return t.index.outlineOf(at)
}
