package block

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/turns/reduce"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the steps that are kept.
const (
	MaxSteps = 200     // of one participant; older ones are counted
	MaxStep  = 4 << 10 // bytes
)

// ReasoningState is the state of a participant's reasoning.
type ReasoningState int

const (
	Thinking ReasoningState = iota
	Thought
	Canceled
	Stopped // the participant has left
)

// Reasoning is the reasoning of one participant about one question, in a context and
// all contexts below it, as a terminal shows it: its steps with their details, and its
// outcome.
type Reasoning struct {
	Agent    protocol.ParticipantID
	Path     protocol.ContextPath
	Question protocol.ID

	Start, Last, End time.Time // by the gateway's clock; Start is zero if it was missed
	State            ReasoningState
	Why              string // of a cancellation

	begun      protocol.ID                // the outermost start
	metadata   map[string]json.RawMessage // of its first start that has any
	references []string                   // of this start, described
	steps      []Step
	Dropped    int // steps before those in steps
	calls      map[protocol.ID]call

	InMessage bool // a message contained it, and no turn has it

	Read bool // its turn was read after a cancellation
	Open bool // all steps are shown
	Beat int  // of the spinner
}

// Step is one thought or action.
type Step struct {
	Text    string
	Details []api.Detail
	context protocol.ContextPath
	Stream  string                 // on which it grows, until it comes as a whole; "": it does not
	By      protocol.ParticipantID // its author, if that is not the agent
}

// call is a request in a context, or a proposal of one.
type call struct {
	tool     string
	from     protocol.ParticipantID
	to       []protocol.ParticipantID
	proposed bool
}

// isAnswered reports whether a response of a participant may end the call: of
// its sender, of an addressee, and of any participant if it has no addressees.
// A proposal has no response; the request that fulfills it has.
func (c call) isAnswered(by protocol.ParticipantID) bool {
	return !c.proposed && (by == c.from || len(c.to) == 0 || slices.Contains(c.to, by))
}

// NewReasoning returns the reasoning of a participant that begins with an envelope.
func NewReasoning(agent protocol.ParticipantID, path protocol.ContextPath, at time.Time) *Reasoning {
	return &Reasoning{Agent: agent, Path: path, Last: at, calls: make(map[protocol.ID]call)}
}

// Begin handles the outermost start.
func (d *Reasoning) Begin(env *protocol.Envelope, refer Refer) {
	d.begun, d.Start, d.Question = env.ID, env.TS, env.Correlation.First()
	if found := reduce.ReadReasoningDetails(env.ParsePayload()); d.metadata == nil && d.references == nil {
		d.metadata, d.references = boundMetadata(found.Metadata), refer(found.Note.References)
	}
}

// NoteActivity records activity in the reasoning. An envelope of the participant
// resumes the reasoning only while the participant is connected, since replayed
// envelopes may be older than its departure.
func (d *Reasoning) NoteActivity(env *protocol.Envelope, here bool) {
	if env.TS.After(d.Last) {
		d.Last = env.TS
	}
	switch {
	case env.From != d.Agent:
	case d.State == Thinking && !here:
		d.State, d.End = Stopped, d.Last
	case d.State == Stopped && here:
		d.State, d.End = Thinking, time.Time{}
	}
}

// Elapsed returns the duration of the reasoning; false if it is unknown.
func (d *Reasoning) Elapsed(now time.Time) (time.Duration, bool) {
	if d.Start.IsZero() {
		return 0, false
	}
	end := d.End
	if d.State == Thinking {
		end = d.Last
		if now.After(end) {
			end = now
		}
	}
	return max(0, end.Sub(d.Start)), true
}

// Steps returns the steps in a context and below it; "": all.
func (d *Reasoning) Steps(filter protocol.ContextPath) []Step {
	if filter == "" || d.Path.Within(filter) {
		return d.steps
	}
	return slices.DeleteFunc(slices.Clone(d.steps), func(s Step) bool { return !s.context.Within(filter) })
}

// MarkedReasoning returns the reasoning that a message contained, as it ended with it.
func MarkedReasoning(m textutil.Marks, env *protocol.Envelope) *Reasoning {
	d := NewReasoning(env.From, env.Context, env.TS)
	d.State, d.End, d.InMessage = Thought, env.TS, true
	if m.Seconds >= 0 {
		d.Start = env.TS.Add(-time.Duration(m.Seconds * float64(time.Second)))
	}
	for _, text := range m.Steps {
		d.push(Step{Text: text, context: env.Context})
	}
	return d
}

// Bounds of the details that are kept of one envelope.
const (
	maxDetails = 16
	maxDetail  = 1 << 10 // bytes of one text
)

// Refer describes referenced envelopes for display.
type Refer func(ids []string) []string

// Details returns the metadata of the reasoning, the estimated duration beside the
// actual one, and its references.
func (d *Reasoning) Details() []api.Detail {
	r := api.Reasoning{Metadata: d.metadata, References: d.references}
	if d.State != Thinking && !d.Start.IsZero() {
		r.StartedAt, r.CompletedAt = protocol.Time{Time: d.Start}, &protocol.Time{Time: d.End}
	}
	return bound(r.Details())
}

// detailsOf returns the details of a step; of the outermost start, Details returns
// them.
func (d *Reasoning) detailsOf(env *protocol.Envelope, text string, refer Refer) []api.Detail {
	if !env.Kind.IsReasoning() || env.Kind == protocol.KindReasoningCancel {
		return nil
	}
	found := reduce.ReadReasoningDetails(env.ParsePayload())
	refs := refer(found.Note.References)
	switch {
	case env.ID == d.begun:
		return nil
	case env.Kind == protocol.KindReasoningStart:
		r := api.Reasoning{Metadata: boundMetadata(found.Metadata), References: refs}
		return bound(r.Details())
	case env.Kind.ClosesContext():
		found.Conclusion.References = refs
		if found.Conclusion.Decision == text {
			found.Conclusion.Decision = ""
		}
		return bound(found.Conclusion.Details())
	}
	found.Note.References = refs
	return bound(found.Note.Details())
}

// boundMetadata drops the values beyond the bound, in the order of their keys.
func boundMetadata(all map[string]json.RawMessage) map[string]json.RawMessage {
	for i, key := range slices.Sorted(maps.Keys(all)) {
		if i >= maxDetails {
			delete(all, key)
		}
	}
	return all
}

func bound(list []api.Detail) []api.Detail {
	list = list[:min(len(list), maxDetails+1)] // references come last
	for i := range list {
		list[i].Text = textutil.Shorten(list[i].Text, maxDetail)
	}
	return list
}
