package openaiapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/turns/ask"
	"github.com/meup-protocol/meup/protocol"
)

// shown is an output that keeps what it shows.
type shown struct{ thoughts, answer string }

func (s *shown) think(text string, begins bool) {
	if begins {
		s.thoughts += "|"
	}
	s.thoughts += text
}
func (s *shown) say(text string) { s.answer += text }
func (s *shown) end(usage)       {}
func (s *shown) fail(*fault)     {}
func (s *shown) more() bool      { return true }

func eventOf(kind ask.Type, from protocol.ParticipantID, text, stream string) *ask.Event {
	return &ask.Event{Type: kind, Text: text, Ref: protocol.ID(stream), Envelope: &protocol.Envelope{
		From: from, Payload: []byte(fmt.Sprintf(`{"stream_id":%q}`, stream)),
	}}
}

// What another participant says has its name, also if it answers in place of the one
// that was asked, or names its stream.
func TestView_Others(t *testing.T) {
	out := new(shown)
	v := newView(out, "planner")
	for _, e := range []*ask.Event{
		eventOf(ask.Delta, "planner", "I th", "s"),
		eventOf(ask.Thought, "mallory", "I th... send me the money", "s"),
		eventOf(ask.Thought, "planner", "I think", "s"),
		eventOf(ask.Answered, "mallory", "Send me the money.", ""),
		eventOf(ask.Answered, "planner", "No.", ""),
	} {
		v.event(e)
	}
	if out.thoughts != "|I think|mallory: I th... send me the money" {
		t.Errorf("thoughts %q", out.thoughts)
	}
	if out.answer != "**mallory**: Send me the money.\n\nNo." {
		t.Errorf("answer %q", out.answer)
	}
}

// The memory of a view does not depend on how long texts are.
func TestView_Bounded(t *testing.T) {
	out := new(shown)
	v := newView(out, "planner")
	v.event(eventOf(ask.Delta, "planner", "a", "s"))
	v.event(eventOf(ask.Thought, "planner", strings.Repeat("b", 1<<20), "other"))
	if n := len(v.held[0]); n > maxStep+3 {
		t.Errorf("%d bytes are held", n)
	}
	for range 1000 {
		v.event(eventOf(ask.Delta, "planner", strings.Repeat("c", 1000), "s"))
	}
	if n := v.sent.Len(); n > maxGrown+100 {
		t.Errorf("%d bytes of a text that grows", n)
	}
	before := len(out.thoughts)
	v.event(eventOf(ask.Thought, "planner", "a"+strings.Repeat("c", 1000*1000), "s"))
	if n := len(out.thoughts) - before; n > maxStep+4 {
		t.Errorf("%d bytes are shown twice", n)
	}
}

// An answer that grows is shown as the answer, once, and a conclusion that repeats it is not
// shown.
func TestView_Answers(t *testing.T) {
	concluded := func(text string) *ask.Event {
		e := eventOf(ask.Closed, "planner", text, "")
		e.Envelope.Kind, e.Envelope.Context = protocol.KindReasoningConclusion, "c"
		return e
	}
	long := strings.Repeat("x", maxAnswer)
	for name, test := range map[string]struct {
		events           []*ask.Event
		thoughts, answer string
	}{
		"grows": {[]*ask.Event{
			eventOf(ask.Answering, "planner", "It is", "a"), eventOf(ask.Answering, "planner", " fine. All", "a"), concluded("It is fine."),
			eventOf(ask.Answered, "planner", "It is fine. All of it.", "a"),
		}, "", "It is fine. All of it."},
		"is changed":             {[]*ask.Event{eventOf(ask.Answering, "planner", "It is", "a"), eventOf(ask.Answered, "planner", "I cannot say.", "a")}, "", "It is\n\nI cannot say."},
		"another one":            {[]*ask.Event{eventOf(ask.Answering, "planner", "It", "a"), eventOf(ask.Answered, "bob", "No.", ""), eventOf(ask.Answered, "planner", "It is.", "a")}, "", "It is.\n\n**bob**: No."},
		"the stream of an other": {[]*ask.Event{eventOf(ask.Answering, "planner", "It", "a"), eventOf(ask.Answered, "bob", "It was.", "a"), eventOf(ask.Answered, "planner", "It is.", "a")}, "", "It is.\n\n**bob**: It was."},
		"two grow": {[]*ask.Event{
			eventOf(ask.Answering, "planner", "It", "a"), eventOf(ask.Answering, "bob", "No", "b"), eventOf(ask.Answered, "planner", "It is.", "a"),
			eventOf(ask.Answering, "bob", " way", "b"), eventOf(ask.Answered, "bob", "No way.", "b"),
		}, "", "It is.\n\n**bob**: No way."},
		"much waits": {[]*ask.Event{
			eventOf(ask.Answering, "planner", "It", "a"), eventOf(ask.Answered, "bob", long, ""), eventOf(ask.Answering, "planner", " is", "a"),
			eventOf(ask.Answered, "planner", "It is.", "a"),
		}, "", "It\n\n**bob**: " + long + "\n\nIt is."},
		"is none": {[]*ask.Event{
			eventOf(ask.Answering, "planner", "I look", "a"), eventOf(ask.Retracted, "planner", "", "a"), eventOf(ask.Thought, "planner", "I look there.", "a"),
			eventOf(ask.Answering, "planner", "It", "b"), eventOf(ask.Answered, "planner", "It is.", "b"),
		}, "|there.", "I look\n\nIt is."},
		"is another thought": {[]*ask.Event{
			eventOf(ask.Answering, "planner", "I look", "a"), eventOf(ask.Retracted, "planner", "", "a"), eventOf(ask.Thought, "planner", "I read.", "a"),
			eventOf(ask.Answered, "planner", "It is.", ""),
		}, "|I read.", "I look\n\nIt is."},
		"is none, and another one waits": {[]*ask.Event{
			eventOf(ask.Answering, "planner", "I look", "a"), eventOf(ask.Answered, "bob", "No.", ""), eventOf(ask.Retracted, "planner", "", "a"),
			eventOf(ask.Answered, "planner", "It is.", ""),
		}, "", "I look\n\n**bob**: No.\n\nIt is."},
		"is none, and nothing follows": {[]*ask.Event{
			eventOf(ask.Answering, "planner", "I look", "a"), eventOf(ask.Retracted, "planner", "", "a"), {Type: ask.Ended, State: ask.Completed, Text: "It is fine."},
		}, "", "I look\n\nIt is fine."},
		"a repetition":     {[]*ask.Event{concluded("It is fine."), eventOf(ask.Answered, "planner", "It is fine.\n", "")}, "", "It is fine.\n"},
		"its beginning":    {[]*ask.Event{concluded("It is fine."), eventOf(ask.Answered, "planner", "It is fine. All of it.", "")}, "", "It is fine. All of it."},
		"cut":              {[]*ask.Event{concluded("It is fi…"), eventOf(ask.Answered, "planner", "It is fine.", "")}, "", "It is fine."},
		"marked":           {[]*ask.Event{concluded("<think>It was.</think>It is fine."), eventOf(ask.Answered, "planner", "It is fine.", "")}, "", "It is fine."},
		"part of a word":   {[]*ask.Event{concluded("It is"), eventOf(ask.Answered, "planner", "It isn't.", "")}, "|It is", "It isn't."},
		"another text":     {[]*ask.Event{concluded("It is fine."), eventOf(ask.Answered, "planner", "All is well.", "")}, "|It is fine.", "All is well."},
		"of somebody else": {[]*ask.Event{concluded("It is fine."), eventOf(ask.Answered, "bob", "It is fine.", "")}, "|It is fine.", "**bob**: It is fine."},
		"no answer":        {[]*ask.Event{concluded("It is fine."), {Type: ask.Ended, State: ask.Completed, Text: "It is fine."}}, "|It is fine.", "It is fine."},
	} {
		t.Run(name, func(t *testing.T) {
			out := new(shown)
			v := newView(out, "planner")
			for _, e := range test.events {
				if e.Envelope != nil && e.Type == ask.Closed {
					e.Envelope.Payload = []byte("{}")
				}
				v.event(e)
			}
			if out.thoughts != test.thoughts || out.answer != test.answer {
				t.Errorf("thoughts %.200q, answer %.200q; want %.200q, %.200q", out.thoughts, out.answer, test.thoughts, test.answer)
			}
		})
	}
}

// spent is an output that keeps the usage at the end.
type spent struct {
	shown
	used usage
}

func (s *spent) end(u usage) { s.used = u }

// Each conclusion, and each cancellation, of a turn counts; counts of another form do not.
func TestView_Usage(t *testing.T) {
	out := new(spent)
	v := newView(out, "planner")
	for _, metadata := range []string{
		`{"usage":{"input_tokens":100,"output_tokens":20,"cached_tokens":60,"reasoning_tokens":5}}`,
		`{"usage":{"input_tokens":10,"output_tokens":2,"cached_tokens":99,"reasoning_tokens":99}}`, // parts are no more than the whole
		`{"usage":{"input_tokens":-1,"output_tokens":"7","cached_tokens":[],"reasoning_tokens":-5}}`,
		`{"usage":{"input_tokens":1.5,"output_tokens":1e300}}`,
		`{"usage":7}`, `null`, `{}`, `{"uncounted":2}`, `{"uncounted":-2}`,
	} {
		v.event(&ask.Event{Type: ask.Closed, Envelope: &protocol.Envelope{
			From: "planner", Kind: protocol.KindReasoningCancel, Context: "c", Payload: []byte(`{"metadata":` + metadata + `}`),
		}})
	}
	v.event(&ask.Event{Type: ask.Ended})
	if want := (usage{input: 110, output: 22, cached: 70, reasoning: 7, uncounted: 2}); out.used != want {
		t.Errorf("usage %+v, want %+v", out.used, want)
	}
	v.event(&ask.Event{Type: ask.Closed, Envelope: &protocol.Envelope{
		From: "planner", Kind: protocol.KindReasoningConclusion, Context: "c/d",
		Payload: []byte(`{"metadata":{"usage":{"input_tokens":9223372036854775807,"output_tokens":99999999999999999999}}}`),
	}})
	if v.used.input <= 0 || v.used.output < 0 {
		t.Errorf("usage %+v, want no overflow", v.used)
	}
}

// Reasoning at the beginning of a message is a step before the answer.
func TestView_Marks(t *testing.T) {
	out := new(shown)
	v := newView(out, "planner")
	answered := eventOf(ask.Answered, "planner", "No.", "")
	answered.Steps = []string{"It is late."}
	v.event(answered)
	if out.thoughts != "|It is late." || out.answer != "No." {
		t.Errorf("thoughts %q, answer %q; want the text in <think> as a thought", out.thoughts, out.answer)
	}
}
