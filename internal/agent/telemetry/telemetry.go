package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Options say who reports. The zero Options will do.
type Options struct {
	// Service is the service's name where OTEL_SERVICE_NAME and
	// OTEL_RESOURCE_ATTRIBUTES name none, Version what it says of itself.
	Service, Version string
	// Logger gets the decisions, and is told when spans cannot be exported;
	// nil: nobody.
	Logger *slog.Logger
	// Getenv is asked whether and where to export, and for the resource; nil
	// is os.Getenv. Sampler, headers, certificates, timeouts, compression,
	// batches and limits are read by OpenTelemetry's own parts, from the
	// process's environment.
	Getenv func(string) string
	// Mask takes secrets out of a text; nil masks what internal/redact's rules
	// find. It may be called concurrently.
	Mask func(string) string
	// Secrets are masked wherever they occur, before Mask sees the text. One
	// of fewer than 6 bytes is ignored: it would blank ordinary words.
	Secrets []string
}

// Telemetry is what one program reports. All methods may be called
// concurrently, and do nothing when it is nil.
type Telemetry struct {
	logger  *slog.Logger
	mask    func(string) string
	metrics *metrics
	tracer  trace.Tracer

	traces *traces // nil when nothing is exported
	once   sync.Once
	closed error
}

// scope names the instrumentation that the spans come from.
const scope = "github.com/meup-protocol/meup/internal/agent/telemetry"

// closeWithin bounds the last export: whoever stops a program does not wait
// for a collector that is gone.
const closeWithin = 3 * time.Second

// Start begins to report. An error means that the environment asks for
// something that is not understood, and is no reason to retry. Close must be
// called when Start succeeds.
func Start(ctx context.Context, o Options) (*Telemetry, error) {
	o = o.withDefaults()
	mask, err := newMasker(o.Mask, append(collectorKeys(o.Getenv), o.Secrets...))
	if err != nil {
		return nil, err
	}
	t := &Telemetry{logger: o.Logger, mask: mask, metrics: newMetrics(o, mask)}
	endpoint, err := endpointFrom(o.Getenv)
	if err != nil {
		return nil, err
	}
	if endpoint == "" {
		t.tracer = noop.NewTracerProvider().Tracer(scope)
		return t, nil
	}
	t.traces, err = startTraces(ctx, o, endpoint, mask, t.metrics)
	if err != nil {
		return nil, fmt.Errorf("export spans: %w", err)
	}
	t.tracer = t.traces.provider.Tracer(scope, trace.WithInstrumentationVersion(o.Version))
	return t, nil
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return o
}

// Close exports what is left, for 3 seconds at most. It returns an error when
// some of it was lost, which ends nothing but the spans.
func (t *Telemetry) Close(ctx context.Context) error {
	if t == nil || t.traces == nil {
		return nil
	}
	t.once.Do(func() { t.closed = t.traces.close(ctx) })
	return t.closed
}

// Metrics serves the metrics to Prometheus.
func (t *Telemetry) Metrics() http.Handler {
	if t == nil {
		return http.NotFoundHandler()
	}
	return t.metrics.handler(t.logger)
}
