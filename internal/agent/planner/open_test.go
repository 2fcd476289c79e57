package planner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
)

// environment returns a Getenv.
func environment(pairs ...string) func(string) string {
	m := make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

func open(t *testing.T, o planner.Options) *planner.Opened {
	t.Helper()
	o.Rules = rules.Rules{}
	m, err := planner.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestOpen_Planner(t *testing.T) {
	for name, test := range map[string]struct {
		options           planner.Options
		planner, approach string
	}{
		"nothing":                        {planner.Options{}, "rules.Rules", "rules"},
		"no key in the environment":      {planner.Options{Getenv: environment("MEUP_MODEL_KEY", "k")}, "rules.Rules", "rules"},
		"a key in the environment":       {planner.Options{Getenv: environment("OPENAI_API_KEY", "k")}, "*planner.Model", "openai:gpt-6.1-terra"},
		"two keys":                       {planner.Options{Getenv: environment("OPENAI_API_KEY", "k", "ANTHROPIC_API_KEY", "k")}, "*planner.Model", "anthropic:claude-sonnet-5-5"},
		"rules, whatever the key":        {planner.Options{ModelName: "rules", Getenv: environment("OPENAI_API_KEY", "k")}, "rules.Rules", "rules"},
		"rules behind rules":             {planner.Options{RulesFallback: true}, "rules.Rules", "rules"},
		"a model without a key":          {planner.Options{ModelName: "ollama:qwen3"}, "*planner.Model", "ollama:qwen3"},
		"a model elsewhere":              {planner.Options{ModelName: "openai:x", BaseURL: "http://127.0.0.1:1"}, "*planner.Model", "openai:x"},
		"a model, rules behind":          {planner.Options{ModelName: "ollama:qwen3", RulesFallback: true}, "*planner.fallback", "ollama:qwen3"},
		"a key, rules behind":            {planner.Options{RulesFallback: true, Getenv: environment("OPENAI_API_KEY", "k")}, "*planner.fallback", "openai:gpt-6.1-terra"},
		"a service":                      {planner.Options{Reasoner: "http://127.0.0.1:1"}, "*planner.Remote", "reasoner"},
		"a service, whatever the key":    {planner.Options{Reasoner: "http://127.0.0.1:1", Getenv: environment("OPENAI_API_KEY", "k")}, "*planner.Remote", "reasoner"},
		"a service, rules behind":        {planner.Options{Reasoner: "http://127.0.0.1:1", RulesFallback: true}, "*planner.fallback", "reasoner"},
		"a queue":                        {planner.Options{Reasoner: "nats://127.0.0.1:1"}, "*planner.Remote", "reasoner"},
		"a transport in the environment": {planner.Options{Getenv: environment("REASONING_TRANSPORT", "nats", "OPENAI_API_KEY", "k")}, "*planner.Remote", "reasoner"},
		"a service in the environment":   {planner.Options{Getenv: environment("REASONING_API_URL", "http://127.0.0.1:1")}, "*planner.Remote", "reasoner"},
		"a model beside the environment": {planner.Options{ModelName: "ollama:qwen3", Getenv: environment("REASONING_TRANSPORT", "nats")}, "*planner.Model", "ollama:qwen3"},
		"a model that others pay for":    {planner.Options{ModelName: "openrouter:a/b", Getenv: environment("OPENROUTER_API_KEY", "k")}, "*planner.Model", "openrouter:a/b"},
		"a key for whichever is chosen":  {planner.Options{ModelName: "deepseek:x", Getenv: environment("MEUP_MODEL_KEY", "k")}, "*planner.Model", "deepseek:x"},
	} {
		m := open(t, test.options)
		if got := fmt.Sprintf("%T", m.Decider); got != test.planner || m.Approach != test.approach {
			t.Errorf("%s: %s called %q, want %s called %q", name, got, m.Approach, test.planner, test.approach)
		}
	}
}

func TestOpen_InvalidOptions(t *testing.T) {
	for name, test := range map[string]struct {
		options planner.Options
		want    string
	}{
		"a base URL without a model":    {planner.Options{BaseURL: "http://127.0.0.1:1"}, "a base URL is of no use without the model's name"},
		"a base URL and a key":          {planner.Options{BaseURL: "http://127.0.0.1:1", Getenv: environment("OPENAI_API_KEY", "k")}, "a base URL is of no use without the model's name"},
		"a service and a model":         {planner.Options{Reasoner: "http://127.0.0.1:1", ModelName: "ollama:qwen3"}, "name it, or a model, not both"},
		"a service and a model's URL":   {planner.Options{Reasoner: "http://127.0.0.1:1", BaseURL: "http://127.0.0.1:2"}, "name it, or a model, not both"},
		"a service nowhere":             {planner.Options{Reasoner: "nowhere"}, "open reasoning service: "},
		"mongo":                         {planner.Options{Getenv: environment("REASONING_TRANSPORT", "mongo")}, "REASONING_TRANSPORT=mongo is not supported: the queue is on NATS; set REASONING_TRANSPORT=nats"},
		"mongo and an address":          {planner.Options{Reasoner: "nats://127.0.0.1:1", Getenv: environment("REASONING_TRANSPORT", "mongo")}, "is not supported"},
		"another transport":             {planner.Options{Reasoner: "nats://127.0.0.1:1", Getenv: environment("REASONING_TRANSPORT", "http")}, "REASONING_TRANSPORT=http does not fit an address that begins with nats://"},
		"a wrong timeout":               {planner.Options{Reasoner: "http://127.0.0.1:1", Getenv: environment("REASONING_API_TIMEOUT_MS", "5s")}, "REASONING_API_TIMEOUT_MS"},
		"a model of nobody":             {planner.Options{ModelName: "qwen3"}, "PROVIDER:NAME"},
		"a model of an unknown company": {planner.Options{ModelName: "acme:qwen3"}, `there is no provider "acme"`},
		"a model without its key":       {planner.Options{ModelName: "openai:x", Getenv: environment("ANTHROPIC_API_KEY", "k")}, "set OPENAI_API_KEY"},
	} {
		if m, err := planner.Open(test.options); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, %v; want %q", name, m, err, test.want)
		}
	}
}

var echo = planner.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}}}`)}

// result is the state after one call whose result is a text.
func result(text string) planner.State {
	return planner.State{
		Question: "how long is it?", Tools: []planner.Tool{echo}, Instructions: "Be brief.", Session: "question",
		Steps: []contextwindow.Record{{
			Action: contextwindow.UseTools, Calls: []contextwindow.Call{{Tool: "echo", Arguments: json.RawMessage(`{"message":"x"}`)}},
			Results: []contextwindow.Result{{Tool: "echo", Success: true, Text: text}},
		}},
	}
}

func TestAModelIsAskedAsTheOptionsSay(t *testing.T) {
	server := llmtest.Start(t, llmtest.Turns(llmtest.Turn{Text: "Two lines."}), func(s *llmtest.Server) { s.Key = "sk-any" })
	m := open(t, planner.Options{
		ModelName: "openai:scripted", BaseURL: server.URL(), ModelOptions: planner.ModelOptions{Effort: "low", MaxTokens: 321}, Getenv: environment("MEUP_MODEL_KEY", "sk-any"),
	})
	d, err := m.Next(t.Context(), result("two\nlines"))
	if err != nil || d.Answer != "Two lines." || d.Source != planner.ByModel || d.Model != "scripted" {
		t.Fatalf("%+v, %v", d, err)
	}
	r := server.Requests()[0]
	if r.Model != "scripted" || r.Effort != "low" || r.MaxTokens != 321 {
		t.Errorf("model %q was asked with effort %q for %d tokens", r.Model, r.Effort, r.MaxTokens)
	}
	if !strings.Contains(string(r.Body), "Be brief.") || !strings.Contains(string(r.Body), `two\nlines`) {
		t.Errorf("asked %s", r.Body)
	}
}

func TestLongResultsAreSummedUpIfTheOperatorWantsIt(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		server := llmtest.Start(t, func(r llmtest.Request) llmtest.Turn {
			if len(r.Tools) == 0 && r.N == 1 {
				return llmtest.Turn{Text: "a great many lines"}
			}
			return llmtest.Turn{Text: "Many."}
		})
		summarizer := ""
		if wanted {
			summarizer = "openai:small"
		}
		m := open(t, planner.Options{ModelName: "openai:scripted", BaseURL: server.URL(), SummarizationModel: summarizer, ModelOptions: planner.ModelOptions{Budget: 8000}})
		if _, err := m.Next(t.Context(), result(strings.Repeat("a line of many\n", 5000))); err != nil {
			t.Fatal(err)
		}
		shown, summarized := 0, 0 // requests with the summary, and for one
		for _, r := range server.Requests() {
			if strings.Contains(string(r.Body), "a great many lines") {
				shown++
			}
			if r.Model == "small" {
				summarized++
			}
			if len(r.Body) > 200_000 {
				t.Errorf("summarize %t: a request of %d bytes", wanted, len(r.Body))
			}
		}
		if (shown > 0) != wanted || (summarized > 0) != wanted {
			t.Errorf("summarize %t: of %d requests %d show the summary, %d are for one", wanted, len(server.Requests()), shown, summarized)
		}
	}
}

// The share of the window is applied: with a smaller share the model receives
// less.
func TestOpen_Utilization(t *testing.T) {
	sizes := make(map[contextwindow.Utilization]int)
	for _, share := range []contextwindow.Utilization{contextwindow.Full, contextwindow.Low} {
		server := llmtest.Start(t, llmtest.Turns(llmtest.Turn{Text: "Many."}, llmtest.Turn{Text: "Many."}))
		m := open(t, planner.Options{ModelName: "openai:scripted", BaseURL: server.URL(), ModelOptions: planner.ModelOptions{Budget: 20_000, Utilization: share}})
		if _, err := m.Next(t.Context(), result(strings.Repeat("a line of many\n", 2000))); err != nil {
			t.Fatal(err)
		}
		all := server.Requests()
		sizes[share] = len(all[len(all)-1].Body) // the request for the answer
	}
	if sizes[contextwindow.Low] >= sizes[contextwindow.Full] {
		t.Errorf("requests of %v bytes", sizes)
	}
}

// A small share of a small window has room for the instructions and a question.
func TestOpen_SmallWindow(t *testing.T) {
	for _, window := range []int{planner.MinWindow, 8000} {
		for _, share := range []contextwindow.Utilization{contextwindow.Full, contextwindow.Half, contextwindow.Low} {
			server := llmtest.Start(t, llmtest.Turns(llmtest.Turn{Text: "Two."}))
			m := open(t, planner.Options{ModelName: "openai:scripted", BaseURL: server.URL(), ModelOptions: planner.ModelOptions{Budget: window, Utilization: share}})
			if _, err := m.Next(t.Context(), result("two lines")); err != nil {
				t.Errorf("%d tokens, %s: %v", window, share, err)
			}
		}
	}
}

func TestRulesDecideBehindAModelThatDoesNot(t *testing.T) {
	for _, behind := range []bool{false, true} {
		server := llmtest.Start(t, llmtest.Turns(llmtest.Turn{Status: http.StatusForbidden, Message: "no credit"}))
		m := open(t, planner.Options{ModelName: "openai:scripted", BaseURL: server.URL(), RulesFallback: behind})
		d, err := m.Next(t.Context(), result("two lines"))
		var refused *llm.Error
		switch {
		case !behind && !errors.As(err, &refused):
			t.Errorf("without rules: %+v, %v", d, err)
		case behind && (err != nil || d.Source != planner.Fallback || !errors.As(d.Fault, &refused) || !strings.Contains(d.Answer, "two lines")):
			t.Errorf("with rules behind: %+v, %v", d, err)
		}
	}
}

// reasonerService is a Reasoning API that finishes with a text, or refuses with a
// status above 0.
func reasonerService(t *testing.T, status int) (url string, asked func() (wire.AgentIntentRequest, http.Header)) {
	t.Helper()
	var mu sync.Mutex
	var req wire.AgentIntentRequest
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		header = r.Header.Clone()
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || status > 0 {
			w.WriteHeader(max(status, http.StatusBadRequest))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"status": "ok", "request_id": "r", "session_id": req.SessionID, "finish": true, "final_text": "Two lines.", "correlation_id": req.CorrelationID,
		})
	}))
	t.Cleanup(server.Close)
	return server.URL, func() (wire.AgentIntentRequest, http.Header) {
		mu.Lock()
		defer mu.Unlock()
		return req, header
	}
}

func TestAServiceDecides(t *testing.T) {
	url, asked := reasonerService(t, 0)
	m := open(t, planner.Options{Reasoner: url, ReasonerToken: "reasoner-token", RulesFallback: true})
	d, err := m.Next(t.Context(), result("two lines"))
	if err != nil || d.Answer != "Two lines." || d.Source != planner.ByRemote {
		t.Fatalf("%+v, %v", d, err)
	}
	req, header := asked()
	if req.SessionID != "question" || req.GoalText != "how long is it?" || req.Instructions != "Be brief." || header.Get("Authorization") != "Bearer reasoner-token" {
		t.Errorf("asked %+v with %v", req, header)
	}
}

func TestRulesDecideBehindAServiceThatDoesNot(t *testing.T) {
	url, _ := reasonerService(t, http.StatusForbidden)
	m := open(t, planner.Options{Reasoner: url, ReasonerToken: "reasoner-token"})
	if d, err := m.Next(t.Context(), result("two lines")); err == nil || strings.Contains(err.Error(), "reasoner-token") {
		t.Errorf("without rules: %+v, %v", d, err)
	}
	m = open(t, planner.Options{Reasoner: url, RulesFallback: true})
	if d, err := m.Next(context.Background(), result("two lines")); err != nil || d.Source != planner.Fallback || d.Fault == nil {
		t.Errorf("with rules behind: %+v, %v", d, err)
	}
}

// TestServiceSettings: the environment has the version, the bound on retries
// and the timeout of a service.
func TestServiceSettings(t *testing.T) {
	url, asked := reasonerService(t, http.StatusInternalServerError)
	m := open(t, planner.Options{Reasoner: url, Getenv: environment(
		"REASONING_API_VERSION", "v1", "REASONING_API_RETRIES", "0", "REASONING_API_TIMEOUT_MS", "60000", "REASONING_API_TOKEN", "not-named",
	)})
	if _, err := m.Next(t.Context(), result("two lines")); err == nil {
		t.Error("a failure is a decision")
	}
	if _, header := asked(); header.Get("Accept-Version") != "v1" || header.Get("Authorization") != "" {
		t.Errorf("%v", header)
	}
	if _, err := planner.Open(planner.Options{Reasoner: url, Rules: rules.Rules{}, Getenv: environment("REASONING_API_VERSION", "v9")}); err == nil || !strings.Contains(err.Error(), "REASONING_API_VERSION") {
		t.Errorf("v9: %v", err)
	}
}
