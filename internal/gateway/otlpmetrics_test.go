package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

const metricsConfig = `
limits: {rate: 1000000, burst: 1000000}
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      coder: {token: coder-token, capabilities: [mcp.request, participant.status, reasoning/*], budget: {cost: 5, tokens: 1000000}}
      mute: {token: mute-token, capabilities: [chat]}
      files: {token: files-token, capabilities: [mcp.response]}
`

// metric writes a metric with one point in OTLP's JSON.
func metric(name, temporality string, attributes, value string, start, at time.Time) string {
	var list []string
	for pair := range strings.SplitSeq(attributes, ",") {
		key, text, _ := strings.Cut(pair, "=")
		list = append(list, fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, key, text))
	}
	return fmt.Sprintf(`{"name":%q,"sum":{"isMonotonic":true,"aggregationTemporality":%s,"dataPoints":[{"attributes":[%s],"startTimeUnixNano":"%d","timeUnixNano":"%d",%s}]}}`,
		name, map[string]string{"delta": "1", "cumulative": "2"}[temporality], strings.Join(list, ","), start.UnixNano(), at.UnixNano(), value)
}

func metrics(list ...string) string {
	return `{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"claude-code"}}]},"scopeMetrics":[{"scope":{"name":"com.anthropic.claude_code"},"metrics":[` + strings.Join(list, ",") + `]}]}]}`
}

// wantUsed compares what coder has used.
func wantUsed(t *testing.T, g *meuptest.Gateway, tokens, cost float64, uncounted int64) {
	t.Helper()
	list, err := g.API(t, "coder").Budgets(t.Context(), "lab")
	if err != nil {
		t.Fatal(err)
	}
	b := list.Budgets[0]
	if b.Tokens.Used != tokens || b.Cost.Used != cost || b.Uncounted != uncounted {
		t.Errorf("used %v tokens, %v %s and %d uncounted; want %v, %v and %d", b.Tokens.Used, b.Cost.Used, b.Currency, b.Uncounted, tokens, cost, uncounted)
	}
}

func export(t *testing.T, g *meuptest.Gateway, body, want string) {
	t.Helper()
	if status, got := postAs(t, g, "coder-token", "/v1/metrics?space=lab", body); status != http.StatusOK || !strings.Contains(got, want) || want == "" && got != "{}" {
		t.Errorf("%d %s, want %q", status, got, want)
	}
}

// TestOTLPMetrics_Deltas: what a coding agent measures is its usage, once, also if it repeats
// an export and reports the same work otherwise; then its calls have to be proposed.
func TestOTLPMetrics_Deltas(t *testing.T) {
	t.Parallel()
	g := meuptest.Start(t, metricsConfig)
	start := time.Now()
	at := start.Add(time.Minute)
	body := metrics(
		metric("claude_code.token.usage", "delta", "type=input,model=m,session.id=a", `"asInt":"10"`, start, at),
		metric("claude_code.token.usage", "delta", "type=output,model=m,session.id=a", `"asInt":"20"`, start, at),
		metric("claude_code.token.usage", "delta", "type=cacheRead,model=m,session.id=a", `"asInt":"300"`, start, at),
		metric("claude_code.token.usage", "delta", "type=cacheCreation,model=m,session.id=a", `"asInt":"4000"`, start, at),
		metric("claude_code.cost.usage", "delta", "model=m,session.id=a", `"asDouble":4.5`, start, at),
		metric("claude_code.lines_of_code.count", "delta", "type=added", `"asInt":"7"`, start, at),
		metric("gen_ai.client.token.usage", "delta", "gen_ai.token.type=input", `"asInt":"10"`, start, at))
	for range 3 {
		export(t, g, body, "")
	}
	wantUsed(t, g, 4330, 4.5, 0)
	log, err := g.API(t, "alice").Envelopes(t.Context(), "lab", api.EnvelopeQuery{Kinds: []string{"participant.status"}})
	if err != nil || len(log.Envelopes) != 1 {
		t.Fatalf("%d envelopes, %v", len(log.Envelopes), err)
	}
	if got := string(log.Envelopes[0].Payload); got != `{"metadata":{"cost":4.5,"currency":"USD","model":"m","source":"opentelemetry","usage":{"cached_tokens":300,"input_tokens":4310,"output_tokens":20}}}` {
		t.Error(got)
	}
	call := `{"kind":"mcp.request","to":["files"],"payload":{"id":1,"method":"tools/call","params":{"name":"read"}}}`
	if status, got := postAs(t, g, "coder-token", "/api/spaces/lab/envelopes", call); status != http.StatusOK {
		t.Error(status, got)
	}
	if status, got := postAs(t, g, "coder-token", "/api/spaces/lab/envelopes", `{"kind":"reasoning.cancel","context":"c","payload":{"metadata":{"cost":4.25,"tokens":4000}}}`); status != http.StatusOK {
		t.Error(status, got)
	}
	wantUsed(t, g, 4330, 4.5, 0)
	export(t, g, metrics(metric("claude_code.cost.usage", "delta", "model=m", `"asDouble":0.5`, at, at.Add(time.Minute))), "")
	if status, got := postAs(t, g, "coder-token", "/api/spaces/lab/envelopes", call); status != http.StatusForbidden || !strings.Contains(got, "coder has used 5.00 of 5.00 USD today") {
		t.Error(status, got)
	}
	export(t, g, metrics(), "")
}

// TestOTLPMetrics_Cumulative: of cumulative counters, what was added counts; a process that was
// restarted counts from 0, and the gateway finds the last values after its own restart.
func TestOTLPMetrics_Cumulative(t *testing.T) {
	t.Parallel()
	g := meuptest.Start(t, metricsConfig)
	start := time.Now()
	next := 0
	send := func(value int, since time.Time, session string) {
		t.Helper()
		next++
		export(t, g, metrics(metric("claude_code.token.usage", "cumulative", "type=input,session.id="+session, `"asInt":"`+strconv.Itoa(value)+`"`, since, start.Add(time.Duration(next)*time.Minute))), "")
	}
	send(100, start, "a")
	send(150, start, "a")
	send(150, start, "a")
	wantUsed(t, g, 150, 0, 2) // neither report has a cost
	g.Restart()
	send(170, start, "a")
	send(30, start, "b")
	wantUsed(t, g, 200, 0, 4)
	send(5, start.Add(time.Second), "a") // another process
	send(172, start, "a")
	wantUsed(t, g, 207, 0, 6)
	send(1, start, "a") // counts from 0 under the same start
	wantUsed(t, g, 208, 0, 7)
	send(100000, start.AddDate(0, 0, -2), "c") // what it has counted before today is not known
	wantUsed(t, g, 208, 0, 9)
	send(100010, start.AddDate(0, 0, -2), "c")
	wantUsed(t, g, 218, 0, 10)
}

func TestOTLPMetrics_Protobuf(t *testing.T) {
	t.Parallel()
	g := meuptest.Start(t, metricsConfig)
	now := uint64(time.Now().UnixNano())
	text := func(key, s string) *commonpb.KeyValue {
		return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: s}}}
	}
	histogram := &metricspb.Histogram{AggregationTemporality: metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA}
	for kind, n := range map[string]float64{"total": 90, "input": 80, "cached_input": 20, "output": 10, "reasoning_output": 4} {
		histogram.DataPoints = append(histogram.DataPoints, &metricspb.HistogramDataPoint{Attributes: []*commonpb.KeyValue{text("token_type", kind)}, StartTimeUnixNano: now, TimeUnixNano: now + 1, Count: 1, Sum: &n})
	}
	data := &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{{ScopeMetrics: []*metricspb.ScopeMetrics{
		{Metrics: []*metricspb.Metric{{Name: "codex.turn.token_usage", Data: &metricspb.Metric_Histogram{Histogram: histogram}}}},
		{
			Scope:   &commonpb.InstrumentationScope{Name: "github.com/meup-protocol/meup/internal/agent"},
			Metrics: []*metricspb.Metric{{Name: "gen_ai.client.token.usage", Data: &metricspb.Metric_Histogram{Histogram: histogram}}},
		},
	}}}}
	body, err := proto.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.HTTP()+"/v1/metrics", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/x-protobuf", "Authorization": "Bearer coder-token", "Meup-Space": "lab"} {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK || len(got) != 0 {
		t.Errorf("%d %q", res.StatusCode, got)
	}
	wantUsed(t, g, 90, 0, 1)
}

func TestOTLPMetrics_Refused(t *testing.T) {
	t.Parallel()
	g := meuptest.Start(t, metricsConfig)
	now := time.Now()
	point := func(value string) string {
		return metrics(metric("claude_code.cost.usage", "delta", "model=m", value, now, now.Add(time.Minute)))
	}
	for name, c := range map[string]struct{ token, body, want string }{
		"no number":     {"coder-token", point(`"asDouble":"NaN"`), `"rejectedDataPoints":"1"`},
		"negative":      {"coder-token", point(`"asDouble":-1`), `is negative, too large or no number`},
		"too large":     {"coder-token", point(`"asDouble":1e300`), `is negative, too large or no number`},
		"gauge":         {"coder-token", metrics(`{"name":"claude_code.cost.usage","gauge":{"dataPoints":[{"asDouble":1}]}}`), `neither a sum nor a histogram`},
		"not monotonic": {"coder-token", strings.Replace(point(`"asDouble":1`), `"isMonotonic":true`, `"isMonotonic":false`, 1), `neither a sum nor a histogram`},
		"no right":      {"mute-token", point(`"asDouble":1`), `"errorMessage":"Your capabilities do not allow this participant.status."`},
		"no body":       {"coder-token", `[]`, `"code":3`},
		"too many": {"coder-token", metrics(`{"name":"claude_code.cost.usage","sum":{"isMonotonic":true,"aggregationTemporality":1,"dataPoints":[` +
			strings.Repeat(`{},`, 10_000) + `{}]}}`), "more than 10000 points"},
		"too many series": {"coder-token", metrics(manySeries(300, now)...), `"rejectedDataPoints":"44"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, got := postAs(t, g, c.token, "/v1/metrics?space=lab", c.body); !strings.Contains(got, c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func manySeries(n int, now time.Time) (list []string) {
	for i := range n {
		list = append(list, metric("claude_code.token.usage", "cumulative", "type=input,session.id="+strconv.Itoa(i), `"asInt":"1"`, now, now.Add(time.Minute)))
	}
	return list
}
