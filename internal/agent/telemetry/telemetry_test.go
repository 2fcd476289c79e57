package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// fixed is a model that always returns the same answer.
type fixed struct {
	resp llm.Response
	err  error
}

func (f fixed) Generate(_ context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return llmtest.Answer(req, f.resp, f.err)
}
func (fixed) Name() string     { return "gpt-4.1" }
func (fixed) Provider() string { return "openai" }

var answer = llm.Response{
	ID: "resp-7", Model: "gpt-4.1-2025", Stop: llm.StopTools,
	Message:  llm.Message{Role: llm.Assistant, Text: "the answer is private"},
	Thinking: "the thinking is private",
	Usage:    llm.Usage{Input: 120, Output: 30, Cached: 100, Reasoning: 12},
}

// intent runs all operations of an agent for one intent.
func intent(t *testing.T, telemetry *Telemetry) {
	t.Helper()
	ctx, whole := telemetry.Span(t.Context(), InvokeAgent, "scout", ConversationID.String("lab"), AgentID.String("agent-1"))
	planning, plan := telemetry.Span(ctx, Plan, "scout")
	question := llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "the question is private"}}, MaxTokens: 512}
	if _, err := llm.Ask(planning, telemetry.Model(fixed{resp: answer}), question, nil); err != nil {
		t.Fatal(err)
	}
	plan.End(nil)
	_, tool := telemetry.Span(ctx, ExecuteTool, "read_file", ToolCallID.String("call-1"))
	tool.End(errors.New("no such file"))
	telemetry.Decided(ctx, Decision{
		Space: "lab", Agent: "scout", Intent: "env-1", Provider: "openai", Model: "gpt-4.1", Source: "model",
		Usage: answer.Usage, Duration: 1500 * time.Millisecond, Outcome: "act", Tools: []string{"read_file", "search"},
		Context: &contextwindow.Meta{Goal: contextwindow.Planning, Tokens: 700, Budget: 900, Previews: 3, Summaries: 2, Dropped: 1, Tools: 9, ToolNames: []string{"t1", "t2"}},
	})
	whole.End(nil)
}

func TestSpan_Tree(t *testing.T) {
	c := newCollector(t)
	environment(t, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL, "OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test%20bed,service.name=other,broken")
	telemetry := start(t, Options{Service: "meup-agent", Version: "1.2.3"})
	intent(t, telemetry)
	closed(t, telemetry)

	whole, plan := c.span(t, "invoke_agent scout"), c.span(t, "plan scout")
	chat, tool := c.span(t, "chat gpt-4.1"), c.span(t, "execute_tool read_file")
	for _, edge := range []struct{ child, parent *tracepb.Span }{{plan, whole}, {chat, plan}, {tool, whole}} {
		if string(edge.child.ParentSpanId) != string(edge.parent.SpanId) || string(edge.child.TraceId) != string(edge.parent.TraceId) {
			t.Errorf("%s is not within %s", edge.child.Name, edge.parent.Name)
		}
	}
	for span, kind := range map[*tracepb.Span]tracepb.Span_SpanKind{
		whole: tracepb.Span_SPAN_KIND_INTERNAL, plan: tracepb.Span_SPAN_KIND_INTERNAL,
		tool: tracepb.Span_SPAN_KIND_INTERNAL, chat: tracepb.Span_SPAN_KIND_CLIENT,
	} {
		if span.Kind != kind {
			t.Errorf("%s has kind %s", span.Name, span.Kind)
		}
	}
	wantTexts(t, "invoke_agent", texts(whole.Attributes), map[string]string{
		"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "scout", "gen_ai.agent.id": "agent-1",
		"gen_ai.conversation.id": "lab", "meup.decision.outcome": "act", "meup.decision.source": "model",
	})
	wantTexts(t, "chat", texts(chat.Attributes), map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4.1",
		"gen_ai.request.max_tokens": "int_value:512",
		"gen_ai.response.model":     "gpt-4.1-2025", "gen_ai.response.id": "resp-7", "gen_ai.response.finish_reasons": ",tool_calls",
		"gen_ai.usage.input_tokens": "int_value:120", "gen_ai.usage.output_tokens": "int_value:30",
	})
	wantTexts(t, "execute_tool", texts(tool.Attributes), map[string]string{
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read_file", "gen_ai.tool.call.id": "call-1", "error.type": "_OTHER",
	})
	if tool.Status.Code != tracepb.Status_STATUS_CODE_ERROR || tool.Status.Message != "no such file" {
		t.Errorf("status of the tool: %v", tool.Status)
	}
	if len(whole.Events) != 1 || whole.Events[0].Name != "decision" {
		t.Fatalf("events of the intent: %v", whole.Events)
	}
	wantTexts(t, "decision", texts(whole.Events[0].Attributes), map[string]string{
		"meup.intent": "env-1", "meup.decision.tools": ",read_file,search", "gen_ai.usage.input_tokens": "int_value:120",
	})
	wantTexts(t, "resource", texts(c.from), map[string]string{
		"service.name": "other", "service.version": "1.2.3", "deployment.environment.name": "test bed",
	})
	if c.paths[0] != "/v1/traces" {
		t.Errorf("sent to %s", c.paths[0])
	}
	if raw := c.raw(); strings.Contains(raw, "private") {
		t.Error("spans have what was said in them")
	}
}

func wantTexts(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for key, value := range want {
		// The text form of protobuf messages deliberately varies in its spaces.
		if strings.ReplaceAll(got[key], " ", "") != strings.ReplaceAll(value, " ", "") {
			t.Errorf("%s: %s is %q, want %q", what, key, got[key], value)
		}
	}
}

// Concatenated, so that secret scanners do not report it.
const (
	github = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
	known  = "correct horse battery"
)

func TestMask_Secrets(t *testing.T) {
	c := newCollector(t)
	log := new(testkit.Log)
	environment(t, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL+"/in", "OTEL_RESOURCE_ATTRIBUTES", "team="+github)
	telemetry := start(t, Options{Service: "agent " + known, Logger: loggerOf(log), Secrets: []string{"", "x", known, known + " staple"}})
	ctx, whole := telemetry.Span(t.Context(), InvokeAgent, "scout")
	refused := &llm.Error{Provider: "openai", Status: 401, Message: "Incorrect API key provided: " + known + " staple"}
	_, err := llm.Ask(ctx, telemetry.Model(fixed{err: refused}), llm.Request{}, nil)
	if !errors.Is(err, error(refused)) {
		t.Fatalf("the model's error is %v", err)
	}
	_, tool := telemetry.Span(ctx, ExecuteTool, "tool_"+github, attribute.StringSlice("x.list", []string{known}))
	tool.Set(attribute.String("x."+known, "plain"), attribute.String("x.url", "https://u:p@host/?token="+github),
		attribute.Slice("x.deep", attribute.StringValue(known)), attribute.String("x.broken", "a\xff"+known))
	tool.End(errors.New("cannot use " + github))
	telemetry.Decided(ctx, Decision{Space: known, Agent: github, Intent: known, Outcome: github, Source: known,
		Model: github, Provider: github, Tools: []string{github}, Err: errors.New(known)})
	whole.End(nil)
	closed(t, telemetry)

	if len(c.spans) != 3 || c.paths[0] != "/in" {
		t.Errorf("%d spans, sent to %v", len(c.spans), c.paths)
	}
	for where, text := range map[string]string{"spans": c.raw(), "metrics": scrape(t, telemetry), "log": log.String()} {
		if strings.Contains(text, github) || strings.Contains(text, known) || strings.Contains(text, "staple") {
			t.Errorf("a secret is in the %s:\n%s", where, text)
		}
		if !strings.Contains(text, "[redacted:github-pat]") || !strings.Contains(text, "[redacted:secret]") {
			t.Errorf("nothing was masked in the %s:\n%s", where, text)
		}
	}
}

// TestMask_BeforeCut checks the order: a partial secret is
// not recognized.
func TestMask_BeforeCut(t *testing.T) {
	t.Setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "30")
	c := newCollector(t)
	environment(t, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	telemetry := start(t, Options{})
	_, span := telemetry.Span(t.Context(), ExecuteTool, "tool", attribute.String("x", "0123456789 "+github))
	span.End(nil)
	closed(t, telemetry)
	if got := texts(c.span(t, "execute_tool tool").Attributes)["x"]; len(got) != 30 || strings.Contains(got, "A1b2") {
		t.Errorf("the attribute is %q", got)
	}
}

// TestFault_Whole checks that the length of attributes does not bound what is logged of a fault.
func TestFault_Whole(t *testing.T) {
	t.Setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "30")
	c := newCollector(t)
	environment(t, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	var log bytes.Buffer
	telemetry := start(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	otel.Handle(errors.New("a variable of the collector is not valid: " + github))
	closed(t, telemetry)
	if got := log.String(); !strings.Contains(got, "is not valid: [redacted:github-pat]") {
		t.Errorf("the log has %q", got)
	}
}

func TestSampler(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	c := newCollector(t)
	environment(t, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	telemetry := start(t, Options{})
	intent(t, telemetry)
	closed(t, telemetry)
	if len(c.spans) != 0 {
		t.Errorf("%d spans", len(c.spans))
	}
}

func TestStart_ExportDisabled(t *testing.T) {
	c := newCollector(t)
	for name, variables := range map[string][]string{
		"no variables":  {},
		"disabled":      {"OTEL_EXPORTER_OTLP_ENDPOINT", c.URL, "OTEL_SDK_DISABLED", "True"},
		"exporter none": {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL, "OTEL_TRACES_EXPORTER", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t, variables...)
			telemetry := start(t, Options{})
			intent(t, telemetry)
			closed(t, telemetry)
			if len(c.paths) != 0 {
				t.Errorf("the collector got %v", c.paths)
			}
			if !strings.Contains(scrape(t, telemetry), "meup_decisions_total") {
				t.Error("there are no metrics either")
			}
		})
	}
}

func TestStart_InvalidEnvironment(t *testing.T) {
	for _, pair := range [][2]string{
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://u:secret@localhost"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://u:secret@lo\x7fcal"},
		{"OTEL_TRACES_EXPORTER", "zipkin"},
	} {
		t.Run(pair[0]+" "+pair[1], func(t *testing.T) {
			environment(t, pair[0], pair[1])
			_, err := Start(t.Context(), Options{})
			if err == nil || !strings.Contains(err.Error(), pair[0]) || strings.Contains(err.Error(), "secret") {
				t.Error(err)
			}
		})
	}
}

// TestDecided_Context: the input of a model is in the span, the metrics and the
// log.
func TestDecided_Context(t *testing.T) {
	c, log := newCollector(t), new(testkit.Log)
	environment(t, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	telemetry := start(t, Options{Logger: loggerOf(log)})
	intent(t, telemetry)
	closed(t, telemetry)
	for where, want := range map[string][]string{
		c.raw():              {"meup.context.goal", "meup.context.tokens", "meup.context.budget", "meup.context.previews", "meup.context.summarized", "meup.context.dropped", "meup.context.tools_left_out", "t2"},
		scrape(t, telemetry): {`meup_context_tokens_sum{goal="planning"} 700`, `meup_context_results_total{form="preview"} 3`, `meup_context_results_total{form="summary"} 2`, `meup_context_results_total{form="dropped"} 1`, `meup_context_tools_left_out_total 9`},
		log.String():         {`"context_tokens":700,"context_budget":900,"previews":3,"summarized":2,"dropped":1`},
	} {
		for _, text := range want {
			if !strings.Contains(where, text) {
				t.Errorf("no %s in\n%s", text, where)
			}
		}
	}
}

func TestTelemetry_Nil(t *testing.T) {
	var telemetry *Telemetry
	ctx, span := telemetry.Span(t.Context(), Chat, "m", ToolName.String("x"))
	if ctx != t.Context() || span != nil {
		t.Error("nil makes a span")
	}
	span.Set(ToolName.String("x"))
	span.End(errors.New("x"))
	telemetry.Decided(ctx, Decision{})
	if m, same := telemetry.Model(fixed{}).(fixed); !same {
		t.Errorf("nil wraps a model as %T", m)
	}
	if err := telemetry.Close(ctx); err != nil {
		t.Error(err)
	}
	w := httptest.NewRecorder()
	telemetry.Metrics().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("metrics of nil: %d", w.Code)
	}
}

func TestDecided_OneEvent(t *testing.T) {
	c, log := newCollector(t), new(testkit.Log)
	environment(t, "OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	telemetry := start(t, Options{Logger: loggerOf(log)})
	intent(t, telemetry)
	closed(t, telemetry)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 1 {
		t.Fatalf("%d lines:\n%s", len(lines), log)
	}
	var event map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &event); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"msg": "decision", "level": "INFO", "space": "lab", "agent": "scout", "intent": "env-1", "provider": "openai",
		"model": "gpt-4.1", "source": "model", "outcome": "act", "input_tokens": 120.0, "output_tokens": 30.0,
		"cached_tokens": 100.0, "reasoning_tokens": 12.0, "duration": 1.5e9,
	} {
		if event[key] != want {
			t.Errorf("%s is %v, want %v", key, event[key], want)
		}
	}
	if id, _ := event["trace_id"].(string); len(id) != 32 {
		t.Errorf("trace_id is %q", id)
	}
}

func TestDecided_Level(t *testing.T) {
	log := new(testkit.Log)
	telemetry := start(t, Options{Logger: loggerOf(log), DecisionLevel: slog.LevelDebug})
	telemetry.Decided(t.Context(), Decision{Outcome: "finish"})
	telemetry.Decided(t.Context(), Decision{Outcome: "fallback", Err: context.DeadlineExceeded})
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"level":"DEBUG"`) || !strings.Contains(lines[1], `"level":"INFO"`) {
		t.Errorf("the log:\n%s", log)
	}
}

func TestMetrics(t *testing.T) {
	telemetry := start(t, Options{Service: "meup-agent", Version: "1.2.3"})
	intent(t, telemetry)
	telemetry.Decided(t.Context(), Decision{Source: "model", Outcome: "failed", Err: context.DeadlineExceeded})
	_, err := llm.Ask(t.Context(), telemetry.Model(fixed{err: &llm.Error{Provider: "openai", Status: 429}}), llm.Request{}, nil)
	if err == nil {
		t.Fatal("no error")
	}
	for _, err := range telemetry.Model(fixed{resp: answer}).Generate(t.Context(), llm.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		break // an answer that is left before its end
	}
	got := scrape(t, telemetry)
	for _, line := range []string{
		`gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="gpt-4.1",gen_ai_token_type="input"} 120`,
		`gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="gpt-4.1",gen_ai_token_type="output"} 30`,
		`gen_ai_client_operation_duration_seconds_count{error_type="",gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="gpt-4.1"} 1`,
		`gen_ai_client_operation_duration_seconds_count{error_type="429",gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="gpt-4.1"} 1`,
		`gen_ai_client_operation_duration_seconds_count{error_type="canceled",gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="gpt-4.1"} 1`,
		`gen_ai_invoke_agent_duration_seconds_count{error_type="",gen_ai_agent_name="scout"} 1`,
		`gen_ai_execute_tool_duration_seconds_count{error_type="_OTHER",gen_ai_tool_name="read_file"} 1`,
		`meup_plan_duration_seconds_count{error_type="",gen_ai_agent_name="scout"} 1`,
		`meup_decisions_total{error_type="",model="gpt-4.1",outcome="act",provider="openai",source="model"} 1`,
		`meup_decisions_total{error_type="timeout",model="",outcome="failed",provider="",source="model"} 1`,
		`meup_decision_duration_seconds_sum{outcome="act",source="model"} 1.5`,
		`meup_decision_tokens_total{model="gpt-4.1",provider="openai",type="reasoning"} 12`,
		`meup_decision_tools_total{tool="search"} 1`,
		`service="meup-agent",version="1.2.3"} 1`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no %s", line)
		}
	}
	if strings.Contains(got, "private") || strings.Contains(got, `"lab"`) || strings.Contains(got, "env-1") {
		t.Error("the metrics have more than names in them")
	}
}

// TestMetrics_LabelBound checks that external names cannot create an
// unbounded number of series.
func TestMetrics_LabelBound(t *testing.T) {
	telemetry := start(t, Options{})
	for range 10 {
		for i := range 1000 {
			telemetry.Decided(t.Context(), Decision{Tools: []string{strings.Repeat("x", i) + "\xff"}})
		}
	}
	got := scrape(t, telemetry)
	if n := strings.Count(got, "meup_decision_tools_total{"); n != maxLabels+1 {
		t.Errorf("%d series", n)
	}
	if !strings.Contains(got, `meup_decision_tools_total{tool="_OTHER"} 9360`) {
		t.Error("the others are not counted as others")
	}
}
