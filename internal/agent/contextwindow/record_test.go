package contextwindow

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
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

func TestRecord_JSON(t *testing.T) {
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

func TestRecord_EmptyLists(t *testing.T) {
	data, err := json.Marshal([]*Record{{Action: Finish}})
	if err != nil || !strings.Contains(string(data), `"tool_predictions":[],"tool_results":[]`) {
		t.Errorf("%s, %v", data, err)
	}
}
