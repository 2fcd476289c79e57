package planner_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/llm/openai"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
)

// served returns a planner with a model that is asked over HTTP, with Chat
// Completions.
func served(t *testing.T, script llmtest.Script) (*planner.Model, *llmtest.Server) {
	t.Helper()
	return servedBy(t, openai.Chat, script)
}

func servedBy(t *testing.T, api openai.API, script llmtest.Script) (*planner.Model, *llmtest.Server) {
	t.Helper()
	srv := llmtest.Start(t, script)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	model := openai.New(openai.Options{
		BaseURL: srv.URL() + "/v1", Model: "scripted-1", API: api,
		HTTP: &http.Client{Transport: transport}, Retry: llm.Retry{Attempts: 1},
	})
	return planner.NewModel(planner.ModelOptions{Model: model, Effort: "low", MaxTokens: 777}), srv
}

func toolCall(name, args string) llm.ToolCall {
	return llm.ToolCall{Name: name, Arguments: json.RawMessage(args)}
}

// A complete question over HTTP: a faulty turn, two calls at once, a long
// result, and an answer based on all of it.
func TestModelOverTheWire(t *testing.T) {
	for _, api := range []openai.API{openai.Chat, openai.Responses} {
		t.Run(string(api), func(t *testing.T) { testOverTheWire(t, api) })
	}
}

func testOverTheWire(t *testing.T, api openai.API) {
	m, srv := servedBy(t, api, llmtest.Turns(
		llmtest.Turn{Calls: []llm.ToolCall{toolCall("context_fts_search", `{"q":"x"}`)}},
		llmtest.Turn{Thinking: "both", Text: "I look in two places.", Calls: []llm.ToolCall{
			toolCall("context_fts_search", `{"rationale":"It may be indexed.","query":"x"}`), toolCall("read_file", `{"rationale":"It may be here.","path":"a.md"}`),
		}},
		llmtest.Turn{Text: "I need nothing more."},
		llmtest.Turn{Text: "It is at the END. That is all."},
	))
	var heard strings.Builder
	s := planner.State{
		Question: "Where is it?", Memory: new(planner.Memory),
		Tools: []planner.Tool{tool("read_file", pathSchema), tool("context.fts_search", `{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`)},
		Watch: func(d llm.Delta) {
			if d.Kind == llm.TextDelta {
				heard.WriteString(d.Text)
			}
		},
	}
	d, err := m.Next(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if want := "context.fts_search {\"query\":\"x\"} It may be indexed.\nread_file {\"path\":\"a.md\"} It may be here."; shown(d.Calls) != want || d.Thought != "I look in two places." || d.Thinking != "both" {
		t.Fatalf("%+v", d)
	}
	s.Steps = []contextwindow.Record{{
		Thought: d.Thought, Action: d.Action, Calls: d.Calls, Turn: d.Turn,
		Results: []contextwindow.Result{{Tool: d.Calls[0].Tool, Error: "no index"}, {Tool: d.Calls[1].Tool, Success: true, Text: strings.Repeat("word ", 2000) + "END"}},
	}}
	d, err = m.Next(t.Context(), s)
	if err != nil || d.Answer != "It is at the END. That is all." || d.Conclusion != "It is at the END." || d.Usage.Input == 0 || d.Model == "" {
		t.Fatalf("%v, %+v", err, d)
	}
	if heard.String() != "I look in two places.I need nothing more.It is at the END. That is all." {
		t.Errorf("heard %q", heard.String())
	}
	requests := srv.Requests()
	for i, r := range requests {
		checkRequest(t, r.Request)
		if r.Effort != "low" || r.MaxTokens != 777 || len(r.Tools) != 2 {
			t.Errorf("request %d: effort %q, %d tokens, %d tools", i, r.Effort, r.MaxTokens, len(r.Tools))
		}
	}
	if !strings.Contains(requests[1].LastResult(), "context_fts_search was not called") || !shows(requests[2].Request, "no index") {
		t.Errorf("told %q", requests[1].LastResult())
	}
	if shows(requests[2].Request, "END") || !shows(requests[3].Request, "END") || requests[3].Choice != llm.None {
		t.Errorf("the long result is shown whole for planning, or not for the answer")
	}
	if api == openai.Responses && strings.Count(string(requests[3].Body), `"encrypted_content":"gAAAA`) != 1 {
		t.Errorf("the reasoning is not returned with its calls: %s", requests[3].Body)
	}
}

func TestModelForcedOverTheWire(t *testing.T) {
	m, srv := served(t, llmtest.Turns(llmtest.Turn{Calls: []llm.ToolCall{toolCall("read_file", `{"path":"a.md"}`)}}))
	d, err := m.Next(t.Context(), planner.State{Question: "?", Forced: "read_file", Tools: []planner.Tool{tool("read_file", pathSchema)}})
	if err != nil || d.Source != planner.ByForce || srv.Requests()[0].Choice != "read_file" {
		t.Errorf("%v, %+v, choice %q", err, d, srv.Requests()[0].Choice)
	}
}

func TestModelRefusedOverTheWire(t *testing.T) {
	m, _ := served(t, llmtest.Turns(llmtest.Turn{Status: 400, Code: "context_length_exceeded", Message: "too long"}))
	_, err := m.Next(t.Context(), planner.State{Question: "?"})
	var refusal *llm.Error
	if !errors.As(err, &refusal) || refusal.Status != 400 {
		t.Errorf("error %v", err)
	}
	cut := llmtest.Turn{Text: "It is a long story.", CutAfter: 2}
	m, _ = served(t, llmtest.Turns(cut, cut))
	_, err = m.Next(t.Context(), planner.State{Question: "?"})
	if !errors.Is(err, llm.ErrTruncated) {
		t.Errorf("error %v", err)
	}
}

// The rules decide if the model does not.
func TestFallback(t *testing.T) {
	m, _ := served(t, llmtest.Turns(
		llmtest.Turn{Calls: []llm.ToolCall{toolCall("nowhere", `{}`)}, Usage: llm.Usage{Input: 7, Output: 1}},
		llmtest.Turn{Status: 401, Code: "invalid_api_key", Message: "no"},
		llmtest.Turn{Text: "It is so."},
	))
	both := planner.WithFallback(m, rules.Rules{})
	s := planner.State{Question: "find auth logic", Tools: []planner.Tool{tool("context.fts_search", `{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`)}}
	d, err := both.Next(t.Context(), s)
	var refusal *llm.Error
	if err != nil || d.Source != planner.Fallback || !errors.As(d.Fault, &refusal) || len(d.Calls) != 1 || d.Calls[0].Tool != "context.fts_search" {
		t.Errorf("%v, %+v", err, d)
	}
	if d.Usage.Input != 7 || d.Model == "" || d.Provider == "" {
		t.Errorf("what the model took is not there: %+v", d)
	}
	d, err = both.Next(t.Context(), s)
	if err != nil || d.Source != planner.ByModel || d.Fault != nil || d.Answer != "It is so." {
		t.Errorf("%v, %+v", err, d)
	}
	s.Forced = "nowhere"
	_, err = both.Next(t.Context(), s)
	if !errors.Is(err, planner.ErrForced) || !strings.Contains(err.Error(), "and then") {
		t.Errorf("error %v", err)
	}
	s.Forced = "context.fts_search" // the script is over, so the server refuses
	d, err = both.Next(t.Context(), s)
	if err != nil || d.Source != planner.Fallback || d.Calls[0].Tool != "context.fts_search" {
		t.Errorf("%v, %+v", err, d)
	}
}

func TestFallback_ContextEnded(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	m, srv := served(t, llmtest.Turns(llmtest.Turn{Hang: hang}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := planner.WithFallback(m, rules.Rules{}).Next(ctx, planner.State{Question: "q", Tools: []planner.Tool{tool("a", "")}})
		done <- err
	}()
	if _, err := srv.Asked(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, ctx.Err()) || strings.Contains(err.Error(), "and then") {
		t.Errorf("error %v", err)
	}
}

// A call that a server leaves in the text and that cannot be read is no answer: the model is told, and if it
// repeats it, the decision fails with the reason.
func TestModelBrokenCallOverTheWire(t *testing.T) {
	broken := llmtest.Turn{Text: "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.md}\n</tool_call>"}
	s := planner.State{Question: "?", Tools: []planner.Tool{tool("read_file", pathSchema)}}
	for name, second := range map[string]llmtest.Turn{
		"corrected": {Text: `<tool_call>{"name": "read_file", "arguments": {"path": "a.md"}}</tool_call>`},
		"repeated":  broken,
	} {
		t.Run(name, func(t *testing.T) {
			m, srv := served(t, llmtest.Turns(broken, second))
			d, err := m.Next(t.Context(), s)
			requests := srv.Requests()
			if len(requests) != 2 {
				t.Fatalf("%d requests, want 2: %+v, %v", len(requests), d, err)
			}
			if told := requests[1].LastResult(); !strings.Contains(told, "read_file was not called") {
				t.Errorf("the model was told %q, want that its call was not made", told)
			}
			if name == "repeated" && (!errors.Is(err, planner.ErrBadCalls) || d.Answer != "") || name == "corrected" && (err != nil || len(d.Calls) != 1) {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
}
