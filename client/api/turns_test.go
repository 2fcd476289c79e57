package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// everything is a turn with every field.
const everything = `{"turn_number":3,"message_id":"q3","from":"alice","user_input":"why?","response":"so","response_from":"planner",` +
	`"state":"completed","started_at":"2026-11-20T09:00:01.000002Z","completed_at":"2026-11-20T09:00:04.500000Z",` +
	`"tool_calls":[{"name":"a","has_result":true,"has_error":true,"agent":"planner"}],` +
	`"reasoning":` + reasoned + `,"reasonings":[` + reasoned + `],"responses":[{"from":"planner","text":"so"}],"truncated":true}`

const reasoned = `{"session_id":"7c9e6679-7425-40de-944b-e07fc1f90ae7","thread_id":"q1","turn_number":3,"agent":"planner",` +
	`"started_at":"2026-11-20T09:00:02.000000Z","completed_at":"2026-11-20T09:00:03.000000Z","narrative":"I look.","tool_decisions":[` +
	`{"tool_name":"a","rationale":"to see","parameters":{"x":1},"outcome":"fulfilled","parallel_group":0,"call_id":"r1",` +
	`"started_at":"2026-11-20T09:00:02.100000Z","duration_ms":7,"result_bytes":8,"parameter_bytes":9,"context":"c1","decided_by":"bob","answered_by":"files","fulfilled_with":{"x":2}},` +
	`{"tool_name":"b","rationale":"","parameters":null,"outcome":"pending","parallel_group":null,"call_id":"r2",` +
	`"started_at":"2026-11-20T09:00:02.100000Z","context":"c1"}]}`

// TestTurn_RoundTrip: no field of a gateway's turn is lost or written in another
// way.
func TestTurn_RoundTrip(t *testing.T) {
	for name, text := range map[string]string{
		"every field": everything,
		"no answer yet": `{"turn_number":1,"message_id":"q1","from":"alice","user_input":"","response":null,` +
			`"state":"pending","started_at":"2026-11-20T09:00:01.000000Z","completed_at":null,"tool_calls":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			var turn api.Turn
			if err := json.Unmarshal([]byte(text), &turn); err != nil {
				t.Fatal(err)
			}
			if got, err := json.Marshal(turn); err != nil || string(got) != text {
				t.Errorf("%s, %v\nwant %s", got, err, text)
			}
		})
	}
}

// TestReasoning_Batches: the calls of a parallel group are together at the
// position of the first, and a group of one is a single call.
func TestReasoning_Batches(t *testing.T) {
	group := func(n int) *int { return &n }
	var r api.Reasoning
	for _, g := range []*int{nil, group(4), group(0), group(4), nil, group(7)} {
		r.ToolDecisions = append(r.ToolDecisions, api.Decision{ParallelGroup: g})
	}
	var got []string
	for _, b := range r.Batches() {
		name := "single"
		if b.Group != nil {
			name = fmt.Sprint("group ", *b.Group)
		}
		got = append(got, fmt.Sprint(name, " ", b.Decisions))
	}
	if want := []string{"single [0]", "group 4 [1 3]", "single [2]", "single [4]", "single [5]"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTurns(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	conversation(t, g)
	c := newClient(t, g, "alice")
	h, err := c.History(testkit.Deadline(t), "lab", "q1", api.Page{Limit: 5})
	if err != nil {
		t.Fatal(err)
	}
	if h.ThreadID != "q1" || len(h.Turns) != 1 || h.HasMore {
		t.Fatalf("%+v", h)
	}
	turn := h.Turns[0]
	if turn.State != api.TurnCompleted || turn.Response == nil || *turn.Response != "It is 10:35." || turn.Reasoning == nil {
		t.Fatalf("%+v", turn)
	}
	d := turn.Reasoning.ToolDecisions[0]
	if d.ToolName != "time" || d.Rationale != "the clock knows" || d.Outcome != api.OutcomeSuccess || string(d.Parameters) != `{"zone":"UTC"}` || d.ResultBytes == nil {
		t.Errorf("%+v", d)
	}
	list, err := c.Threads(testkit.Deadline(t), "lab", 1, 0)
	if err != nil || len(list.Threads) != 1 || list.Threads[0].ThreadID != "q1" || list.Threads[0].LastTurn != 1 || list.HasMore {
		t.Errorf("%+v, %v", list, err)
	}
	for _, id := range []protocol.ID{"q1", "t0", "r1", "a1", "w1"} {
		of, err := c.TurnOf(testkit.Deadline(t), "lab", id)
		if err != nil || of.ThreadID != "q1" || of.Turn.TurnNumber != 1 || of.SessionID != h.SessionID {
			t.Errorf("turn of %s: %+v, %v", id, of, err)
		}
	}
	text, err := c.Transcript(testkit.Deadline(t), "lab", "q1")
	if err != nil || !strings.Contains(string(text), "what time is it?") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestTranscript_NameCollision: the turns of a thread whose id ends in .md are
// not mistaken for a transcript.
func TestTranscript_NameCollision(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	c := newClient(t, g, "alice")
	for _, id := range []protocol.ID{"q1", "q1.md"} {
		if _, err := c.Send(testkit.Deadline(t), "lab", protocol.Envelope{ID: id, Kind: protocol.KindChat, Payload: []byte(`{"message":"x"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := c.Transcript(testkit.Deadline(t), "lab", "q1"); err == nil || !strings.Contains(err.Error(), "is there a thread q1.md?") {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := c.Transcript(testkit.Deadline(t), "lab", "q1.md"); err != nil || !strings.HasPrefix(string(text), "# Thread `q1.md`\n") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestJobs: a job is listed, read by its id and by an envelope of it, and as
// Markdown.
func TestJobs(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	publish(t, g, "bob",
		envelope("j1", "reasoning.start", "", "", `{"message":"nightly sweep"}`),
		envelope("t1", "reasoning.thought", "j1", "", `{"message":"It is late."}`),
		envelope("x1", "reasoning.conclusion", "j1", "", `{"message":"Nothing to do."}`),
		envelope("j2", "reasoning.start", "", "", `{}`),
	)
	c := newClient(t, g, "alice")
	list, err := c.Jobs(testkit.Deadline(t), "lab", 1, 0)
	if err != nil || len(list.Jobs) != 1 || list.Jobs[0].JobID != "j2" || !list.HasMore {
		t.Fatalf("%+v, %v", list, err)
	}
	list, err = c.Jobs(testkit.Deadline(t), "lab", 1, list.Next)
	if err != nil || len(list.Jobs) != 1 || list.HasMore || list.Jobs[0].Title != "nightly sweep" || list.Jobs[0].From != "bob" {
		t.Fatalf("%+v, %v", list, err)
	}
	h, err := c.Job(testkit.Deadline(t), "lab", "j1")
	if err != nil || h.JobID != "j1" || len(h.Turns) != 1 || h.SessionID != list.Jobs[0].SessionID {
		t.Fatalf("%+v, %v", h, err)
	}
	turn := h.Turns[0]
	if turn.TurnNumber != 0 || turn.Response == nil || *turn.Response != "Nothing to do." || turn.Reasoning == nil || turn.Reasoning.Narrative != "It is late." {
		t.Errorf("%+v", turn)
	}
	if of, err := c.TurnOf(testkit.Deadline(t), "lab", "t1"); err != nil || of.JobID != "j1" || of.ThreadID != "" || of.Turn.MessageID != "j1" {
		t.Errorf("%+v, %v", of, err)
	}
	if text, err := c.JobTranscript(testkit.Deadline(t), "lab", "j1"); err != nil || !strings.HasPrefix(string(text), "# Job `j1`") {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := c.Job(testkit.Deadline(t), "lab", "none"); !errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) {
		t.Errorf("%v", err)
	}
}

// TestSessionHistory reads a session of a thread and a job, page by page.
func TestSessionHistory(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	publish(t, g, "alice", envelope("q1", "chat", "", "", `{"message":"first","session_id":"s-1"}`), envelope("q2", "chat", "", "", `{"message":"second"}`))
	publish(t, g, "bob", envelope("j1", "reasoning.start", "", "", `{"message":"a job","session_id":"s-1"}`))
	c := newClient(t, g, "alice")
	newest, err := c.SessionHistory(testkit.Deadline(t), "lab", "s-1", api.SessionPage{Limit: 1})
	if err != nil || len(newest.Turns) != 1 || newest.Turns[0].JobID != "j1" || !newest.HasMore {
		t.Fatalf("%+v, %v", newest, err)
	}
	older, err := c.SessionHistory(testkit.Deadline(t), "lab", "s-1", api.SessionPage{Limit: 1, Before: newest.Next})
	if err != nil || len(older.Turns) != 1 || older.Turns[0].ThreadID != "q1" || older.Turns[0].TurnNumber != 1 || older.HasMore {
		t.Fatalf("%+v, %v", older, err)
	}
	if _, err := c.SessionHistory(testkit.Deadline(t), "lab", "s-2", api.SessionPage{}); !errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) {
		t.Errorf("%v", err)
	}
}

func TestHistory_UnknownThread(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	c := newClient(t, g, "alice")
	_, err := c.History(testkit.Deadline(t), "lab", "..", api.Page{})
	var status *api.StatusError
	if !errors.As(err, &status) || status.Status != 404 || !errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) || status.Temporary() {
		t.Errorf("%v", err)
	}
	if _, err := c.TurnOf(testkit.Deadline(t), "lab", "none"); !errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) {
		t.Errorf("%v", err)
	}
}
