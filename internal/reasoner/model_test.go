package reasoner

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/llm/models"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

const requestKey = "sk-request-0123456789abcdef"

// newModelService returns a service that uses the models of the server, and its
// log.
func newModelService(t *testing.T, server *llmtest.Server, o Options) (*Service, *testkit.Log) {
	t.Helper()
	log := new(testkit.Log)
	o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if o.Telemetry == nil {
		var err error
		o.Telemetry, err = telemetry.Start(t.Context(), telemetry.Options{Logger: o.Logger})
		if err != nil {
			t.Fatal(err)
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	o.Open = func(name, key string) (llm.Model, error) {
		return models.Open(name, models.Options{BaseURL: server.URL(), Key: key, HTTP: client, Retry: llm.Retry{Attempts: 1}, Logger: o.Logger})
	}
	return New(o), log
}

const withModel = `{"session_id":"s","goal_text":"Find auth logic","instructions":"Be brief.","llm":{"provider":" OpenAI ","model":"gpt-x","api_key":"` + requestKey + `"}`

func args(s string) []llm.ToolCall {
	return []llm.ToolCall{{Name: "context_fts_search", Arguments: []byte(s)}}
}

func TestModelDecides(t *testing.T) {
	server := llmtest.Start(t, llmtest.Turns(llmtest.Turn{
		Text:  "The words say little.",
		Calls: append(args(`{"query":"authenticate"}`), args(`{"query":"login"}`)...),
	}), func(s *llmtest.Server) { s.Key = requestKey })
	s, log := newModelService(t, server, Options{})
	out, err := decide(t, s, withModel+`,"history":["It rained.",{"tool":"grep","args":{"p":"auth"},"result":"none of it"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if out.ToolName != wire.SearchTool || string(out.ToolArgs) != `{"query":"authenticate"}` || out.Finish {
		t.Errorf("%+v %s", out, out.ToolArgs)
	}
	steps := traceSteps(out)
	if !strings.HasPrefix(steps, "llm") || !strings.HasSuffix(steps, "later") || !strings.Contains(out.Trace[0].Detail, "gpt-x decided") {
		t.Errorf("%+v", out.Trace)
	}
	asked := string(server.Requests()[0].Body)
	for _, want := range []string{"Be brief.", "It rained.", "none of it", "Find auth logic"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the model was not shown %q: %s", want, asked)
		}
	}
	checkKeyAbsent(t, log, out)
}

func TestReasoning_NoRepetition(t *testing.T) {
	long, err := json.Marshal(strings.Repeat("word ", 4000))
	if err != nil {
		t.Fatal(err)
	}
	readAll := `,"history":[{"tool":"grep","args":{"p":"auth"},"result":` + string(long) + `}]}`
	for name, test := range map[string]struct {
		body, want string
		turns      []llmtest.Turn
	}{
		"answer": {withModel + `}`, "The answer is 42.", []llmtest.Turn{{Text: "The answer is 42."}}},
		"answer that was written again": {withModel + readAll, "The answer is 42.",
			[]llmtest.Turn{{Text: "The answer is 42."}, {Text: "The answer is 42."}}},
		"thought before it": {withModel + readAll, "I have read it. The answer is 42.",
			[]llmtest.Turn{{Text: "I have read it."}, {Text: "The answer is 42."}}},
		"call": {withModel + `}`, "I look for logins.",
			[]llmtest.Turn{{Text: "I look for logins.", Calls: args(`{"query":"login","rationale":"I look for logins."}`)}}},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.Start(t, llmtest.Turns(test.turns...))
			s, _ := newModelService(t, server, Options{})
			out, err := decide(t, s, test.body)
			if err != nil || out.Reasoning != test.want {
				t.Errorf("%v, %+v", err, out)
			}
		})
	}
}

func traceSteps(out *wire.AgentIntentResponse) string {
	var steps []string
	for _, item := range out.Trace {
		steps = append(steps, item.Step)
	}
	return strings.Join(steps, " ")
}

// checkKeyAbsent checks that neither the log nor the response contains the key.
// The log must not contain the text of the request either.
func checkKeyAbsent(t *testing.T, log *testkit.Log, out *wire.AgentIntentResponse) {
	t.Helper()
	for _, secret := range []string{requestKey, requestKey[3:]} {
		for _, item := range out.Trace {
			if strings.Contains(item.Detail, secret) {
				t.Errorf("the trace has the key: %s", item.Detail)
			}
		}
		if strings.Contains(log.String(), secret) || strings.Contains(out.Reasoning+out.FinalText+out.Message, secret) {
			t.Errorf("the key is in\n%+v\n%s", out, log)
		}
	}
	if strings.Contains(log.String(), "Find auth logic") || strings.Contains(log.String(), "Be brief.") {
		t.Errorf("the log has the request's words:\n%s", log)
	}
}

func TestModel_Fallback(t *testing.T) {
	hang := make(chan struct{})
	for name, test := range map[string]struct {
		turn   llmtest.Turn
		server func(*llmtest.Server)
		open   error
		why    string
	}{
		"refused":     {turn: llmtest.Turn{Status: 500, Message: "sorry, " + requestKey}, why: "refused with status 500"},
		"wrong key":   {server: func(s *llmtest.Server) { s.Key = "another" }, why: "refused with status 401"},
		"silent":      {turn: llmtest.Turn{}, why: "gave no answer"},
		"cut":         {turn: llmtest.Turn{Text: "I would look into it and then", CutAfter: 2}, why: "did not decide"},
		"slow":        {turn: llmtest.Turn{Hang: hang}, why: "did not answer in time"},
		"wrong calls": {turn: llmtest.Turn{Calls: []llm.ToolCall{{Name: "fly"}}}, why: "requested calls that cannot be made"},
		"unknown":     {open: errors.New("there is no provider with the key " + requestKey), why: "cannot be used: there is no provider with the key [key]"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.server == nil {
				test.server = func(*llmtest.Server) {}
			}
			server := llmtest.Start(t, func(llmtest.Request) llmtest.Turn { return test.turn }, test.server)
			o := Options{}
			if test.turn.Hang != nil {
				o.ModelTimeout = 50 * time.Millisecond
			}
			s, log := newModelService(t, server, o)
			if test.open != nil {
				s.o.Open = func(string, string) (llm.Model, error) { return nil, test.open }
			}
			out, err := decide(t, s, withModel+`}`)
			if err != nil {
				t.Fatal(err)
			}
			if out.ToolName != wire.SearchTool || string(out.ToolArgs) != `{"query":"Find auth logic"}` || out.Trace[0].Step != "fallback" ||
				!strings.Contains(out.Trace[0].Detail, test.why) && name != "cut" {
				t.Errorf("%+v", out)
			}
			checkKeyAbsent(t, log, out)
		})
	}
}

// TestModel_RepeatedCall: a search with results in the history is not repeated,
// and a stuck agent repeats no call.
func TestModel_RepeatedCall(t *testing.T) {
	for name, test := range map[string]struct{ more, answer string }{
		"a search": {`,"history":[{"tool":"context.fts_search","args":{"query":"auth"},"result":[{"path":"a.rb","chunk":"def auth"}]}]`, "def auth"},
		"stuck":    {`,"agent_state":{"stuck":true},"history":[{"tool":"context.fts_search","args":{"query":"auth"},"result":[]}]`, ""},
		"max":      {`,"max_steps":1,"history":[{"tool":"grep","args":{},"error":"none"}]`, "It is def auth."},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.Start(t, func(r llmtest.Request) llmtest.Turn {
				if r.Choice == llm.None {
					return llmtest.Turn{Text: "It is def auth."}
				}
				return llmtest.Turn{Calls: args(`{"query": "auth"}`)}
			})
			s, _ := newModelService(t, server, Options{})
			out, err := decide(t, s, withModel+test.more+`}`)
			if err != nil {
				t.Fatal(err)
			}
			if !out.Finish || !strings.Contains(out.FinalText, test.answer) {
				t.Errorf("%+v", out)
			}
		})
	}
}

func TestForcedTool_WithoutModel(t *testing.T) {
	server := llmtest.Start(t, llmtest.Turns())
	s, _ := newModelService(t, server, Options{})
	out, err := decide(t, s, withModel+`,"forced_tool":"context.fts_search"}`)
	if err != nil || out.ToolName != wire.SearchTool || len(server.Requests()) != 0 {
		t.Errorf("%+v, %v, %d requests", out, err, len(server.Requests()))
	}
}

// TestModel_Selection: a request may omit the provider if the service has a
// model.
func TestModel_Selection(t *testing.T) {
	var opened string
	open := func(name, _ string) (llm.Model, error) {
		opened = name
		return nil, errors.New("not today")
	}
	own, err := models.Open("ollama:own", models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		o      Options
		llm    *wire.LLM
		opened string
		err    string
		own    bool
	}{
		{Options{Model: own, Open: open}, nil, "", "", true},
		{Options{Model: own, Open: open}, &wire.LLM{APIKey: "k"}, "", "", true},
		{Options{Model: own, Open: open}, &wire.LLM{Model: "qwen"}, "ollama:qwen", "not today", false},
		{Options{Open: open}, &wire.LLM{Provider: "OpenAI", Model: "gpt"}, "openai:gpt", "not today", false},
		{Options{Open: open}, &wire.LLM{Model: "gpt"}, "", "both", false},
		{Options{Open: open}, &wire.LLM{Provider: "openai"}, "", "both", false},
		{Options{}, &wire.LLM{Provider: "openai", Model: "gpt"}, "", "uses only its own model", false},
	} {
		opened = ""
		m, err := New(test.o).model(test.llm)
		if opened != test.opened || (m != nil) != test.own || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%+v: opened %q, %v, %v", test.llm, opened, m, err)
		}
	}
}

// The response has the tokens of all answers for the decision, also if rules decided in the end.
func TestModel_Usage(t *testing.T) {
	unknown := llmtest.Turn{Calls: []llm.ToolCall{{Name: "fly"}}, Usage: llm.Usage{Input: 100, Output: 10, Cached: 60, Reasoning: 4}}
	for name, test := range map[string]struct {
		turns []llmtest.Turn
		want  *wire.Usage
	}{
		"a correction": {[]llmtest.Turn{unknown, {Calls: args(`{"query": "auth"}`), Usage: llm.Usage{Input: 20, Output: 2}}}, &wire.Usage{Input: 120, Output: 12, Cached: 60, Reasoning: 4}},
		"the rules":    {[]llmtest.Turn{unknown, unknown}, &wire.Usage{Input: 200, Output: 20, Cached: 120, Reasoning: 8}},
		"no answer":    {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := newModelService(t, llmtest.Start(t, llmtest.Turns(test.turns...)), Options{})
			out, err := decide(t, s, withModel+`}`)
			if err != nil {
				t.Fatal(err)
			}
			if (out.Usage == nil) != (test.want == nil) || test.want != nil && *out.Usage != *test.want {
				t.Errorf("usage %+v, want %+v", out.Usage, test.want)
			}
		})
	}
}
