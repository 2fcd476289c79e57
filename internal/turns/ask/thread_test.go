package ask_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/turns/ask"
	"github.com/meup-protocol/meup/protocol"
)

func chatOf(from, id, about string) *protocol.Envelope {
	e := &protocol.Envelope{ID: protocol.ID(id), From: protocol.ParticipantID(from), Kind: protocol.KindChat, Payload: json.RawMessage(`{"message":"` + id + `"}`)}
	if about != "" {
		e.Correlation = protocol.CorrelateTo(protocol.ID(about))
	}
	return e
}

func typesOf(list []*ask.Event) (text string) {
	for _, e := range list {
		text += fmt.Sprint(e.Type, " ", e.Question, " ", e.Turn, ";")
	}
	return text
}

// A thread follows its newest questions, also after their end, and tells of one end of each.
func TestThread_Bounded(t *testing.T) {
	const most = 32
	var thread ask.Thread
	for i := range most + 1 {
		thread.Ask(chatOf("alice", fmt.Sprint("q", i), ""), i+1)
	}
	if list := thread.Apply(chatOf("planner", "a0", "q0"), 1); len(list) > 0 {
		t.Error(typesOf(list))
	}
	for i, want := range []string{"answered q1 2;ended q1 2;", "answered q1 2;"} {
		if got := typesOf(thread.Apply(chatOf("planner", fmt.Sprint("a1", i), "q1"), 2)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// The chat of a participant that is no agent begins a turn, and answers the question that it
// correlates to.
func TestThread_AnswerIsQuestion(t *testing.T) {
	var thread ask.Thread
	thread.Ask(chatOf("alice", "q", ""), 1)
	if got, want := typesOf(thread.Ask(chatOf("bob", "a", "q"), 2)), "answered q 1;ended q 1;asked a 2;"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A turn whose contexts are closed ends a while later, by the time of the log.
func TestThread_Expire(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	var thread ask.Thread
	thread.Ask(chatOf("alice", "q", ""), 1)
	thread.Apply(&protocol.Envelope{ID: "s", From: "planner", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo("q"), Payload: []byte("{}"), TS: at}, 1)
	thread.Apply(&protocol.Envelope{ID: "c", From: "planner", Kind: protocol.KindReasoningConclusion, Context: "s", Payload: []byte("{}"), TS: at}, 1)
	list, next := thread.Expire(at)
	if len(list) > 0 || !next.After(at) {
		t.Fatal(typesOf(list), next)
	}
	if list, again := thread.Expire(next); typesOf(list) != "ended q 1;" || !again.IsZero() {
		t.Error(typesOf(list), again)
	}
}
