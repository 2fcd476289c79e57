package llmtest_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/llm/anthropic"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
)

var clock = []llm.Tool{{Name: "get_time", Description: "The time.", InputSchema: json.RawMessage(`{"type":"object"}`)}}

func anthropicModel(t *testing.T, s *llmtest.Server, name string) *anthropic.Model {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return anthropic.New(anthropic.Options{
		BaseURL: s.URL(), Key: "sk-test", Model: name,
		HTTP: &http.Client{Transport: transport}, Retry: llm.Retry{Attempts: 1},
	})
}

// TestMessages checks that the client receives the scripted answer, in pieces
// and in one document.
func TestMessages(t *testing.T) {
	for _, document := range []bool{false, true} {
		turn := llmtest.Turn{
			Thinking: "It is <late>, I think.", Text: "I will look at the clock.",
			Calls:    []llm.ToolCall{{ID: "toolu_1", Name: "get_time", Arguments: json.RawMessage(`{"zone": "Europe/Oslo"}`)}, {Name: "get_time"}},
			Usage:    llm.Usage{Input: 100, Output: 50, Cached: 60, Reasoning: 20},
			Document: document,
		}
		s := llmtest.Start(t, llmtest.Turns(turn), func(s *llmtest.Server) { s.Key = "sk-test" })
		var text, thinking strings.Builder
		r, err := llm.Ask(t.Context(), anthropicModel(t, s, "claude-sonnet-5-5"), llm.Request{
			Messages: []llm.Message{{Role: llm.System, Text: "Be brief."}, {Role: llm.User, Text: "How late is it?"}},
			Tools:    clock, Effort: "low",
		}, func(d llm.Delta) {
			if d.Kind == llm.TextDelta {
				text.WriteString(d.Text)
			} else {
				thinking.WriteString(d.Text)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Message.Text != turn.Text || r.Thinking != turn.Thinking || text.String() != turn.Text || thinking.String() != turn.Thinking {
			t.Errorf("heard %+v", r)
		}
		if r.Usage != turn.Usage || r.Stop != llm.StopTools || r.Model != "claude-sonnet-5-5" || r.ID != "msg_1" {
			t.Errorf("heard %+v", r)
		}
		if c := r.Message.Calls; len(c) != 2 || c[0].ID != "toolu_1" || !sameJSON(c[0].Arguments, turn.Calls[0].Arguments) || string(c[1].Arguments) != "{}" || c[1].ID == "" {
			t.Errorf("heard %+v", c)
		}
		got := s.Requests()[0]
		if got.Effort != "low" || len(got.Tools) != 1 || got.Tools[0].Name != "get_time" || got.MaxTokens <= 0 || got.LastUser() != "How late is it?" || got.Messages[0].Text != "Be brief." {
			t.Errorf("asked %+v", got.Request)
		}
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// TestMessages_ThinkingReturned checks that a turn with thinking is returned with its
// signature, in the recorded request.
func TestMessages_ThinkingReturned(t *testing.T) {
	for _, model := range []string{"claude-opus-5-5", "claude-haiku-4-5"} {
		s := llmtest.Start(t, llmtest.Turns(
			llmtest.Turn{Thinking: "First the clock.", Calls: []llm.ToolCall{{Name: "get_time"}}},
			llmtest.Turn{Text: "Noon."},
		))
		m := anthropicModel(t, s, model)
		req := llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "How late is it?"}}, Tools: clock, Effort: "medium"}
		first, err := llm.Ask(t.Context(), m, req, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, first.Message,
			llm.Message{Role: llm.ToolResult, CallID: first.Message.Calls[0].ID, Text: "12:00"})
		if _, err := llm.Ask(t.Context(), m, req, nil); err != nil {
			t.Fatal(err)
		}
		asked := s.Requests()[1]
		back := asked.Messages[1]
		if !strings.Contains(string(back.Opaque.Data), llmtest.Signature("First the clock.")) || asked.LastResult() != "12:00" {
			t.Errorf("%s: asked %+v", model, asked.Request)
		}
	}
}

// TestMessages_TamperedThinking checks that changed thinking is rejected, and that the
// client continues without it.
func TestMessages_TamperedThinking(t *testing.T) {
	s := llmtest.Start(t, llmtest.Turns(llmtest.Turn{Text: "Noon."}))
	opaque := llm.ProviderState{Provider: "anthropic", Data: json.RawMessage(
		`[{"type":"thinking","thinking":"something else","signature":"` + llmtest.Signature("First the clock.") + `"},{"type":"tool_use","id":"a","name":"get_time","input":{}}]`)}
	r, err := llm.Ask(t.Context(), anthropicModel(t, s, "claude-opus-5-5"), llm.Request{Tools: clock, Messages: []llm.Message{
		{Role: llm.User, Text: "How late is it?"},
		{Role: llm.Assistant, Opaque: opaque, Calls: []llm.ToolCall{{ID: "a", Name: "get_time"}}},
		{Role: llm.ToolResult, CallID: "a", Text: "12:00"},
	}}, nil)
	if err != nil || r.Message.Text != "Noon." {
		t.Fatal(r, err)
	}
	if asked := s.Requests(); len(asked) != 1 || asked[0].Messages[1].Opaque.Provider != "" {
		t.Errorf("recorded %+v", asked)
	}
}

// TestMessages_Refusals checks the requests that the real API rejects, and its
// error texts.
func TestMessages_Refusals(t *testing.T) {
	s := llmtest.Start(t, llmtest.Turns(llmtest.Turn{Status: 529, Code: "overloaded_error", Message: "Overloaded"}))
	call := `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"x","input":{}}]}`
	result := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}`
	for name, c := range map[string]struct{ body, want string }{
		"no tokens":       {`{"model":"m","messages":[{"role":"user","content":"?"}]}`, "max_tokens"},
		"no messages":     {`{"model":"m","max_tokens":1}`, "messages"},
		"assistant first": {`{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":"?"}]}`, "first message"},
		"system role":     {`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"?"},{"role":"system","content":"?"}]}`, "role"},
		"empty text":      {`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`, "non-empty"},
		"no content":      {`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[]}]}`, "content"},
		"budget":          {`{"model":"m","max_tokens":1024,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"?"}]}`, "budget_tokens"},
		"forced":          {`{"model":"m","max_tokens":1,"thinking":{"type":"adaptive"},"tools":[{"name":"x","input_schema":{}}],"tool_choice":{"type":"any"},"messages":[{"role":"user","content":"?"}]}`, "forces tool use"},
		"no result":       {`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"?"},` + call + `]}`, "without a result"},
		"late result": {`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"?"},` + call + `,{"role":"user","content":[{"type":"text","text":"so"},` +
			`{"type":"tool_result","tool_use_id":"a","content":"1"}]}]}`, "no result"},
		"no thinking": {`{"model":"m","max_tokens":2048,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"?"},` + call + `,` + result + `]}`, "Expected `thinking`"},
		"bad input":   {`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"?"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"x","input":"{}"}]},` + result + `]}`, "dictionary"},
		"signature":   {`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"?"},{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"b"}]}]}`, "signature"},
	} {
		status, body := post(t, s, c.body, "2023-06-01")
		if status != http.StatusBadRequest || !strings.Contains(body, c.want) || !strings.Contains(body, `"type":"error"`) {
			t.Errorf("%s: got %d %s", name, status, body)
		}
	}
	if status, _ := post(t, s, `{}`, ""); status != http.StatusBadRequest {
		t.Errorf("without a version: %d", status)
	}
	_, err := llm.Ask(t.Context(), anthropicModel(t, s, "claude-sonnet-5-5"), llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "?"}}}, nil)
	var refusal *llm.Error
	if !errors.As(err, &refusal) || refusal.Status != 529 || refusal.Code != "overloaded_error" {
		t.Errorf("got %v", err)
	}
}

func post(t *testing.T, s *llmtest.Server, body, version string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if version != "" {
		req.Header.Set("anthropic-version", version)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// TestMessages_Truncated checks that a broken connection is reported as an answer cut
// off.
func TestMessages_Truncated(t *testing.T) {
	s := llmtest.Start(t, llmtest.Turns(llmtest.Turn{Text: "one two three four", CutAfter: 5}))
	_, err := llm.Ask(t.Context(), anthropicModel(t, s, "claude-sonnet-5-5"), llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "?"}}}, nil)
	if !errors.Is(err, llm.ErrTruncated) {
		t.Errorf("got %v", err)
	}
}
