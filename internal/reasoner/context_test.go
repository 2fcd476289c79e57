package reasoner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/llm/models"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// windowed returns a script that rejects prompts over a window of tokens, as
// providers do, and otherwise answers with next. Requests for summaries are
// answered with summary, or rejected if it is empty.
func windowed(window int, summary string, next func(llmtest.Request) llmtest.Turn) llmtest.Script {
	return func(r llmtest.Request) llmtest.Turn {
		if strings.Contains(r.Messages[0].Text, "You shorten what a tool returned") {
			if summary == "" {
				return llmtest.Turn{Status: http.StatusBadRequest, Message: "no summary"}
			}
			return llmtest.Turn{Text: summary}
		}
		if tokens := len(r.Body) / 3; tokens > window {
			return llmtest.Turn{Status: http.StatusBadRequest, Code: "context_length_exceeded", Message: fmt.Sprintf(
				"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.", window, tokens)}
		}
		return next(r)
	}
}

// largeHistory returns a history of reads of this many files, each with a
// result of 20 KB whose last line is unique.
func largeHistory(t *testing.T, files int) string {
	t.Helper()
	var items []string
	for i := range files {
		result, err := json.Marshal(strings.Repeat("The gateway routes each envelope to a space. ", 450) + fmt.Sprintf("\nEnd of file %d.", i))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, fmt.Sprintf(`{"tool_name":"read_file","tool_args":{"path":"%d.md"},"result":%s}`, i, result))
	}
	return `"history":[` + strings.Join(items, ",") + `]`
}

func traceContext(out *wire.AgentIntentResponse) *wire.ContextTrace {
	for _, item := range out.Trace {
		if item.Context != nil {
			return item.Context
		}
	}
	return nil
}

// answerText calls no tool: a planning request gets a draft, synthesis the
// answer.
func answerText(llmtest.Request) llmtest.Turn {
	return llmtest.Turn{Text: "The gateway routes envelopes."}
}

// TestContext_SmallWindow: a model with a window of 8,192 tokens decides after
// 60 large results, by options and by request.
func TestContext_SmallWindow(t *testing.T) {
	for name, test := range map[string]struct {
		o    ContextOptions
		body string
	}{
		"options": {o: ContextOptions{Tokens: 8192}},
		"request": {body: `"context_tokens":8192,`},
		"half":    {o: ContextOptions{Tokens: 8192}, body: `"context_utilization":"half",`},
		"request overrides options": {
			o: ContextOptions{Tokens: 1_000_000, Utilization: contextwindow.Full}, body: `"context_tokens":8192,"context_utilization":"low",`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.Start(t, windowed(8192, "", answerText))
			s, log := newModelService(t, server, Options{Context: test.o})
			out, err := decide(t, s, withModel+`,`+test.body+largeHistory(t, 60)+`}`)
			if err != nil {
				t.Fatal(err)
			}
			if !out.Finish || !strings.Contains(out.FinalText, "routes envelopes") || out.Trace[0].Step != "llm" {
				t.Errorf("%+v", out)
			}
			c := traceContext(out)
			if c == nil || c.Tokens > c.Budget || c.Budget > 8192 || c.Dropped+c.Previews+c.Steps == 0 || c.Goal != "synthesis" {
				t.Errorf("%+v", c)
			}
			metrics := metricsOf(t, s.o.Telemetry)
			if !strings.Contains(metrics, `meup_context_tokens_count{goal="synthesis"} 1`) ||
				!strings.Contains(metrics, fmt.Sprintf(`meup_context_results_total{form="dropped"} %d`, c.Dropped)) {
				t.Errorf("%s", metrics)
			}
			if want := fmt.Sprintf("context_tokens=%d context_budget=%d previews=%d summarized=0 dropped=%d", c.Tokens, c.Budget, c.Previews, c.Dropped); !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, log)
			}
		})
	}
}

// TestContext_Utilization: a lower utilization has a smaller budget.
func TestContext_Utilization(t *testing.T) {
	budget := map[string]int{}
	for _, share := range []string{"full", "half", "low"} {
		server := llmtest.Start(t, windowed(100_000, "", answerText))
		s, _ := newModelService(t, server, Options{})
		out, err := decide(t, s, withModel+`,"context_tokens":40000,"context_utilization":"`+share+`",`+largeHistory(t, 10)+`}`)
		if err != nil {
			t.Fatal(err)
		}
		budget[share] = traceContext(out).Budget
	}
	if low := budget["low"]; low == 0 || budget["half"]/low != 2 || budget["full"]/low != 4 {
		t.Errorf("%v", budget)
	}
}

// TestContext_PreviewsAndFullContent: planning gets previews, synthesis the
// results whole.
func TestContext_PreviewsAndFullContent(t *testing.T) {
	server := llmtest.Start(t, answerText)
	s, _ := newModelService(t, server, Options{})
	if _, err := decide(t, s, withModel+`,`+largeHistory(t, 2)+`}`); err != nil {
		t.Fatal(err)
	}
	asked := server.Requests()
	if len(asked) != 2 || strings.Contains(string(asked[0].Body), "End of file") || !strings.Contains(string(asked[1].Body), "End of file 0.") {
		t.Errorf("%d requests", len(asked))
	}
}

// TestContext_WindowTooSmall: if the window has no room for the request, the
// trace gives the reason and the remedy.
func TestContext_WindowTooSmall(t *testing.T) {
	server := llmtest.Start(t, windowed(500, "", answerText))
	s, _ := newModelService(t, server, Options{})
	for body, want := range map[string]string{
		withModel + `,` + largeHistory(t, 30) + `}`: "longer than its context window; context_tokens sets",
		`{"session_id":"s","goal_text":"` + strings.Repeat("word ", 19_000) + `","context_tokens":8192,"llm":{"provider":"openai","model":"m","api_key":"k"}}`: "no room for the goal",
	} {
		out, err := decide(t, s, body)
		if err != nil {
			t.Fatal(err)
		}
		if out.Trace[0].Step != "fallback" || !strings.Contains(out.Trace[0].Detail, want) {
			t.Errorf("%+v", out.Trace)
		}
	}
}

// TestContext_FallbackHasError: the event, the span, the metric and the record of
// a fallback have the error of the model, without the key of the request.
func TestContext_FallbackHasError(t *testing.T) {
	server := llmtest.Start(t, func(llmtest.Request) llmtest.Turn {
		return llmtest.Turn{Status: http.StatusForbidden, Message: "no such key: " + requestKey}
	})
	large := strings.Repeat("word ", 19_000)
	for name, test := range map[string]struct{ body, class, text string }{
		"no room": {`"goal_text":"` + large + `","context_tokens":8192,`, "context_too_large", "the budget is"},
		"refused": {`"goal_text":"Find auth logic",`, "403", "no such key: [key]"},
	} {
		t.Run(name, func(t *testing.T) {
			log := new(testkit.Log)
			tel, end := observed(t, log)
			var recorded wire.LogRecord
			s, _ := newModelService(t, server, Options{Telemetry: tel, Record: func(r *wire.LogRecord) { recorded = *r }})
			if _, err := decide(t, s, `{"session_id":"s",`+test.body+`"llm":{"provider":"openai","model":"gpt-x","api_key":"`+requestKey+`"}}`); err != nil {
				t.Fatal(err)
			}
			metrics := metricsOf(t, tel)
			spans := fmt.Sprint(end())
			if recorded.Status != "ok" || recorded.Error != test.class || recorded.Fallback == "" {
				t.Errorf("%+v", recorded)
			}
			if !strings.Contains(log.String(), "error_type="+test.class) || !strings.Contains(log.String(), test.text) || strings.Contains(log.String(), requestKey) {
				t.Errorf("%s", log)
			}
			if !strings.Contains(spans, test.class) || strings.Contains(spans, requestKey) {
				t.Errorf("%s", spans)
			}
			if !strings.Contains(metrics, `meup_decisions_total{error_type="`+test.class+`"`) {
				t.Errorf("%s", metrics)
			}
		})
	}
}

// summaries counts the requests for summaries, by model.
func summaries(server *llmtest.Server) map[string]int {
	n := map[string]int{}
	for _, r := range server.Requests() {
		if strings.Contains(r.Messages[0].Text, "You shorten what a tool returned") {
			n[r.Model]++
		}
	}
	return n
}

// TestSummaries_OwnModel: summaries are off by default. With a model of their
// own, from the options or the request, they replace previews, and later
// decisions use the same summaries. "off" in a request disables them.
func TestSummaries_OwnModel(t *testing.T) {
	call := llmtest.Turn{Calls: args(`{"query":"auth"}`)}
	server := llmtest.Start(t, windowed(100_000, "It is about routing.", func(llmtest.Request) llmtest.Turn { return call }))
	small := openTest(t, server, "openai:small")
	for _, test := range []struct {
		name  string
		own   llm.Model
		body  string
		model string
		want  int // summaries in the input
	}{
		{name: "default"},
		{name: "options", own: small, model: "small", want: 3},
		{name: "request", body: `"summarization_model":"openai:tiny",`, model: "tiny", want: 3},
		{name: "request overrides", own: small, body: `"summarization_model":"openai:tiny",`, model: "tiny", want: 3},
		{name: "off", own: small, body: `"summarization_model":"off",`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, _ := newModelService(t, server, Options{Context: ContextOptions{Summarizer: test.own}})
			before := summaries(server)[test.model]
			for range 2 {
				out, err := decide(t, s, withModel+`,`+test.body+largeHistory(t, 3)+`}`)
				if err != nil {
					t.Fatal(err)
				}
				if c := traceContext(out); c.Summarized != test.want || c.Previews != 3-test.want || out.ToolName != wire.SearchTool {
					t.Errorf("%+v", c)
				}
			}
			if n := summaries(server)[test.model] - before; n != test.want {
				t.Errorf("%d requests for summaries by %q", n, test.model)
			}
		})
	}
}

// TestSummaries_Failure: a model that fails leaves previews, and is not asked
// for every result.
func TestSummaries_Failure(t *testing.T) {
	server := llmtest.Start(t, windowed(100_000, "", func(llmtest.Request) llmtest.Turn { return llmtest.Turn{Calls: args(`{"query":"auth"}`)} }))
	s, _ := newModelService(t, server, Options{})
	out, err := decide(t, s, withModel+`,"summarization_model":"openai:small",`+largeHistory(t, 10)+`}`)
	if err != nil {
		t.Fatal(err)
	}
	if c := traceContext(out); c.Summarized != 0 || c.Previews != 10 || out.Trace[0].Step != "llm" {
		t.Errorf("%+v", out)
	}
	if n := summaries(server)["small"]; n != maxSummaryFailures {
		t.Errorf("%d requests", n)
	}
}

// TestSummaries_OncePerQuestion: planning and synthesis, and later decisions on
// the same goal, use one summary of each result.
func TestSummaries_OncePerQuestion(t *testing.T) {
	server := llmtest.Start(t, windowed(8192, "It is about routing.", answerText))
	s, _ := newModelService(t, server, Options{})
	const results = 4
	for range 2 {
		out, err := decide(t, s, withModel+`,"context_tokens":8192,"summarization_model":"openai:small",`+largeHistory(t, results)+`}`)
		if err != nil {
			t.Fatal(err)
		}
		if c := traceContext(out); c.Goal != "synthesis" || c.Summarized == 0 {
			t.Errorf("%+v", c)
		}
	}
	if n := summaries(server)["small"]; n != results {
		t.Errorf("%d requests for the summaries of %d results", n, results)
	}
}

// TestContext_ToolsLeftOut: tools for which there is no room are counted and
// named in the trace, the record, the log and the metrics.
func TestContext_ToolsLeftOut(t *testing.T) {
	var tools []string
	for i := range 40 {
		tools = append(tools, fmt.Sprintf(`{"name":"tool_%02d","inputSchema":{"type":"object","properties":{"p":{"type":"string","description":"%s"}}}}`, i, strings.Repeat("A parameter. ", 60)))
	}
	server := llmtest.Start(t, answerText)
	var recorded wire.LogRecord
	s, log := newModelService(t, server, Options{Record: func(r *wire.LogRecord) { recorded = *r }})
	out, err := decide(t, s, withModel+`,"context_tokens":8192,"tools":[`+strings.Join(tools, ",")+`]}`)
	if err != nil {
		t.Fatal(err)
	}
	c := traceContext(out)
	if offered := len(server.Requests()[0].Tools); c.Tools != 40-offered || c.Tools <= 16 || len(c.ToolNames) != 16 || c.ToolNames[15] == c.ToolNames[0] {
		t.Fatalf("%d offered, %+v", offered, c)
	}
	if detail := out.Trace[1].Detail; !strings.Contains(detail, fmt.Sprintf("no room for %d tools, such as `%s`", c.Tools, c.ToolNames[0])) {
		t.Errorf("%s", detail)
	}
	if recorded.Context == nil || recorded.Context.Tools != c.Tools {
		t.Errorf("%+v", recorded)
	}
	if want := fmt.Sprintf("tools_left_out=%d", c.Tools); !strings.Contains(log.String(), want) {
		t.Errorf("the log lacks %s:\n%s", want, log)
	}
	if want := fmt.Sprintf("meup_context_tools_left_out_total %d", c.Tools); !strings.Contains(metricsOf(t, s.o.Telemetry), want) {
		t.Errorf("the metrics lack %s", want)
	}
}

// scripted is a model in the process of a test, with a clock that can be fake.
type scripted struct {
	name   string
	answer func(ctx context.Context, r llm.Request) (llm.Response, error)
}

func (m scripted) Generate(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	resp, err := m.answer(ctx, r)
	return llmtest.Answer(r, resp, err)
}
func (m scripted) Provider() string { return "test" }
func (m scripted) Name() string     { return m.name }

// TestSummaries_SlowModel: summaries have a part of a decision's time, so that
// the model still decides.
func TestSummaries_SlowModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := scripted{"slow", func(ctx context.Context, _ llm.Request) (llm.Response, error) {
			<-ctx.Done()
			return llm.Response{}, ctx.Err()
		}}
		quick := scripted{"quick", func(context.Context, llm.Request) (llm.Response, error) {
			return llm.Response{Stop: llm.StopTools, Message: llm.Message{Role: llm.Assistant, Calls: []llm.ToolCall{
				{ID: "1", Name: "context_fts_search", Arguments: []byte(`{"query":"auth"}`)},
			}}}, nil
		}}
		s := New(Options{Model: quick, Context: ContextOptions{Summarizer: slow}})
		out, err := decide(t, s, `{"session_id":"s","goal_text":"Find auth logic",`+largeHistory(t, 3)+`}`)
		if err != nil {
			t.Fatal(err)
		}
		if c := traceContext(out); c == nil || c.Previews != 3 || out.Trace[0].Step != "llm" || out.DurationMS != DefaultModelTimeout.Milliseconds()/summaryTimeShare {
			t.Errorf("%+v", out)
		}
	})
}

// TestSummaries_Key: the key of a request is sent only to its own provider.
func TestSummaries_Key(t *testing.T) {
	for name, want := range map[string]string{"openai:small": requestKey, "OpenAI:small": requestKey, "anthropic:small": ""} {
		var got string
		s := New(Options{Open: func(_, key string) (llm.Model, error) { got = key; return nil, errors.New("not now") }})
		_, err := s.summarizer(&wire.AgentIntentRequest{
			SummarizationModel: name, LLM: &wire.LLM{Provider: " OpenAI ", Model: "gpt-x", APIKey: requestKey},
		})
		var f *Fault
		if got != want || !errors.As(err, &f) || f.Status != 422 || f.Path != "/summarization_model" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestContext_UnknownValues: unknown values are rejected, with their place.
func TestContext_UnknownValues(t *testing.T) {
	s := New(Options{})
	for body, want := range map[string]string{
		`"context_utilization":"most"`:      "/context_utilization",
		`"context_tokens":100`:              "/context_tokens",
		`"context_tokens":"8k"`:             "/context_tokens",
		`"summarization_model":"small"`:     "/summarization_model",
		`"summarization_model":"nobody:m"`:  "/summarization_model",
		`"summarization_model":{"model":1}`: "/summarization_model",
	} {
		r, err := DecodeAgentIntent([]byte(`{"session_id":"s","goal_text":"g",` + body + `}`))
		if err == nil {
			_, err = s.Decide(t.Context(), r)
		}
		var f *Fault
		if !errors.As(err, &f) || f.Status != 422 || f.Path != want {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func openTest(t *testing.T, server *llmtest.Server, name string) llm.Model {
	t.Helper()
	m, err := models.Open(name, models.Options{BaseURL: server.URL(), Key: "k", HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
