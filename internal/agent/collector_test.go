package agent_test

import (
	"bytes"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/meup-protocol/meup/internal/agent/telemetry"
	"github.com/meup-protocol/meup/internal/agent/telemetry/otlp"
)

// watched is an agent's telemetry with a collector that receives its spans over
// OTLP/HTTP, and the log of its decisions.
type watched struct {
	*telemetry.Telemetry
	mu    sync.Mutex
	sent  bytes.Buffer // bodies as received
	spans []*tracepb.Span
	log   bytes.Buffer
}

func watch(t *testing.T) *watched {
	t.Helper()
	w := &watched{}
	server := httptest.NewServer(http.HandlerFunc(w.receive))
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	var err error
	w.Telemetry, err = telemetry.Start(t.Context(), telemetry.Options{
		Service: "meup-agent", Exporter: otlp.New, Logger: slog.New(slog.NewJSONHandler(w, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watched) receive(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collectorpb.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &request)
	}
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent.Write(body)
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			w.spans = append(w.spans, scope.Spans...)
		}
	}
}

// Write receives a line of the log.
func (w *watched) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(line)
}

// end exports the remaining spans. It is called after the agent has ended.
func (w *watched) end(t *testing.T) {
	t.Helper()
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (w *watched) metrics(t *testing.T) string {
	t.Helper()
	page := httptest.NewRecorder()
	w.Metrics().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if page.Code != http.StatusOK {
		t.Fatalf("metrics: status %d", page.Code)
	}
	return page.Body.String()
}

// branch is a span with its children, ordered by start time.
type branch struct {
	*tracepb.Span
	within []*branch
}

// tree returns the only root span with its descendants.
func (w *watched) tree(t *testing.T) *branch {
	t.Helper()
	all := make(map[string]*branch)
	for _, s := range w.spans {
		all[string(s.SpanId)] = &branch{Span: s}
	}
	var root *branch
	for _, b := range all {
		parent := all[string(b.ParentSpanId)]
		switch {
		case parent != nil:
			parent.add(b)
		case len(b.ParentSpanId) > 0 || root != nil:
			t.Fatalf("%s is not within the question's span", b.Name)
		default:
			root = b
		}
	}
	if root == nil {
		t.Fatal("no spans were received")
	}
	for _, b := range all {
		if !bytes.Equal(b.TraceId, root.TraceId) {
			t.Errorf("%s is in another trace", b.Name)
		}
	}
	return root
}

func (b *branch) add(child *branch) {
	at := len(b.within)
	for at > 0 && b.within[at-1].StartTimeUnixNano > child.StartTimeUnixNano {
		at--
	}
	b.within = append(b.within[:at:at], append([]*branch{child}, b.within[at:]...)...)
}

// outline formats the tree: a name, then the children in brackets.
func (b *branch) outline() string {
	out := b.Name
	if len(b.within) == 0 {
		return out
	}
	out += " ("
	for i, child := range b.within {
		if i > 0 {
			out += ", "
		}
		out += child.outline()
	}
	return out + ")"
}

// says checks the span's attributes.
func (b *branch) says(t *testing.T, want map[string]string) {
	t.Helper()
	got := make(map[string]string)
	for _, kv := range b.Attributes {
		got[kv.Key] = kv.Value.GetStringValue()
	}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s: %s is %q, want %q", b.Name, key, got[key], value)
		}
	}
}

func (b *branch) traceID() string { return hex.EncodeToString(b.TraceId) }
