package openaiapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/ask"
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
