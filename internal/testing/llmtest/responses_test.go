package llmtest_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/llm/openai"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
)

func responsesModel(t *testing.T, s *llmtest.Server) *openai.Model {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return openai.New(openai.Options{
		BaseURL: s.URL() + "/v1", Key: "sk-test", Model: "gpt-6.1-terra", API: openai.Responses,
		HTTP: &http.Client{Transport: transport}, Retry: llm.Retry{Attempts: 1},
	})
}

// TestResponses checks that the client receives the scripted answer, in pieces
// and in one document.
func TestResponses(t *testing.T) {
	for name, turn := range map[string]llmtest.Turn{
		"text":     {Text: "It is noon."},
		"thinking": {Thinking: "It is <late>, I think.", Text: "It is noon."},
		"calls": {Thinking: "First the clock.", Text: "I will look at the clock.", Stop: llm.StopTools,
			Calls: []llm.ToolCall{{ID: "c1", Name: "get_time", Arguments: json.RawMessage(`{"zone":"Europe/Oslo"}`)}, {ID: "c2", Name: "get_time", Arguments: json.RawMessage(`{}`)}}},
		"refusal": {Text: "I will not.", Stop: llm.StopRefusal},
		"length":  {Thinking: "It is", Text: "It", Stop: llm.StopLength},
	} {
		for _, document := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", in one document"}[document], func(t *testing.T) {
				turn.Document, turn.Usage = document, llm.Usage{Input: 100, Output: 50, Cached: 60, Reasoning: 20}
				s := llmtest.Start(t, llmtest.Turns(turn), func(s *llmtest.Server) { s.Key = "sk-test" })
				var h heard
				r, err := llm.Ask(t.Context(), responsesModel(t, s), llm.Request{
					Messages: []llm.Message{{Role: llm.System, Text: "Be brief."}, {Role: llm.User, Text: "How late is it?"}},
					Tools:    clock, Effort: "low", MaxTokens: 5000, Choice: "get_time",
				}, h.on)
				if err != nil {
					t.Fatal(err)
				}
				if r.Message.Text != turn.Text || r.Thinking != turn.Thinking || strings.Join(h.text, "") != turn.Text || strings.Join(h.thinking, "") != turn.Thinking {
					t.Errorf("got %+v, deltas %q", r, h)
				}
				want := turn.Stop
				if want == "" {
					want = llm.StopEnd
				}
				if r.Usage != turn.Usage || r.Stop != want || r.Model != "gpt-6.1-terra" || r.ID != "resp_1" {
					t.Errorf("got %+v", r)
				}
				if !slices.EqualFunc(r.Message.Calls, turn.Calls, func(a, b llm.ToolCall) bool {
					return a.ID == b.ID && a.Name == b.Name && sameJSON(a.Arguments, b.Arguments)
				}) {
					t.Errorf("got %+v", r.Message.Calls)
				}
				q := s.Requests()[0]
				if q.Effort != "low" || q.MaxTokens != 5000 || q.Choice != "get_time" || len(q.Tools) != 1 || q.LastUser() != "How late is it?" || q.Messages[0].Text != "Be brief." {
					t.Errorf("asked %+v", q.Request)
				}
			})
		}
	}
}

// TestResponses_ReasoningReturned checks that the reasoning of each step is
// returned with its calls.
func TestResponses_ReasoningReturned(t *testing.T) {
	call := func(id string) []llm.ToolCall { return []llm.ToolCall{{ID: id, Name: "get_time"}} }
	s := llmtest.Start(t, llmtest.Turns(
		llmtest.Turn{Thinking: "First the clock.", Text: "I look.", Calls: call("c1")},
		llmtest.Turn{Calls: call("c2")},
		llmtest.Turn{Thinking: "Done.", Text: "Noon."},
		llmtest.Turn{Text: "Bye."},
	))
	m := responsesModel(t, s)
	req := llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "How late is it?"}}, Tools: clock}
	for step := range 4 {
		r, err := llm.Ask(t.Context(), m, req, nil)
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		req.Messages = append(req.Messages, r.Message)
		for _, c := range r.Message.Calls {
			req.Messages = append(req.Messages, llm.Message{Role: llm.ToolResult, CallID: c.ID, Text: "12:00"})
		}
		if len(r.Message.Calls) == 0 {
			req.Messages = append(req.Messages, llm.Message{Role: llm.User, Text: "Thanks."})
		}
	}
	last := s.Requests()[3]
	if n := strings.Count(string(last.Body), `"type":"reasoning"`); n != 2 || !strings.Contains(string(last.Body), `"encrypted_content":"gAAAA`) {
		t.Errorf("%d reasoning items in %s", n, last.Body)
	}
	if a := last.Messages[1]; a.Opaque.Provider != "openai" || a.Text != "I look." || len(a.Calls) != 1 {
		t.Errorf("recorded %+v", a)
	}
	if len(s.Requests()) != 4 { // none was sent again
		t.Errorf("%d requests", len(s.Requests()))
	}
}

func TestResponses_Failed(t *testing.T) {
	s := llmtest.Start(t, llmtest.Turns(llmtest.Turn{Text: "It is", Fail: true, Code: "server_error", Message: "sorry"}))
	var h heard
	_, err := llm.Ask(t.Context(), responsesModel(t, s), ask("q"), h.on)
	var e *llm.Error
	if !errors.As(err, &e) || e.Status != 0 || e.Code != "server_error" || e.Message != "sorry" || strings.Join(h.text, "") != "It is" {
		t.Errorf("%v after %q", err, h.text)
	}
}

func TestResponses_Schema(t *testing.T) {
	s := llmtest.Start(t, llmtest.Turns(llmtest.Turn{Text: `{"hour":12}`}))
	m := responsesModel(t, s)
	req := ask("How late is it?")
	req.Schema = json.RawMessage(`{"type":"object","properties":{"hour":{"type":"integer"}},"required":["hour"],"additionalProperties":false}`)
	if r, err := llm.Ask(t.Context(), m, req, nil); err != nil || r.Message.Text != `{"hour":12}` || !sameJSON(s.Requests()[0].Schema, req.Schema) {
		t.Errorf("%q %v", r.Message.Text, err)
	}
	req.Schema = json.RawMessage(`{"type":"object"}`)
	if _, err := llm.Ask(t.Context(), m, req, nil); err == nil || !strings.Contains(err.Error(), "additionalProperties") {
		t.Error(err)
	}
}

// TestResponses_InvalidRequests checks the rules of the API, one by one.
func TestResponses_InvalidRequests(t *testing.T) {
	const (
		user      = `{"role":"user","content":"q"}`
		reasoning = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAAeA=="}`
		call      = `{"type":"function_call","id":"fc_1_0_after_rs_1","call_id":"c","name":"f","arguments":"{}"}`
		output    = `{"type":"function_call_output","call_id":"c","output":"r"}`
		tool      = `{"type":"function","name":"f","parameters":{"type":"object"},"strict":false}`
	)
	input := func(items ...string) string {
		return `{"model":"m","store":false,"input":[` + strings.Join(items, ",") + `]}`
	}
	with := func(fields string) string {
		return `{"model":"m","store":false,"input":"q",` + fields + `}`
	}
	for name, tc := range map[string]struct {
		body   string
		status int
		code   any
		want   string
	}{
		"a text":                     {with(`"stream":false`), 200, nil, ""},
		"a turn":                     {input(user, reasoning, call, output), 200, nil, ""},
		"an output after a message":  {input(user, reasoning, call, user, output), 200, nil, ""},
		"no ids":                     {input(user, strings.Replace(call, `"id":"fc_1_0_after_rs_1",`, "", 1), output), 200, nil, ""},
		"no JSON":                    {`{`, 400, nil, "could not parse"},
		"no model":                   {`{"input":"q","store":false}`, 400, "missing_required_parameter", "'model'"},
		"no input":                   {`{"model":"m","store":false}`, 400, "missing_required_parameter", "'input'"},
		"stored":                     {`{"model":"m","input":"q"}`, 400, "invalid_value", "'store' has to be false"},
		"messages of chat":           {with(`"messages":[]`), 400, "unknown_parameter", "Unknown parameter: 'messages'."},
		"tokens of chat":             {with(`"max_tokens":50`), 400, "unknown_parameter", "'max_tokens'"},
		"effort of chat":             {with(`"reasoning_effort":"low"`), 400, "unknown_parameter", "'reasoning_effort'"},
		"another effort":             {with(`"reasoning":{"effort":"huge"}`), 400, "invalid_value", "Invalid value: 'huge'"},
		"few tokens":                 {with(`"max_output_tokens":5`), 400, "integer_below_min_value", "below minimum"},
		"another include":            {with(`"include":["thoughts"]`), 400, "invalid_value", "'thoughts'"},
		"a tool of chat":             {with(`"tools":[{"type":"function","function":{"name":"f"}}]`), 400, "unknown_parameter", "'tools[0].function'"},
		"a tool without a name":      {with(`"tools":[{"type":"function"}]`), 400, "missing_required_parameter", "'tools[0].name'"},
		"a strict tool":              {with(`"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]`), 400, "invalid_function_parameters", "additionalProperties"},
		"a choice without tools":     {with(`"tool_choice":"required"`), 400, nil, "must be specified with 'tools'"},
		"a choice of chat":           {with(`"tools":[` + tool + `],"tool_choice":{"type":"function","function":{"name":"f"}}`), 400, "unknown_parameter", "'tool_choice.function'"},
		"a choice of another tool":   {with(`"tools":[` + tool + `],"tool_choice":{"type":"function","name":"g"}`), 400, nil, "not found in 'tools'"},
		"a format of chat":           {with(`"response_format":{"type":"json_object"}`), 400, "unknown_parameter", "'response_format'"},
		"a format without a name":    {with(`"text":{"format":{"type":"json_schema","schema":{}}}`), 400, "missing_required_parameter", "text.format.name"},
		"an unknown item":            {input(`{"type":"tool_result"}`), 400, "invalid_value", "'tool_result'"},
		"a role of chat":             {input(`{"role":"tool","content":"r"}`), 400, "invalid_value", "'tool'"},
		"a part of chat":             {input(`{"role":"user","content":[{"type":"text","text":"q"}]}`), 400, "invalid_value", "Invalid value: 'text'"},
		"an assistant's input":       {input(user, `{"role":"assistant","content":[{"type":"input_text","text":"q"}]}`), 400, "invalid_value", "'input_text'"},
		"calls in a message":         {input(user, `{"role":"assistant","content":"x","tool_calls":[]}`), 400, "unknown_parameter", "'input[1].tool_calls'"},
		"a status of reasoning":      {input(user, strings.Replace(reasoning, `}`, `,"status":"completed"}`, 1), call, output), 400, "unknown_parameter", "'input[1].status'"},
		"an output without a call":   {input(user, output), 400, nil, "No tool call found for function call output with call_id c."},
		"an output before its call":  {input(user, output, reasoning, call), 400, nil, "No tool call found"},
		"two outputs":                {input(user, reasoning, call, output, output), 400, nil, "No tool call found"},
		"a call without an output":   {input(user, reasoning, call), 400, nil, "No tool output found for function call c."},
		"two calls with one id":      {input(user, reasoning, call, call, output), 400, nil, "Duplicate"},
		"a call without arguments":   {input(user, `{"type":"function_call","call_id":"c","name":"f"}`, output), 400, "missing_required_parameter", "'arguments'"},
		"an id of a call":            {input(user, strings.Replace(call, "fc_1_0_after_rs_1", "call_1", 1), output), 400, "invalid_value", "begins with 'fc'"},
		"dropped reasoning":          {input(user, call, output), 400, nil, "without its required 'reasoning' item: 'rs_1'"},
		"reasoning alone":            {input(user, reasoning), 400, nil, "without its required following item"},
		"reasoning before a message": {input(user, reasoning, user), 400, nil, "without its required following item"},
		"reasoning not encrypted":    {input(user, `{"type":"reasoning","id":"rs_1","summary":[]}`, call, output), 404, nil, "Items are not persisted"},
		"changed reasoning":          {input(user, strings.Replace(reasoning, "gAAAA", "hello", 1), call, output), 400, "invalid_encrypted_content", "could not be verified"},
		"reasoning without summary":  {input(user, strings.Replace(reasoning, `"summary":[],`, "", 1), call, output), 400, "missing_required_parameter", "summary"},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(func(llmtest.Request) llmtest.Turn { return llmtest.Turn{Text: "fine"} })
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/responses", strings.NewReader(tc.body)))
			body, _ := io.ReadAll(w.Body)
			if w.Code != tc.status || !strings.Contains(string(body), tc.want) {
				t.Fatalf("%d %s", w.Code, body)
			}
			var answer struct {
				Error *struct{ Code any }
			}
			if err := json.Unmarshal(body, &answer); err != nil || (answer.Error != nil) != (tc.status != 200) || answer.Error != nil && tc.code != nil && answer.Error.Code != tc.code {
				t.Errorf("%v %s", err, body)
			}
		})
	}
}
