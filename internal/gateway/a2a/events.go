package a2a

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	wire "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/turns/ask"
	"github.com/meup-protocol/meup/protocol"
)

// run turns the events of a turn into events of a task.
type run struct {
	info wire.TaskInfo
	// after is the position up to which the client has the events.
	after cursor
	// mayDecide reports whether a proposal waits for a decision that the participant
	// may make.
	mayDecide func(*protocol.Envelope) bool
	// drafts is set if the client wants text while it grows.
	drafts bool

	at      cursor // of the event
	answers counter
	growing map[protocol.ID]bool // streams; whether the client has a part
	ended   wire.TaskState       // "": not
	time    time.Time            // of the last envelope
}

// event returns the events of a task for an event of its turn, which the client lacks,
// and false at the end: of the task, or at a proposal that the participant may decide.
func (r *run) event(e *ask.Event) (list []wire.Event, more bool) {
	switch e.Type {
	case ask.Delta, ask.Answering:
		return r.draft(e), true
	case ask.Ended:
		return r.end(e), false
	}
	if e.Seq != r.at.seq {
		r.at = cursor{seq: e.Seq}
	}
	r.at.part++
	r.time = e.Envelope.TS
	var event wire.Event
	switch e.Type {
	case ask.StreamOpened:
		if len(r.growing) < maxGrowing {
			r.growing[e.Ref] = false
		}
	case ask.Answered:
		event = &wire.TaskArtifactUpdateEvent{TaskID: r.info.TaskID, ContextID: r.info.ContextID, Artifact: r.answers.artifact(e.Envelope.From, e.Text), LastChunk: true}
	case ask.Called:
		event = r.working(e, "calls "+toolOf(e.Envelope.ParsePayload()), callOf(e.Envelope))
	case ask.Proposed:
		if r.mayDecide(e.Envelope) {
			r.ended = wire.TaskStateInputRequired
			event = r.status(r.ended, asks(r.info, e.Envelope))
		} else {
			event = r.working(e, "proposes "+toolOf(e.Envelope.ParsePayload()), callOf(e.Envelope))
		}
	case ask.Returned:
		data, payload := map[string]any{"call": e.Ref}, e.Envelope.ParsePayload()
		for _, name := range []string{"result", "error"} {
			if v := payload.Get(name); v.Exists() {
				data[name] = json.RawMessage(v.Raw())
			}
		}
		event = r.working(e, "", data)
	case ask.Settled:
		event = r.working(e, strings.TrimSuffix("The proposal "+string(e.Ref)+" is "+e.State+": "+e.Text, ": "), nil)
	case ask.Opened, ask.Thought, ask.Said, ask.Closed:
		event = r.working(e, e.Text, nil)
	}
	if r.ended != "" { // it is asked for again until there is a decision
		return []wire.Event{r.marked(event)}, false
	}
	if event == nil || r.after.covers(r.at) {
		return nil, true
	}
	return []wire.Event{r.marked(event)}, true
}

// maxGrowing bounds the streams of a task of which a client gets the text.
const maxGrowing = 1024

// working returns a status with a text and data of a participant.
func (r *run) working(e *ask.Event, text string, data any) wire.Event {
	m := messageOf(r.info, e.Envelope, text)
	if text == "" {
		m.Parts = nil
	}
	if data != nil {
		m.Parts = append(m.Parts, &wire.Part{Content: wire.Data{Value: data}, MediaType: "application/json"})
	}
	if len(m.Parts) == 0 {
		m = nil
	}
	return r.status(wire.TaskStateWorking, m)
}

func (r *run) status(state wire.TaskState, m *wire.Message) wire.Event {
	at := r.time
	status := wire.TaskStatus{State: state, Message: m}
	if !at.IsZero() {
		status.Timestamp = &at
	}
	return &wire.TaskStatusUpdateEvent{TaskID: r.info.TaskID, ContextID: r.info.ContextID, Status: status}
}

func toolOf(payload protocol.Value) string {
	return cmp.Or(payload.Get("params").Get("name").Text(), payload.Get("method").Text())
}

// callOf returns a request or a proposal as data.
func callOf(e *protocol.Envelope) map[string]any {
	payload := e.ParsePayload()
	name, params := exchange.ShownCall(payload)
	data := map[string]any{"call": e.ID, "name": name}
	if len(e.To) == 1 {
		data["host"] = e.To[0]
	}
	if len(params) > 0 {
		data["arguments"] = json.RawMessage(params)
	}
	return data
}

// draft returns an addition to a text that grows, as a chunk of an artifact of its
// own: whether the text is a thought or the answer is known only at its end.
func (r *run) draft(e *ask.Event) []wire.Event {
	begun, known := r.growing[e.Ref]
	known = known || e.Type == ask.Answering && len(r.growing) < maxGrowing
	if !r.drafts || !known || e.Text == "" || !r.at.covers(r.after) {
		return nil
	}
	r.growing[e.Ref] = true
	event := &wire.TaskArtifactUpdateEvent{
		TaskID: r.info.TaskID, ContextID: r.info.ContextID, Append: begun,
		Artifact: &wire.Artifact{
			ID: wire.ArtifactID("draft-" + string(e.Ref)), Name: "draft of " + string(e.Envelope.From), Parts: wire.ContentParts{markdown(e.Text)},
			Metadata: map[string]any{metaParticipant: e.Envelope.From, metaTrust: "participant", metaDraft: true},
		},
	}
	return []wire.Event{event}
}

// end returns the last event. The text is the conclusion if there is no answer, or
// the reason.
func (r *run) end(e *ask.Event) []wire.Event {
	r.ended = map[string]wire.TaskState{ask.Completed: wire.TaskStateCompleted, ask.Failed: wire.TaskStateFailed, ask.Withdrawn: wire.TaskStateCanceled}[e.State]
	text := e.Text
	if r.ended == wire.TaskStateCompleted && len(r.answers) > 0 {
		text = ""
	} else if r.ended == wire.TaskStateFailed {
		text = cmp.Or(text, "No participant has answered.")
	}
	var m *wire.Message
	if text != "" {
		m = &wire.Message{
			ID: string(r.info.TaskID) + ".end", ContextID: r.info.ContextID, TaskID: r.info.TaskID, Role: wire.MessageRoleAgent,
			Parts: wire.ContentParts{markdown(text)}, Metadata: map[string]any{metaTrust: "participant"},
		}
	}
	return []wire.Event{r.marked(r.status(r.ended, m))}
}

// marked adds the position to an event.
func (r *run) marked(event wire.Event) wire.Event {
	if r.after.covers(r.at) { // it is sent again
		r.at = r.after
	}
	if r.at.seq > 0 {
		event.SetMeta(metaSeq, r.at.seq)
		event.SetMeta(metaCursor, r.at.String())
	}
	return event
}
