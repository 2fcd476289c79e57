package agui

import (
	"fmt"
	"slices"
	"testing"

	"github.com/meup-protocol/meup/internal/turns/ask"
	"github.com/meup-protocol/meup/protocol"
)

// types returns the types of the events that a run sends for events of a turn, and then
// at its end or its failure.
func types(after protocol.Seq, fails bool, list ...*ask.Event) (out []string) {
	r := &run{
		in: &input{}, after: after, shown: after == 0, growing: make(map[protocol.ID]*text), saying: make(map[protocol.ID]*text),
		mayDecide: func(*protocol.Envelope) bool { return false },
		send:      func(event map[string]any) { out = append(out, fmt.Sprint(event["type"])) },
	}
	for _, e := range list {
		r.event(e)
	}
	if fails {
		r.fail("The gateway ended the run.")
	}
	return out
}

// A run closes what it has opened, and nothing else.
func TestRun_Closes(t *testing.T) {
	opened := &ask.Event{Type: ask.Opened, Seq: 5, Envelope: &protocol.Envelope{ID: "s", From: "planner", Kind: protocol.KindReasoningStart, Seq: 5, Payload: []byte("{}")}}
	nested := &ask.Event{Type: ask.Opened, Seq: 6, Envelope: &protocol.Envelope{ID: "n", From: "planner", Kind: protocol.KindReasoningStart, Context: "s", Seq: 6, Payload: []byte("{}")}}
	ended := &ask.Event{Type: ask.Ended, Seq: 6, State: ask.Completed, Text: "done"}
	answer := []string{"TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"}
	for _, test := range []struct {
		name  string
		after protocol.Seq
		fails bool
		list  []*ask.Event
		want  []string
	}{
		{"end", 0, false, []*ask.Event{opened, ended}, append([]string{"REASONING_START", "REASONING_END"}, answer...)},
		{"end after the position of all events", 6, false, []*ask.Event{opened, nested, ended}, answer},
		{"failure", 0, true, []*ask.Event{opened, nested}, []string{
			"REASONING_START", "SUBAGENT_STARTED", "REASONING_START", "REASONING_END", "SUBAGENT_ERROR", "REASONING_END", "RUN_ERROR",
		}},
		{"failure before the position", 6, true, []*ask.Event{opened, nested}, []string{"RUN_ERROR"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := types(test.after, test.fails, test.list...); !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// An answer that grows is a message from its first piece on, and a conclusion that repeats
// the answer is not shown.
func TestRun_Answers(t *testing.T) {
	envelope := func(kind protocol.Kind, payload string) *protocol.Envelope {
		return &protocol.Envelope{ID: "e", From: "planner", Kind: kind, Payload: []byte(payload)}
	}
	opened := &ask.Event{Type: ask.Opened, Envelope: &protocol.Envelope{ID: "s", From: "planner", Kind: protocol.KindReasoningStart, Payload: []byte("{}")}}
	closed := func(text string) *ask.Event {
		e := &ask.Event{Type: ask.Closed, Text: text, Envelope: envelope(protocol.KindReasoningConclusion, "{}")}
		e.Envelope.Context = "s"
		return e
	}
	piece := func(text string) *ask.Event {
		return &ask.Event{Type: ask.Answering, Ref: "a", Text: text, Envelope: envelope(protocol.KindStreamData, "{}")}
	}
	answer := func(text, stream string) *ask.Event {
		return &ask.Event{Type: ask.Answered, Text: text, Envelope: envelope(protocol.KindChat, fmt.Sprintf(`{"stream_id":%q}`, stream))}
	}
	retracted := &ask.Event{Type: ask.Retracted, Ref: "a", Envelope: envelope(protocol.KindStreamClose, "{}")}
	thought := func(text string) *ask.Event {
		e := &ask.Event{Type: ask.Thought, Text: text, Envelope: envelope(protocol.KindReasoningThought, `{"stream_id":"a"}`)}
		e.Envelope.Context = "s"
		return e
	}
	ended := &ask.Event{Type: ask.Ended, State: ask.Completed, Text: "done"}
	const start, content, end = "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"
	for _, test := range []struct {
		name string
		list []*ask.Event
		want []string
	}{
		{"grows", []*ask.Event{opened, piece("It is"), piece(" fine."), closed("It is fine."), answer("It is fine.", "a"), ended},
			[]string{"REASONING_START", start, content, content, "REASONING_END", end, "RUN_FINISHED"}},
		{"has a rest", []*ask.Event{piece("It is"), answer("It is fine.", "a"), ended}, []string{start, content, content, end, "RUN_FINISHED"}},
		{"is changed", []*ask.Event{piece("It is"), answer("No.", "a"), ended}, []string{start, content, end, start, content, end, "RUN_FINISHED"}},
		{"has no end", []*ask.Event{piece("It is"), {Type: ask.Ended, State: ask.Withdrawn}}, []string{start, content, end, "RUN_FINISHED"}},
		{"is a thought", []*ask.Event{opened, piece("I look"), retracted, thought("I look"), answer("It is.", ""), ended},
			[]string{"REASONING_START", start, content, end, start, content, end, "REASONING_END", "RUN_FINISHED"}},
		{"is the beginning of a thought", []*ask.Event{opened, piece("I look"), retracted, thought("I look there."), answer("It is.", ""), ended},
			[]string{"REASONING_START", start, content, end, "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", start, content, end, "REASONING_END", "RUN_FINISHED"}},
		{"a repetition", []*ask.Event{opened, closed("It is fine."), answer("It is fine.", ""), ended},
			[]string{"REASONING_START", "REASONING_END", start, content, end, "RUN_FINISHED"}},
		{"the beginning of the answer", []*ask.Event{opened, closed("It is fine."), answer("It is fine. All of it.", ""), ended},
			[]string{"REASONING_START", "REASONING_END", start, content, end, "RUN_FINISHED"}},
		{"another text", []*ask.Event{opened, closed("Fine."), answer("It is fine.", ""), ended},
			[]string{"REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "REASONING_END", start, content, end, "RUN_FINISHED"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := types(0, false, test.list...); !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
