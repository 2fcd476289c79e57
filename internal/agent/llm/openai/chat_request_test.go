package openai

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

func opaque(provider, data string) llm.ProviderState {
	return llm.ProviderState{Provider: provider, Data: json.RawMessage(data)}
}

func callOf(id, name, args string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(args)}
}

// conversation has three questions: one with tools, one without, and a new one.
func conversation(provider, thought, other string) []llm.Message {
	return []llm.Message{
		{Role: llm.System, Text: "Be brief."},
		{Role: llm.User, Text: "What is in <a>?"},
		{Role: llm.Assistant, Calls: []llm.ToolCall{callOf("c1", "list", `{"path":"a"}`), callOf("c2", "now", ``)}, Opaque: opaque(provider, thought)},
		{Role: llm.ToolResult, CallID: "c1", Text: "x.txt"},
		{Role: llm.ToolResult, CallID: "c2", Text: "no clock", IsError: true},
		{Role: llm.Assistant, Text: "One file.", Opaque: opaque(provider, thought)},
		{Role: llm.User, Text: "Thanks."},
		{Role: llm.Assistant, Text: "Welcome.", Opaque: opaque(provider, other)},
		{Role: llm.User, Text: "And b?"},
	}
}

var tools = []llm.Tool{
	{Name: "list", Description: "Lists a folder.", InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
	{Name: "now"},
}

func TestRequests(t *testing.T) {
	question := []llm.Message{{Role: llm.User, Text: "q"}}
	for name, tc := range map[string]struct {
		o   Options
		req llm.Request
	}{
		"plain":    {Options{Model: "gpt-5.1"}, llm.Request{Messages: question}},
		"official": {Options{Model: "gpt-5.1"}, llm.Request{Messages: question, Tools: tools, Choice: "list", MaxTokens: 900, Effort: "low"}},
		"compatible": {
			Options{BaseURL: "http://localhost:11434/v1", Model: "qwen3:8b"},
			llm.Request{Messages: question, Tools: tools[:1], Choice: llm.Required, MaxTokens: 900},
		},
		"schema":             {Options{Model: "m"}, llm.Request{Messages: question, Schema: json.RawMessage(`{"type":"object"}`)}},
		"no-tools-no-choice": {Options{Model: "m"}, llm.Request{Messages: question, Choice: llm.Required}},
		"choice-none":        {Options{Model: "m"}, llm.Request{Messages: question, Tools: tools[1:], Choice: llm.None}},
		// DeepSeek requires the thinking of every question with tools, in all
		// later requests, and no other.
		"deepseek": {
			Options{BaseURL: "https://api.deepseek.com", Model: "deepseek-v4-pro"},
			llm.Request{Messages: conversation("deepseek", `{"reasoning_content":"I list it."}`, `{"reasoning_content":"Polite."}`), Tools: tools},
		},
		"ollama": {
			Options{BaseURL: "http://localhost:11434/v1", Model: "qwen3:8b"},
			llm.Request{Messages: conversation("openai-compatible", `{"reasoning":"I list it."}`, `{"reasoning":"Polite."}`), Tools: tools},
		},
		"openrouter": {
			Options{BaseURL: "https://openrouter.ai/api/v1", Model: "anthropic/claude-sonnet-4.5"},
			llm.Request{Messages: conversation("openrouter",
				`{"reasoning_details":[{"type":"reasoning.text","text":"I","signature":"s==","future":900719925474099312345},{"type":"reasoning.encrypted","data":"e=="}]}`,
				`{"reasoning_details":[{"type":"reasoning.summary","summary":"Polite."}]}`)},
		},
		"gemini": {
			Options{BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", Model: "gemini-3-pro-preview"},
			llm.Request{Messages: conversation("openai-compatible", `{"extra_content":{"c1":{"google":{"thought_signature":"s=="}}}}`, `{}`)},
		},
		"another-providers-thinking": {
			Options{Model: "gpt-5.1"},
			llm.Request{Messages: conversation("anthropic", `[{"type":"thinking","thinking":"t"}]`, `[]`)},
		},
		"broken-thinking": {
			Options{Model: "gpt-5.1"},
			llm.Request{Messages: conversation("openai", `[]`, `{"reasoning_content":7}`)},
		},
		"broken-arguments": {Options{Model: "m"}, llm.Request{Messages: []llm.Message{
			question[0],
			{Role: llm.Assistant, Text: "So:", Calls: []llm.ToolCall{
				callOf("c1", "a", `"{\"path\":"`), callOf("c2", "b", `[1]`), callOf("c3", "c", `{"x"`), callOf("c4", "d", ` {"y":1} `),
			}},
			{Role: llm.ToolResult, CallID: "c1", Text: "error: arguments are no object", IsError: true},
			{Role: llm.ToolResult, CallID: "c2"}, {Role: llm.ToolResult, CallID: "c3"}, {Role: llm.ToolResult, CallID: "c4"},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, filepath.Join("testdata", "golden", "request-"+name+".json"), chatBodyOf(New(tc.o), tc.req))
		})
	}
}

func chatBodyOf(m *Model, req llm.Request) chatRequest {
	return m.chatBody(req, variant(m.variant.Load()))
}

func usesNewTokens(m *Model) bool { return variant(m.variant.Load()).has(newTokens) }

func TestGenerate_Request(t *testing.T) {
	req := llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "q"}}, Tools: tools, MaxTokens: 5}
	var got chatRequest
	var header http.Header
	done := answers("text/event-stream", []byte("data: {\"choices\":[{\"delta\":{}}]}\n\ndata: [DONE]\n\n"))
	h := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" {
			t.Errorf("path %s", r.URL.Path)
		}
		header, got = r.Header.Clone(), chatRequest{}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		done(w, r)
	}
	m := serve(t, h)
	if _, err := llm.Ask(t.Context(), m, req, nil); err != nil {
		t.Fatal(err)
	}
	if a := header.Get("Authorization"); a != "Bearer sk-secret-key" {
		t.Errorf("authorization %q", a)
	}
	if want := chatBodyOf(m, req); !reflect.DeepEqual(got, want) {
		t.Errorf("sent %+v, want %+v", got, want)
	}
	if _, err := llm.Ask(t.Context(), serve(t, h, func(o *Options) { o.Key = "" }), req, nil); err != nil {
		t.Fatal(err)
	}
	if _, ok := header["Authorization"]; ok {
		t.Error("a key that is none was sent")
	}
}

func TestNames(t *testing.T) {
	for base, want := range map[string]struct {
		provider  string
		newTokens bool
	}{
		"":                                        {"openai", true},
		"https://api.openai.com/v1":               {"openai", true},
		"https://eu.API.openai.com/v1":            {"openai", true},
		"https://api.openai.com.evil/v1":          {"openai-compatible", false},
		"https://notapi.openai.com/v1":            {"openai-compatible", false},
		"https://api.deepseek.com":                {"deepseek", false},
		"https://openrouter.ai/api/v1":            {"openrouter", false},
		"http://localhost:1234/v1":                {"openai-compatible", false},
		"http://\x7f":                             {"openai-compatible", false},
		"https://acme.openai.azure.com/openai/v1": {"openai-compatible", true},
	} {
		m := New(Options{BaseURL: base, Model: "m"})
		if m.Provider() != want.provider || usesNewTokens(m) != want.newTokens || m.Name() != "m" {
			t.Errorf("%q: %s %v", base, m.Provider(), usesNewTokens(m))
		}
	}
	if p := New(Options{Provider: "house"}).Provider(); p != "house" {
		t.Errorf("provider %s", p)
	}
	m := New(Options{})
	if a, b := m.newID(), m.newID(); a == b || len(a) < 20 {
		t.Errorf("made up ids %s and %s", a, b)
	}
}
