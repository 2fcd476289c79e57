package a2a

import (
	"testing"

	wire "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/meup-protocol/meup/internal/turns/ask"
	"github.com/meup-protocol/meup/protocol"
)

// turnEvents are the events of a turn with two answers of one participant, and text that
// grows.
func turnEvents() []*ask.Event {
	e := func(seq protocol.Seq, kind ask.Type, text string) *ask.Event {
		return &ask.Event{Type: kind, Seq: seq, Text: text, Ref: "s", Envelope: &protocol.Envelope{ID: "e", From: "planner", Kind: protocol.KindChat}}
	}
	return []*ask.Event{
		e(2, ask.Opened, "goal"), e(3, ask.StreamOpened, ""), e(3, ask.Delta, "a "), e(3, ask.Delta, "b"), e(4, ask.StreamClosed, ""),
		e(5, ask.Settled, "one"), e(5, ask.Settled, "two"), e(6, ask.Answered, "first"), e(7, ask.Answered, "second"),
		{Type: ask.Ended, Seq: 7, State: ask.Completed, Text: "second"},
	}
}

func runOf(after cursor, drafts bool) *run {
	return &run{
		info: wire.TaskInfo{TaskID: "t", ContextID: "c"}, after: after, drafts: drafts, answers: make(counter), growing: make(map[protocol.ID]bool),
		mayDecide: func(*protocol.Envelope) bool { return true },
	}
}

// eventsOf returns the events of a run.
func eventsOf(r *run, turn []*ask.Event) (list []wire.Event) {
	for _, e := range turn {
		events, more := r.event(e)
		list = append(list, events...)
		if !more {
			break
		}
	}
	return list
}

// After each event, a run that continues has exactly the following ones.
func TestRun_Continues(t *testing.T) {
	whole := eventsOf(runOf(cursor{seq: 1, part: all}, false), turnEvents())
	if len(whole) != 6 {
		t.Fatalf("%d events", len(whole))
	}
	for i, event := range whole[:len(whole)-1] {
		text, _ := event.Meta()[metaCursor].(string)
		at, err := parseCursor(text)
		if err != nil {
			t.Fatal(err)
		}
		rest := eventsOf(runOf(at, false), turnEvents())
		if len(rest) != len(whole)-i-1 || rest[0].Meta()[metaCursor] != whole[i+1].Meta()[metaCursor] {
			t.Errorf("after %s: %d events", text, len(rest))
		}
	}
	second := whole[4].(*wire.TaskArtifactUpdateEvent)
	if second.Artifact.ID != "answer-planner-2" || second.Artifact.Parts[0].Text() != "second" {
		t.Errorf("%+v", second.Artifact)
	}
}

// Text that grows is sent as chunks of an artifact, but not again.
func TestRun_Drafts(t *testing.T) {
	var chunks []*wire.TaskArtifactUpdateEvent
	for _, event := range eventsOf(runOf(cursor{}, true), turnEvents()) {
		if a, ok := event.(*wire.TaskArtifactUpdateEvent); ok && a.Artifact.ID == "draft-s" {
			chunks = append(chunks, a)
		}
	}
	if len(chunks) != 2 || chunks[0].Append || !chunks[1].Append {
		t.Errorf("%+v", chunks)
	}
	answering := turnEvents()[3]
	answering.Type, answering.Ref = ask.Answering, "a"
	if n := len(eventsOf(runOf(cursor{}, true), []*ask.Event{answering, answering})); n != 2 {
		t.Errorf("%d chunks of an answer that grows, want 2", n)
	}
	if n := len(eventsOf(runOf(cursor{7, all}, true), turnEvents())); n != 1 {
		t.Errorf("%d events after the end", n)
	}
}

// A proposal ends the run, whether the client has its event or not.
func TestRun_Proposal(t *testing.T) {
	p := &ask.Event{Type: ask.Proposed, Seq: 3, Envelope: &protocol.Envelope{ID: "p", From: "planner", Kind: protocol.KindMCPProposal, Payload: []byte(`{"method":"tools/call","params":{"name":"write"}}`)}}
	for _, after := range []cursor{{}, {3, 1}, {9, all}} {
		r := runOf(after, false)
		events, more := r.event(p)
		if more || len(events) != 1 || events[0].(*wire.TaskStatusUpdateEvent).Status.State != wire.TaskStateInputRequired {
			t.Errorf("after %s: %+v", after, events)
		}
		if got, _ := parseCursor(events[0].Meta()[metaCursor].(string)); !got.covers(after) {
			t.Errorf("after %s: the cursor is %s", after, got)
		}
	}
}
