package reasoner

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
	"github.com/meup-protocol/meup/internal/agent/telemetry/otlp"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// collector receives spans over OTLP/HTTP.
type collector struct {
	mu    sync.Mutex
	spans []*tracepb.Span
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var request collectorpb.ExportTraceServiceRequest
	err = errors.Join(err, proto.Unmarshal(raw, &request))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// observed returns telemetry whose spans are collected when end is called.
func observed(t *testing.T, log *testkit.Log) (tel *telemetry.Telemetry, end func() []*tracepb.Span) {
	t.Helper()
	c := new(collector)
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	tel, err := telemetry.Start(t.Context(), telemetry.Options{
		Exporter: otlp.New, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return tel, func() []*tracepb.Span {
		if err := tel.Close(t.Context()); err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.spans
	}
}

func metricsOf(t *testing.T, tel *telemetry.Telemetry) string {
	t.Helper()
	w := httptest.NewRecorder()
	tel.Metrics().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	return w.Body.String()
}

// TestReport: decisions, also of workflows, are in the plan's
// span, the log and the metrics.
func TestReport(t *testing.T) {
	log := new(testkit.Log)
	tel, end := observed(t, log)
	s := New(Options{Telemetry: tel, NewID: sequentialIDs()})
	if _, err := decide(t, s, example); err != nil {
		t.Fatal(err)
	}
	for _, workflow := range []string{`{"nodes":[{"id":"a","tool":"ci.run"}]}`, `{"nodes":[{"id":"a"}]}`, `{"nodes":[{"id":"a","type":"end"}]}`, `{"nodes":[{"id":"a"}],"start":"z"}`} {
		r, err := DecodeWorkflow([]byte(`{"run_id":"r","workflow_name":"w","current_node":"","params":{"workflow":` + workflow + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = s.Workflow(t.Context(), r) // the last one is rejected
	}
	metrics := metricsOf(t, tel)
	spans := end()
	outcomes := []string{"use_tools", "use_tools", "enter_node", "finish", "refused"}
	if len(spans) != len(outcomes) {
		t.Fatalf("%d spans", len(spans))
	}
	for i, want := range outcomes {
		source, text := "workflow", fmt.Sprint(spans[i].Attributes)
		if i == 0 {
			source = "rules"
		}
		if len(spans[i].Events) != 1 || spans[i].Events[0].Name != "decision" || !strings.Contains(text, `"`+want+`"`) || !strings.Contains(text, `"`+source+`"`) {
			t.Errorf("span %d: %s, %v", i, text, spans[i].Events)
		}
		if !strings.Contains(log.String(), "source="+source+" outcome="+want) {
			t.Errorf("the log has no %s of %s:\n%s", want, source, log)
		}
	}
	if !strings.Contains(fmt.Sprint(spans[1].Attributes), "ci.run") || strings.Contains(metrics, "ci.run") {
		t.Errorf("%v\n%s", spans[1].Attributes, metrics)
	}
	if strings.Count(metrics, `source="workflow"`) < 4 || !strings.Contains(metrics, `meup_plan_duration_seconds_count{error_type="",gen_ai_agent_name=""} 4`) {
		t.Errorf("%s", metrics)
	}
}

// TestReport_InventedNames: a caller cannot exhaust the label values of
// metrics.
func TestReport_InventedNames(t *testing.T) {
	server := llmtest.Start(t, func(r llmtest.Request) llmtest.Turn {
		if strings.Contains(string(r.Body), "invented") {
			return llmtest.Turn{Status: http.StatusNotFound, Message: "no such model"}
		}
		return llmtest.Turn{Calls: []llm.ToolCall{{Name: "context_fts_search", Arguments: []byte(`{"query":"x"}`)}}}
	})
	s, _ := newModelService(t, server, Options{})
	for i := range 70 {
		for _, body := range []string{`"forced_tool":"invented-%d"`, `"llm":{"provider":"openai","model":"invented-%d","api_key":"k"}`} {
			if _, err := decide(t, s, `{"session_id":"s","goal_text":"Find auth logic",`+fmt.Sprintf(body, i)+`}`); err != nil {
				t.Fatal(err)
			}
		}
	}
	out, err := s.Decide(t.Context(), &wire.AgentIntentRequest{SessionID: "s", GoalText: "Find auth logic", LLM: &wire.LLM{Provider: "openai", Model: "real", APIKey: "k"}})
	if err != nil || out.Trace[0].Step != "llm" {
		t.Fatalf("%+v, %v", out, err)
	}
	metrics := metricsOf(t, s.o.Telemetry)
	if strings.Contains(metrics, "invented") || !strings.Contains(metrics, `model="real"`) || !strings.Contains(metrics, `gen_ai_request_model="real"`) ||
		!strings.Contains(metrics, `gen_ai_request_model="_OTHER"`) || !strings.Contains(metrics, `tool="`+wire.SearchTool+`"`) || strings.Contains(metrics, `tool="_OTHER"`) {
		t.Errorf("%s", metrics)
	}
}
