package api_test

import (
	"io"
	"net/http"
	"regexp"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

var (
	varying  = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"`)
	duration = regexp.MustCompile(`"duration_ms":\d+`)
)

// turnBytes is the turn of conversation.
const turnBytes = `{"turn_number":1,"message_id":"q1","from":"alice","user_input":"what time is it?","response":"It is 10:35.","response_from":"bob",` +
	`"state":"completed","started_at":"TIME","completed_at":"TIME","tool_calls":[{"name":"time","has_result":true,"has_error":false}],` +
	`"reasoning":{"session_id":"b02e5098-2e1b-5131-836b-ecd465fb2233","thread_id":"q1","turn_number":1,"agent":"bob","started_at":"TIME","completed_at":"TIME",` +
	`"narrative":"I will look at the clock.","tool_decisions":[{"tool_name":"time","rationale":"the clock knows","parameters":{"zone":"UTC"},"outcome":"success",` +
	`"parallel_group":null,"call_id":"r1","started_at":"TIME","duration_ms":0,"outcome_text":"5 characters","result_bytes":44,"context":"c1"}]}}`

// TestTurns_Bytes: the responses about turns, byte for byte but for the times.
func TestTurns_Bytes(t *testing.T) {
	g := meuptest.Start(t, meuptest.Config)
	conversation(t, g)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for path, want := range map[string]string{
		"/api/spaces/lab/threads":           `{"threads":[{"thread_id":"q1","session_id":"b02e5098-2e1b-5131-836b-ecd465fb2233","title":"what time is it?","started_at":"TIME","last_turn":1,"updated_at":"TIME","seq":1}],"next":0,"has_more":false}`,
		"/api/spaces/lab/threads/q1":        `{"thread_id":"q1","session_id":"b02e5098-2e1b-5131-836b-ecd465fb2233","turns":[` + turnBytes + `],"has_more":false}`,
		"/api/spaces/lab/envelopes/r1/turn": `{"thread_id":"q1","session_id":"b02e5098-2e1b-5131-836b-ecd465fb2233","turn":` + turnBytes + `}`,
	} {
		t.Run(path, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.HTTP()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer alice-token")
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			got := duration.ReplaceAllString(varying.ReplaceAllString(string(body), `"TIME"`), `"duration_ms":0`)
			if got != want+"\n" {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}
