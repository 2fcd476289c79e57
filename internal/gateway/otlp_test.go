package gateway_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// The AI SDK exports with both encodings, in one batch and span by span.
func TestOTLP_VercelAISDK(t *testing.T) {
	t.Parallel()
	nodeModules(t, "ai")
	var runs []map[string]string
	var gateways []*meuptest.Gateway
	for _, test := range []struct{ encoding, compression, simple string }{
		{"http", "none", ""}, {"proto", "gzip", ""}, {"http", "gzip", "yes"}, {"proto", "none", "yes"},
	} {
		g := meuptest.Start(t, aguiConfig)
		gateways = append(gateways, g)
		runs = append(runs, map[string]string{"ADDRESS": g.HTTP(), "ENCODING": test.encoding, "COMPRESSION": test.compression, "SIMPLE": test.simple})
	}
	outs := nodeRuns(t, "ai", "otlp.mjs", []string{"TOKEN=planner-token"}, runs)
	for i, run := range runs {
		t.Run(strings.Join([]string{run["ENCODING"], run["COMPRESSION"], run["SIMPLE"]}, " "), func(t *testing.T) {
			if strings.TrimSpace(outs[i]) != "the file is short" {
				t.Fatal(outs[i])
			}
			lines, log := story(t, gateways[i], "alice")
			for _, want := range []string{
				"planner reasoning.start", "planner reasoning.thought", "planner mcp.request to [planner]", "planner mcp.response", "planner reasoning.conclusion",
			} {
				if n := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) }); n < 0 {
					t.Errorf("no %s", want)
				}
			}
			contains(t, lines, `"name":"read"`, `"arguments":{"path":"a.txt"}`, `"text":"the text"`, `"message":"the file is short"`,
				`"input_tokens":7`, `"model":"mock-model"`, `"message":"calls read"`)
			if first := log[0]; run["SIMPLE"] == "" && first.ParsePayload().Get("message").Text() != "how long is the file?" {
				t.Errorf("%s", first.Payload)
			}
			if n := len(log); n != 7 {
				t.Errorf("%d envelopes\n%s", n, strings.Join(lines, "\n"))
			}
		})
	}
}

// traceOf records the spans of an agent that calls a model, another agent and a tool that
// fails.
func traceOf(tracer trace.Tracer) {
	attributes := func(pairs ...string) trace.SpanStartEventOption {
		var list []attribute.KeyValue
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, attribute.String(pairs[i], pairs[i+1]))
		}
		return trace.WithAttributes(list...)
	}
	ctx, server := tracer.Start(context.Background(), "POST /ask")
	ctx, agent := tracer.Start(ctx, "invoke_agent lead", attributes("gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "lead",
		"gen_ai.input.messages", `[{"role":"system","parts":[{"type":"text","content":"be kind"}]},{"role":"user","parts":[{"type":"text","content":"why?"}]}]`,
		"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"because"}]}]`))
	_, model := tracer.Start(ctx, "chat m", attributes("gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.completion.0.content", "I ask another one"))
	model.End()
	inner, other := tracer.Start(ctx, "helper", attributes("openinference.span.kind", "AGENT", "input.value", "a part", "output.value", "the part is done"))
	_, database := tracer.Start(inner, "SELECT")
	database.End()
	_, tool := tracer.Start(inner, "write", attributes("traceloop.span.kind", "tool", "traceloop.entity.name", "write", "traceloop.entity.input", `{"path":"b.txt"}`))
	tool.SetStatus(codes.Error, "disk full")
	tool.End()
	other.End()
	agent.End()
	server.End()
}

// provider exports spans to an address.
func provider(t *testing.T, address, token string, batch bool) *sdktrace.TracerProvider {
	t.Helper()
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(address+"/v1/traces"),
		otlptracehttp.WithHeaders(map[string]string{"Authorization": "Bearer " + token, "Meup-Space": "lab"}), otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: 10 * time.Millisecond, MaxInterval: 100 * time.Millisecond, MaxElapsedTime: testkit.Patience}),
		otlptracehttp.WithTimeout(testkit.Patience))
	if err != nil {
		t.Fatal(err)
	}
	option := sdktrace.WithSyncer(exporter)
	if batch {
		option = sdktrace.WithBatcher(exporter, sdktrace.WithBatchTimeout(testkit.Patience), sdktrace.WithExportTimeout(testkit.Patience))
	}
	p := sdktrace.NewTracerProvider(option)
	t.Cleanup(func() { _ = p.Shutdown(context.WithoutCancel(t.Context())) })
	return p
}

// The exporter of Go's SDK: a batch becomes nested contexts in the order of time; spans
// one by one, each before its parent, are all there too.
func TestOTLP_GoSDK(t *testing.T) {
	for _, batch := range []bool{true, false} {
		t.Run(fmt.Sprint("batch ", batch), func(t *testing.T) {
			g := meuptest.Start(t, aguiConfig)
			p := provider(t, g.HTTP(), "planner-token", batch)
			traceOf(p.Tracer("any"))
			if err := p.ForceFlush(t.Context()); err != nil {
				t.Fatal(err)
			}
			lines, log := story(t, g, "alice")
			contains(t, lines, `"message":"why?"`, `"message":"because"`, `"message":"I ask another one"`, `"message":"a part"`, `"message":"the part is done"`,
				`"name":"write"`, `"error":{"code":-32000,"message":"disk full"}`, `"duration_ms"`, `"started_at"`)
			var kinds []string
			for _, e := range log {
				kinds = append(kinds, strings.Repeat(" ", e.Context.Depth())+string(e.Kind))
			}
			want := []string{
				"reasoning.start", " reasoning.start", "  reasoning.thought", "  reasoning.start", "   reasoning.thought", "   mcp.request", "   mcp.response",
				"   reasoning.conclusion", "  reasoning.conclusion", " reasoning.conclusion",
			}
			if batch && !slices.Equal(kinds, want) {
				t.Errorf("%q", kinds)
			}
			slices.Sort(kinds)
			if !batch && len(kinds) != len(want) {
				t.Errorf("%q", kinds)
			}
			// Spans of the own programs are in the space already.
			traceOf(p.Tracer("github.com/meup-protocol/meup/internal/agent/telemetry"))
			if err := p.ForceFlush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, again := story(t, g, "alice"); len(again) != len(log) {
				t.Errorf("%d envelopes more", len(again)-len(log))
			}
		})
	}
}

// Exports through a proxy that drops each response twice, over a low rate: everything
// arrives once.
func TestOTLP_Retries(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(aguiConfig, `planner: {token: planner-token, capabilities: ["*"]}`,
		`planner: {token: planner-token, capabilities: ["*"], limits: {rate: 1000, burst: 5}}`, 1))
	target, err := url.Parse(g.HTTP())
	if err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int64
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1)%3 == 0 {
			proxy.ServeHTTP(w, r)
			return
		}
		proxy.ServeHTTP(httptest.NewRecorder(), r)
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(front.Close)
	p := provider(t, front.URL, "planner-token", true)
	const count = 20
	for range count {
		traceOf(p.Tracer("any"))
	}
	if err := p.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, log := story(t, g, "alice")
	if len(log) != 10*count || requests.Load() < 3 {
		t.Errorf("%d envelopes, %d requests", len(log), requests.Load())
	}
}

// export posts spans with the ids that texts give.
func exportSpans(t *testing.T, g *meuptest.Gateway, token string, list ...*tracepb.Span) (int, http.Header, string) {
	t.Helper()
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: list}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return postOTLP(t, g, token, "application/x-protobuf", "", body)
}

func postOTLP(t *testing.T, g *meuptest.Gateway, token, kind, encoding string, body []byte) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.HTTP()+"/v1/traces", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", kind)
	if encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

func spanOf(trace, id, parent byte, pairs ...string) *tracepb.Span {
	s := &tracepb.Span{TraceId: bytes.Repeat([]byte{trace}, 16), SpanId: bytes.Repeat([]byte{id}, 8), Name: "span"}
	if parent != 0 {
		s.ParentSpanId = bytes.Repeat([]byte{parent}, 8)
	}
	for i := 0; i < len(pairs); i += 2 {
		s.Attributes = append(s.Attributes, &commonpb.KeyValue{Key: pairs[i], Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: pairs[i+1]}}})
	}
	return s
}

func TestOTLP_Faults(t *testing.T) {
	g := meuptest.Start(t, aguiConfig)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := z.Write(make([]byte, 64<<20)); err != nil {
		t.Fatal(err)
	}
	_ = z.Close()
	for name, test := range map[string]struct {
		token, kind, encoding, body string
		status                      int
		want                        string
	}{
		"no token":      {"", "application/json", "", `{}`, 401, `"code":16`},
		"wrong token":   {"wrong", "application/x-protobuf", "", "", 401, "token"},
		"type":          {"alice-token", "text/plain", "", `{}`, 415, `"code":3`},
		"encoding":      {"alice-token", "application/json", "br", `{}`, 415, `gzip`},
		"no gzip":       {"alice-token", "application/json", "gzip", `{}`, 400, `gzip`},
		"bomb":          {"alice-token", "application/json", "gzip", bomb.String(), 413, `4 MiB`},
		"no json":       {"alice-token", "application/json; charset=utf-8", "", `{`, 400, `"code":3`},
		"no protobuf":   {"alice-token", "application/x-protobuf", "", "\x0a\xff", 400, "Export"},
		"too large":     {"alice-token", "application/json", "", strings.Repeat(" ", 5<<20), 413, `bytes`},
		"nothing":       {"alice-token", "application/json", "", `{}`, 200, `{}`},
		"invalid ids":   {"alice-token", "application/json", "", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"00","spanId":"x"}]}]}]}`, 400, ``},
		"zero ids":      {"alice-token", "application/json", "", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"00000000000000000000000000000000","spanId":"0000000000000001"}]}]}]}`, 200, `"rejectedSpans":"1"`},
		"not permitted": {"guest-token", "application/json", "", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"11111111111111111111111111111111","spanId":"0000000000000001","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}}]}]}]}]}`, 200, `"rejectedSpans":"1"`},
	} {
		t.Run(name, func(t *testing.T) {
			status, header, body := postOTLP(t, g, test.token, test.kind, test.encoding, []byte(test.body))
			if status != test.status || !strings.Contains(body, test.want) || header.Get("Content-Type") == "" {
				t.Errorf("%d %v %q", status, header, body)
			}
		})
	}
	if _, log := story(t, g, "alice"); len(log) > 0 {
		t.Errorf("%d envelopes", len(log))
	}
	if status, body := postAs(t, g, "alice-token", "/v1/traces?space=nowhere", `{}`); status != http.StatusNotFound || !strings.Contains(body, `"code":5`) {
		t.Errorf("no such space: %d %s", status, body)
	}
}

// Traces without an end are canceled beyond a number; others are not touched.
func TestOTLP_OpenTraces(t *testing.T) {
	g := meuptest.Start(t, aguiConfig)
	const most = 64
	for i := range byte(most + 3) {
		if status, _, body := exportSpans(t, g, "planner-token", spanOf(i+1, 2, 1, "gen_ai.operation.name", "chat")); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
	}
	// The root of a trace ends it, also if it is no GenAI span.
	exportSpans(t, g, "planner-token", spanOf(most+3, 1, 0))
	// A trace without GenAI spans is ignored.
	exportSpans(t, g, "planner-token", spanOf(200, 1, 0))
	count := make(map[protocol.Kind]int)
	_, log := story(t, g, "alice")
	for _, e := range log {
		count[e.Kind]++
	}
	if count["reasoning.start"] != most+3 || count["reasoning.cancel"] != 3 || count["reasoning.conclusion"] != 1 {
		t.Errorf("%v", count)
	}
}

// Secrets in spans are masked, and spans that contain each other are published.
func TestOTLP_HostileSpans(t *testing.T) {
	g := meuptest.Start(t, aguiConfig)
	const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	a, b := spanOf(1, 1, 2, "openinference.span.kind", "AGENT", "output.value", secret), spanOf(1, 2, 1, "openinference.span.kind", "AGENT")
	var chain []*tracepb.Span
	for i := range byte(250) {
		chain = append(chain, spanOf(2, i+2, i+1, "openinference.span.kind", "AGENT"))
	}
	for range 2 {
		if status, _, body := exportSpans(t, g, "planner-token", append([]*tracepb.Span{a, b, a}, chain[:60]...)...); status != 200 || body != "" {
			t.Fatalf("%d %q", status, body)
		}
	}
	if status, _, body := exportSpans(t, g, "planner-token", chain...); status != 200 || body != "" {
		t.Fatalf("%d %q", status, body)
	}
	lines, _ := story(t, g, "alice")
	if strings.Contains(strings.Join(lines, ""), secret) {
		t.Error("a secret is in the log")
	}
	contains(t, lines, "[redacted:")
}

// The root of a trace ends it also after a restart, if it is no GenAI span.
func TestOTLP_RestartWithinTrace(t *testing.T) {
	g := meuptest.Start(t, aguiConfig+"data: "+t.TempDir()+"\n")
	for trace := range byte(2) {
		exportSpans(t, g, "planner-token", spanOf(trace+1, 2, 1, "gen_ai.operation.name", "chat"))
	}
	g.Restart()
	for range 2 { // the second one is a retry
		if status, _, body := exportSpans(t, g, "planner-token", spanOf(1, 1, 0)); status != 200 || body != "" {
			t.Fatalf("%d %q", status, body)
		}
	}
	wantStory(t, g, "alice", "planner reasoning.start", "planner reasoning.thought in #1", "planner reasoning.start", "planner reasoning.thought in #3",
		"planner reasoning.conclusion in #1")
}

// A gateway that was restarted has forgotten what it published; the log has not. An export
// over the rate is refused with a time to wait.
func TestOTLP_Restart(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(aguiConfig, `guest: {token: guest-token, capabilities: [chat]}`,
		`guest: {token: guest-token, capabilities: ["*"], limits: {kinds: [{kind: "reasoning/*", rate: 0.001, burst: 1}]}}`, 1))
	list := []*tracepb.Span{spanOf(1, 2, 1, "openinference.span.kind", "TOOL"), spanOf(1, 1, 0, "openinference.span.kind", "AGENT")}
	for range 2 {
		if status, _, body := exportSpans(t, g, "planner-token", list...); status != 200 || body != "" {
			t.Fatalf("%d %q", status, body)
		}
		if _, log := story(t, g, "alice"); len(log) != 5 {
			t.Errorf("%d envelopes", len(log))
		}
		g.Restart()
	}
	status, header, body := exportSpans(t, g, "guest-token", list...)
	if status != http.StatusTooManyRequests || header.Get("Retry-After") == "" || header.Get("Content-Type") != "application/x-protobuf" || !strings.Contains(body, "limit") {
		t.Errorf("%d %v %q", status, header, body)
	}
}
