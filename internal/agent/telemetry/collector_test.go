package telemetry

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/meup-protocol/meup/internal/agent/telemetry/otlp"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// collector receives spans over OTLP/HTTP.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	paths []string
	sent  [][]byte // bodies
	spans []*tracepb.Span
	from  []*commonpb.KeyValue // the last resource
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(c.receive))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collectorpb.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &request)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paths, c.sent = append(c.paths, r.URL.Path), append(c.sent, body)
	for _, rs := range request.ResourceSpans {
		c.from = rs.Resource.Attributes
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
}

// span returns the span of a name.
func (c *collector) span(t *testing.T, name string) *tracepb.Span {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for _, s := range c.spans {
		if s.Name == name {
			return s
		}
		names = append(names, s.Name)
	}
	t.Fatalf("no span %q among %q", name, names)
	return nil
}

// raw returns all received bodies.
func (c *collector) raw() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(bytes.Join(c.sent, nil))
}

// texts returns attributes as texts.
func texts(list []*commonpb.KeyValue) map[string]string {
	m := make(map[string]string)
	for _, kv := range list {
		switch v := kv.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			m[kv.Key] = v.StringValue
		case *commonpb.AnyValue_ArrayValue:
			for _, x := range v.ArrayValue.Values {
				m[kv.Key] += "," + x.GetStringValue()
			}
		default:
			m[kv.Key] = kv.Value.String()
		}
	}
	return m
}

// environment sets variables until the test ends.
func environment(t *testing.T, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		t.Setenv(pairs[i], pairs[i+1])
	}
}

func loggerOf(log *testkit.Log) *slog.Logger {
	return slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func start(t *testing.T, o Options) *Telemetry {
	t.Helper()
	o.Exporter = otlp.New
	telemetry, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return telemetry
}

func closed(t *testing.T, telemetry *Telemetry) {
	t.Helper()
	if err := telemetry.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func scrape(t *testing.T, telemetry *Telemetry) string {
	t.Helper()
	w := httptest.NewRecorder()
	telemetry.Metrics().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}
