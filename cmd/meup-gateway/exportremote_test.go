package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/meuptest"
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

// TestExport_TurnFields checks that no field of a gateway's turn is lost.
func TestExport_TurnFields(t *testing.T) {
	for _, text := range []string{everything, `{"turn_number":1,"message_id":"q1","from":"alice","user_input":"","response":null,` +
		`"state":"pending","started_at":"2026-11-20T09:00:01.000000Z","completed_at":null,"tool_calls":[]}`} {
		var sent api.Turn
		if err := json.Unmarshal([]byte(text), &sent); err != nil {
			t.Fatal(err)
		}
		info, err := turnInfo(&sent)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(info); err != nil || string(got) != text {
			t.Errorf("%s, %v\nwant %s", got, err, text)
		}
	}
	info, err := turnInfo(&api.Turn{Reasoning: &api.Reasoning{
		SessionID: "7c9e6679-7425-40de-944b-e07fc1f90ae7", ToolDecisions: []api.Decision{{Parameters: json.RawMessage("null")}},
	}})
	if err != nil || info.Reasoning.ToolDecisions[0].Parameters != nil {
		t.Errorf("parameters that were not kept: %v, %v", info, err)
	}
	if _, err := turnInfo(&api.Turn{TurnNumber: 4, Reasonings: []api.Reasoning{{SessionID: "x", TurnNumber: 4}}}); err == nil {
		t.Error("a session that is none")
	}
}

// TestExport_RemoteTurns checks that the turns of a thread of several pages are
// returned once each and in order, with the gateway's numbers and without
// invisible turns.
func TestExport_RemoteTurns(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	const n = 3*turnPage + 7
	for first := 1; first <= n; first += 50 {
		var list []string
		for i := first; i < first+50 && i <= n; i++ {
			more := ""
			if i > 1 {
				more = `,"correlationId":"q1"`
			}
			if i%7 == 0 {
				more += `,"to":["alice"]`
			}
			list = append(list, fmt.Sprintf(`{"id":"q%d","kind":"chat"%s,"payload":{"message":"number %d"}}`, i, more, i))
		}
		post(t, g.HTTP()+"/api/spaces/lab/envelopes", "["+strings.Join(list, ",")+"]")
	}
	number := regexp.MustCompile(`"key":"meup.turn.number","value":\{"intValue":"(\d+)"\}`)
	t.Setenv("ALICE", "alice-token")
	t.Setenv("BOB", "bob-token")
	for who, hidden := range map[string]int{"ALICE": n + 1, "BOB": 7} {
		f := exportFlags{space: "lab", gateway: g.HTTP(), tokenEnv: who, format: formatTraces, thread: "q1"}
		lines := strings.Split(strings.TrimSpace(mustExport(t, f)), "\n")
		want := 0
		for _, line := range lines {
			if want++; want%hidden == 0 {
				want++
			}
			if m := number.FindStringSubmatch(line); m == nil || m[1] != fmt.Sprint(want) {
				t.Fatalf("%s: turn %v, want %d", who, m, want)
			}
		}
		if want < n-1 {
			t.Errorf("%s: %d of %d turns", who, want, n)
		}
	}
}
