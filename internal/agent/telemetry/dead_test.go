package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// TestClose_HangingCollector checks that any number of spans end without a wait,
// and that Close returns when its context ends.
func TestClose_HangingCollector(t *testing.T) {
	arrived, release := make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}))
	defer func() {
		close(release)
		server.CloseClientConnections()
		server.Close()
	}()
	log := new(testkit.Log)
	environment(t, "OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	telemetry := start(t, Options{Logger: loggerOf(log)})
	for range 10_000 { // five times the queue
		_, span := telemetry.Span(t.Context(), ExecuteTool, "tool")
		span.End(nil)
	}
	<-arrived
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := telemetry.Close(ctx); err == nil {
		t.Error("Close does not say that spans were lost")
	}
	if log.String() != "" {
		t.Errorf("the log has what Close says:\n%s", log)
	}
	if !strings.Contains(scrape(t, telemetry), `meup_spans_total{state="lost"}`) {
		t.Error("lost spans are not counted")
	}
}

// TestClose_MissingCollector uses an endpoint without a listener.
func TestClose_MissingCollector(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	url := server.URL
	server.Close()
	environment(t, "OTEL_EXPORTER_OTLP_ENDPOINT", url)
	telemetry := start(t, Options{})
	intent(t, telemetry)
	first := telemetry.Close(t.Context())
	if first == nil || !errors.Is(telemetry.Close(t.Context()), first) {
		t.Errorf("Close: %v", first)
	}
	_, span := telemetry.Span(t.Context(), Chat, "late") // a span after Close is harmless
	span.End(nil)
}

// TestClose_RefusingCollector uses a collector that quotes its key.
func TestClose_RefusingCollector(t *testing.T) {
	const key = "collector-key-1"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "bad credentials: "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), http.StatusUnauthorized)
	}))
	defer server.Close()
	environment(t, "OTEL_EXPORTER_OTLP_ENDPOINT", server.URL, "OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20"+key)
	telemetry := start(t, Options{})
	intent(t, telemetry)
	err := telemetry.Close(t.Context())
	if err == nil || strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "bad credentials: [redacted:secret]") {
		t.Errorf("Close: %v", err)
	}
}

// refusing is an exporter that returns err.
type refusing struct{ err error }

func (r *refusing) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return r.err }
func (*refusing) Shutdown(context.Context) error                               { return nil }

// TestExporter_WarnsOnce checks that a warning is not logged for each
// batch, nor each time that the collector fails again.
func TestExporter_WarnsOnce(t *testing.T) {
	log, next := new(testkit.Log), &refusing{}
	o := Options{Logger: loggerOf(log)}
	mask := func(s string) string { return strings.ReplaceAll(s, "secret", "*") }
	e := newExporter(next, mask, o, newMetrics(o, mask))
	for range 100 {
		next.err = errors.New("secret connection refused")
		for range 10 {
			if err := e.ExportSpans(t.Context(), nil); err != nil {
				t.Fatal("the SDK would print this:", err)
			}
		}
		next.err = nil
		_ = e.ExportSpans(t.Context(), nil)
	}
	if n := strings.Count(log.String(), "WARN"); n != 1 {
		t.Errorf("%d warnings", n)
	}
	if strings.Contains(log.String(), "secret") {
		t.Error("the warning is not masked")
	}
}

func TestErrorTypes(t *testing.T) {
	for want, err := range map[string]error{
		"context_too_large": fmt.Errorf("plan: %w", contextwindow.ErrTooLarge),
		"":                  nil,
		"429":               fmt.Errorf("ask: %w", &llm.Error{Status: 429, Code: "rate_limit_exceeded"}),
		"refused":           &llm.Error{Code: "whatever a provider says"},
		"canceled":          fmt.Errorf("ask: %w", context.Canceled),
		"timeout":           context.DeadlineExceeded,
		"answer_cut_off":    fmt.Errorf("ask: %w", llm.ErrTruncated),
		"_OTHER":            errors.New("something"),
	} {
		t.Run(want, func(t *testing.T) {
			if got := ErrorClass(err); got != want {
				t.Errorf("%v is %q, want %q", err, got, want)
			}
		})
	}
}
