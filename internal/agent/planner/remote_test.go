package planner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
)

// service is a Reasoning API with scripted responses.
type service struct {
	mu        sync.Mutex
	asked     []string // bodies
	cancelled chan string
	answer    func(wire.AgentIntentRequest) (int, string)
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() { _ = r.Body.Close() }()
	var body json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/agent_intent_cancel" {
		var req wire.CancelRequest
		_ = json.Unmarshal(body, &req)
		s.cancelled <- req.CorrelationID
		_, _ = w.Write([]byte(`{"ok":true}`))
		return
	}
	var req wire.AgentIntentRequest
	_ = json.Unmarshal(body, &req)
	s.mu.Lock()
	s.asked = append(s.asked, string(body))
	s.mu.Unlock()
	status, text := s.answer(req)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

// remote returns a planner that asks a service.
func remote(t *testing.T, answer func(wire.AgentIntentRequest) (int, string)) (*planner.Remote, *service) {
	t.Helper()
	s := &service{answer: answer, cancelled: make(chan string, 8)}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	c, err := reasoner.New(reasoner.Options{URL: srv.URL, Retries: reasoner.NoRetries})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	n := 0
	return &planner.Remote{Client: c, NewID: func() string { n++; return fmt.Sprintf("c%d", n) }}, s
}

func says(text string) func(wire.AgentIntentRequest) (int, string) {
	return func(wire.AgentIntentRequest) (int, string) { return http.StatusOK, text }
}

func TestRemoteRequest(t *testing.T) {
	r, srv := remote(t, says(`{"status":"ok","finish":true,"final_text":"It is so. And so.","reasoning":"I know it.","trace":[{"step":"llm"}]}`))
	first := record(0, "read_file", `{"path":"a.md"}`, "")
	second := record(1, "context.fts_search", `{"query":"x"}`, "found")
	second.Calls = append(second.Calls, contextwindow.Call{Tool: "read_file", Arguments: json.RawMessage(`{"path":"b.md"}`), Reason: "too"})
	second.Results = append(second.Results, contextwindow.Result{Tool: "read_file", Error: "no such file"})
	d, err := r.Next(t.Context(), planner.State{
		Question: "Is it so?", Session: "s1", Instructions: "Be brief.", MaxSteps: 5, Forced: "read_file", Stuck: true, MaxDepth: 1,
		History: []llm.Message{{Role: llm.User, Text: "Hi."}, {Role: llm.Assistant, Text: "Hello."}},
		Tools:   []planner.Tool{tool("read_file", pathSchema)},
		Steps:   []contextwindow.Record{first, second},
	})
	if err != nil || d.Action != contextwindow.Finish || d.Answer != "It is so. And so." || d.Conclusion != "It is so." || d.Thought != "I know it." || d.Source != planner.ByModel {
		t.Errorf("%v, %+v", err, d)
	}
	want := `{"session_id":"s1","instructions":"Be brief.","memory_state":{"conversation":[{"role":"user","text":"Hi."},{"role":"assistant","text":"Hello."}]},` +
		`"history":[{"step":0,"tool_name":"read_file","tool_args":{"path":"a.md"},"result":"","reasoning":"why"},` +
		`{"step":1,"tool_name":"context.fts_search","tool_args":{"query":"x"},"result":"found","reasoning":"why"},` +
		`{"step":1,"tool_name":"read_file","tool_args":{"path":"b.md"},"error":"no such file","reasoning":"too"}],` +
		`"goal_text":"Is it so?","forced_tool":"read_file","max_steps":6,"agent_state":{"stuck":true},"correlation_id":"c1","tools":[{"name":"subproblem"`
	if got := srv.asked[0]; !strings.HasPrefix(got, want) || !strings.Contains(got, `{"name":"read_file","description":"Does read_file","inputSchema":{`) {
		t.Errorf("asked\n%s\nwant\n%s", got, want)
	}
}

func TestRemote_AnswerNotThought(t *testing.T) {
	r, _ := remote(t, says(`{"status":"ok","finish":true,"final_text":"It is so. And so.","reasoning":"It is so."}`))
	d, err := r.Next(t.Context(), planner.State{Question: "Is it so?", MaxSteps: 5})
	if err != nil || d.Conclusion != "It is so." || d.Thought != "" {
		t.Errorf("%v, %+v", err, d)
	}
}

// TestRemoteCountsCalls checks MaxSteps of the request: the service counts
// calls, and a step has any number of them.
func TestRemoteCountsCalls(t *testing.T) {
	for _, test := range []struct {
		calls []int // of each step
		want  string
	}{
		{nil, `"max_steps":5,`}, {[]int{1, 1}, `"max_steps":5,`}, {[]int{2, 1}, `"max_steps":6,`},
		{[]int{0, 1}, `"max_steps":4,`}, {[]int{0, 0, 0, 0, 0, 0}, `"max_steps":1,`},
	} {
		r, srv := remote(t, says(`{"status":"ok","finish":true,"final_text":"So."}`))
		s := planner.State{Question: "q", MaxSteps: 5}
		for i, n := range test.calls {
			step := record(i, "read_file", `{"path":"a"}`, "")
			call, result := step.Calls[0], step.Results[0]
			step.Calls, step.Results, step.Thought = nil, nil, "hm"
			for range n {
				step.Calls, step.Results = append(step.Calls, call), append(step.Results, result)
			}
			s.Steps = append(s.Steps, step)
		}
		if _, err := r.Next(t.Context(), s); err != nil || !strings.Contains(srv.asked[0], test.want) {
			t.Errorf("%v: %v, asked %s", test.calls, err, srv.asked[0])
		}
	}
}

func TestRemoteDecisions(t *testing.T) {
	s := planner.State{Question: "q", Tools: []planner.Tool{tool("read_file", pathSchema), tool("now", "")}}
	for _, test := range []struct {
		answer string
		want   string
		source planner.Source
		err    error
	}{
		{`{"status":"ok","tool_name":"read_file","tool_args":{"path":"a"},"reasoning":"To see.","trace":[{"step":"rules"}]}`, `read_file {"path":"a"} To see.`, planner.ByRules, nil},
		{`{"status":"ok","tool_name":"now","trace":[]}`, `now {} ` + planner.DefaultReason, planner.ByRemote, nil},
		{`{"status":"ok","tool_name":"now","tool_args":null,"trace":[{"step":"llm"},{"step":"fallback"},{"step":"rules"}]}`, `now {} ` + planner.DefaultReason, planner.Fallback, nil},
		{`{"status":"ok","tool_name":"read_file","tool_args":{"path":"a","secret-0815":1}}`, "", "", planner.ErrRemote},
		{`{"status":"ok","tool_name":"read_file","tool_args":["a"]}`, "", "", planner.ErrRemote},
		{`{"status":"ok"}`, "", "", planner.ErrRemote},
		{`{"status":"ok","finish":true}`, "", "", planner.ErrRemote},
	} {
		r, _ := remote(t, says(test.answer))
		d, err := r.Next(t.Context(), s)
		if !errors.Is(err, test.err) || err != nil && strings.Contains(err.Error(), "0815") || shown(d.Calls) != test.want || d.Source != test.source {
			t.Errorf("%s: %v, %+v", test.answer, err, d)
		}
	}
}

func TestRemoteErrors(t *testing.T) {
	s := planner.State{Question: "q", Tools: []planner.Tool{tool("read_file", pathSchema)}}
	r, _ := remote(t, says(`{"status":"ok","tool_name":"delete_all","tool_args":{}}`))
	var invalid *reasoner.ValidationError
	if _, err := r.Next(t.Context(), s); !errors.As(err, &invalid) || invalid.Tool != "delete_all" || !errors.Is(err, planner.ErrRemote) {
		t.Errorf("error %v", err)
	}
	for _, body := range []string{"<html>", "[1]", "", `{"final_text":"` + strings.Repeat("a", 9<<20) + `"}`} {
		r, _ = remote(t, func(wire.AgentIntentRequest) (int, string) { return http.StatusOK, body })
		if _, err := r.Next(t.Context(), s); !errors.Is(err, planner.ErrRemote) || !errors.Is(err, reasoner.ErrResponse) {
			t.Errorf("%.10q: error %v", body, err)
		}
	}
	r, _ = remote(t, func(wire.AgentIntentRequest) (int, string) {
		return http.StatusUnprocessableEntity, `{"error":"invalid_request","message":"say more"}`
	})
	var refusal *reasoner.APIError
	if _, err := r.Next(t.Context(), s); !errors.As(err, &refusal) || refusal.Code != "invalid_request" {
		t.Errorf("error %v", err)
	}
	d, err := planner.WithFallback(r, rules.Rules{}).Next(t.Context(), s)
	if err != nil || d.Source != planner.Fallback || d.Fault == nil {
		t.Errorf("%v, %+v", err, d)
	}
}

// If the service repeats a call, the planner asks again with the agent marked
// as stuck.
func TestRemote_RepeatedCall(t *testing.T) {
	const again = `{"status":"ok","tool_name":"read_file","tool_args":{"path":"a.md"}}`
	s := planner.State{Question: "q", Tools: []planner.Tool{tool("read_file", pathSchema)}, Steps: []contextwindow.Record{record(0, "read_file", `{ "path": "a.md" }`, "A")}}
	r, _ := remote(t, func(req wire.AgentIntentRequest) (int, string) {
		if req.AgentState != nil && req.AgentState.Stuck {
			return http.StatusOK, `{"status":"ok","finish":true,"final_text":"It is A."}`
		}
		return http.StatusOK, again
	})
	if d, err := r.Next(t.Context(), s); err != nil || d.Answer != "It is A." {
		t.Errorf("%v, %+v", err, d)
	}
	r, srv := remote(t, says(again))
	if _, err := r.Next(t.Context(), s); !errors.Is(err, planner.ErrRemote) || len(srv.asked) != 2 {
		t.Errorf("error %v, asked %d times", err, len(srv.asked))
	}
	s.Forced = "read_file"
	if d, err := r.Next(t.Context(), s); err != nil || len(d.Calls) != 1 {
		t.Errorf("%v, %+v", err, d)
	}
}

func TestRemoteWithoutTools(t *testing.T) {
	r, srv := remote(t, says(`{"status":"ok","finish":true,"final_text":"So."}`))
	if d, err := r.Next(t.Context(), planner.State{Question: "q"}); err != nil || d.Answer != "So." || !strings.Contains(srv.asked[0], `"stuck":true`) {
		t.Errorf("%v, %+v, asked %s", err, d, srv.asked[0])
	}
}

func TestRemoteCancels(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hang := make(chan struct{})
	r, srv := remote(t, func(wire.AgentIntentRequest) (int, string) {
		cancel()
		<-hang
		return http.StatusOK, `{}`
	})
	_, err := r.Next(ctx, planner.State{Question: "q", Tools: []planner.Tool{tool("read_file", pathSchema)}})
	close(hang)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if id := <-srv.cancelled; id != "c1" {
		t.Errorf("cancelled %q", id)
	}
}

// TestRemote_Context: the service's description of the model's input is in the
// decision, for the agent's traces.
func TestRemote_Context(t *testing.T) {
	r, _ := remote(t, says(`{"status":"ok","finish":true,"final_text":"So.","trace":[{"step":"llm"},
		{"step":"context","context":{"goal":"synthesis","tokens":7,"budget":9,"previews":1,"summarized":2,"dropped":3,"messages":4,"thoughts":5,"steps":6,"tools":20,"tool_names":[`+strings.Repeat(`"`+strings.Repeat("x", 200)+`",`, 19)+`"last"]}}]}`))
	d, err := r.Next(t.Context(), planner.State{Question: "q"})
	want := contextwindow.Meta{Goal: contextwindow.Synthesis, Tokens: 7, Budget: 9, Previews: 1, Summaries: 2, Dropped: 3, History: 4, Thoughts: 5, Steps: 6, Tools: 20}
	if err != nil || d.Shown == nil {
		t.Fatalf("%v, %+v", err, d.Shown)
	}
	if names := d.Shown.ToolNames; len(names) != 16 || len(names[0]) > 140 {
		t.Errorf("%q", names)
	}
	d.Shown.ToolNames = nil
	if !reflect.DeepEqual(*d.Shown, want) {
		t.Errorf("%+v", d.Shown)
	}
}

// TestRemote_NegativeCounts: counts of a service that are wrong do not reach the
// metrics, whose counters panic for them.
func TestRemote_NegativeCounts(t *testing.T) {
	r, _ := remote(t, says(`{"status":"ok","finish":true,"final_text":"So.","trace":[{"step":"llm"},
		{"step":"context","context":{"goal":"synthesis","tokens":-7,"budget":-9,"previews":-1,"summarized":-2,"dropped":-3,"messages":-4,"thoughts":-5,"steps":-6,"tools":-1}}]}`))
	d, err := r.Next(t.Context(), planner.State{Question: "q"})
	if err != nil || d.Shown == nil || !reflect.DeepEqual(*d.Shown, contextwindow.Meta{Goal: contextwindow.Synthesis}) {
		t.Fatalf("%v, %+v", err, d.Shown)
	}
}

// The tokens that the service reports are counted with the context, of both requests for a decision.
func TestRemote_Usage(t *testing.T) {
	r, _ := remote(t, says(`{"status":"ok","finish":false,"tool_name":"read_file","tool_args":{"path":"a.md"},"trace":[],`+
		`"usage":{"input_tokens":10,"output_tokens":2,"cached_tokens":-5,"uncounted":1}}`))
	var meter llm.Meter
	s := planner.State{Question: "q", Session: "s", Tools: []planner.Tool{tool("read_file", pathSchema)}, Steps: []contextwindow.Record{record(0, "read_file", `{"path":"a.md"}`, "A")}}
	if _, err := r.Next(llm.WithMeter(t.Context(), &meter), s); !errors.Is(err, planner.ErrRemote) {
		t.Errorf("error %v, want %v for a call that is repeated", err, planner.ErrRemote)
	}
	want := []llm.Spent{{Usage: llm.Usage{Input: 20, Output: 4}, Uncounted: 2}}
	if got := meter.Spent(); !reflect.DeepEqual(got, want) {
		t.Errorf("spent %+v, want %+v", got, want)
	}
}

// The tokens of a decision that failed are counted, too.
func TestRemote_UsageOfFailure(t *testing.T) {
	const usage = `"usage":{"input_tokens":10,"output_tokens":2}`
	for name, answer := range map[string]struct {
		status int
		body   string
	}{
		"refused":          {http.StatusGatewayTimeout, `{"status":"error","error":"timeout","message":"There was no decision in time.",` + usage + `}`},
		"failed":           {http.StatusOK, `{"status":"error","error":"timeout","message":"There was no decision in time.","trace":[],` + usage + `}`},
		"a tool of no one": {http.StatusOK, `{"status":"ok","finish":false,"tool_name":"fly","trace":[],` + usage + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := remote(t, func(wire.AgentIntentRequest) (int, string) { return answer.status, answer.body })
			var meter llm.Meter
			if d, err := r.Next(llm.WithMeter(t.Context(), &meter), planner.State{Question: "q", Session: "s"}); err == nil {
				t.Errorf("the decision %+v, want an error", d)
			}
			want := []llm.Spent{{Usage: llm.Usage{Input: 10, Output: 2}}}
			if got := meter.Spent(); !reflect.DeepEqual(got, want) {
				t.Errorf("spent %+v, want %+v", got, want)
			}
		})
	}
}
