package reasoning

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/llm"
)

func valid() Record {
	return Record{
		Index: 2, Thought: "I look.", Action: UseTools, Concurrent: true, Time: time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC),
		Calls: []Call{
			{ID: "call_1", Tool: "files/read", Arguments: json.RawMessage(`{"path":"a.md"}`), Reason: "It may say."},
			{Tool: "files/list", Arguments: json.RawMessage(`{}`)},
		},
		Results: []Result{
			{Tool: "files/read", Success: true, Text: "hello", Elapsed: 3 * time.Millisecond},
			{Tool: "files/list", Outcome: Rejected, Error: "Anna said no."},
		},
	}
}

func TestARecordAsJSON(t *testing.T) {
	r := valid()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"step_index":2,"thought":"I look.","next_action":"use_tools","tool_predictions":[` +
		`{"call_id":"call_1","tool_name":"files/read","arguments":{"path":"a.md"},"reasoning":"It may say."},` +
		`{"tool_name":"files/list","arguments":{},"reasoning":""}],"tool_results":[` +
		`{"tool_name":"files/read","success":true,"result":"hello","duration_ns":3000000},` +
		`{"tool_name":"files/list","success":false,"outcome":"rejected","error":"Anna said no."}],` +
		`"concurrent_execution":true,"timestamp":"2026-01-02T03:04:05.678Z"}`
	if string(data) != want {
		t.Errorf("got %s\nnot %s", data, want)
	}
	var back Record
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, r) {
		t.Errorf("%+v came back, %v", back, err)
	}
}

func TestARecordHasLists(t *testing.T) {
	data, err := json.Marshal([]*Record{{Action: Finish}})
	if err != nil || !strings.Contains(string(data), `"tool_predictions":[],"tool_results":[]`) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestValidate(t *testing.T) {
	r := valid()
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	r.Results = r.Results[:1] // it was stopped
	r.Turn = &llm.Message{Role: llm.Assistant}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	if err := (&Record{Action: Finish, Time: time.Unix(0, 0)}).Validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Record){
		"step_index is -1":                       func(r *Record) { r.Index = -1 },
		`next_action "think"`:                    func(r *Record) { r.Action = "think" },
		"next_action is finish, and there are 2": func(r *Record) { r.Action = Finish },
		"there is no call":                       func(r *Record) { r.Calls, r.Results, r.Concurrent = nil, nil, false },
		"two calls at least":                     func(r *Record) { r.Calls, r.Results = r.Calls[:1], r.Results[:1] },
		"timestamp is missing":                   func(r *Record) { r.Time = time.Time{} },
		"tool_predictions 1: tool_name":          func(r *Record) { r.Calls[1].Tool = "" },
		"0: arguments are no JSON":               func(r *Record) { r.Calls[0].Arguments = json.RawMessage(`[]`) },
		"1: arguments are no JSON":               func(r *Record) { r.Calls[1].Arguments = nil },
		"0: arguments are no JSON object":        func(r *Record) { r.Calls[0].Arguments = json.RawMessage(`null`) },
		`call_id "call_1" is there twice`:        func(r *Record) { r.Calls[1].ID = "call_1" },
		"3 results for 2 calls":                  func(r *Record) { r.Results = append(r.Results, Result{Success: true}) },
		`tool_results 0: is of "x"`:              func(r *Record) { r.Results[0].Tool = "x" },
		`outcome "perhaps" is unknown`:           func(r *Record) { r.Results[0].Outcome = "perhaps" },
		`outcome "refused", and success is true`: func(r *Record) { r.Results[0].Outcome = Refused },
		"error of a success":                     func(r *Record) { r.Results[0].Error = "x" },
		"error is missing":                       func(r *Record) { r.Results[1].Error = "" },
		"duration_ns is negative":                func(r *Record) { r.Results[0].Elapsed = -1 },
		`the turn's role is "user"`:              func(r *Record) { r.Turn = &llm.Message{Role: llm.User} },
	} {
		r := valid()
		change(&r)
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not said: %v", want, err)
		}
	}
}
