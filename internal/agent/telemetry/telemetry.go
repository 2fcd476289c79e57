package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Options configures the telemetry. The zero value is ready to use.
type Options struct {
	// Service is the service's name unless OTEL_SERVICE_NAME or
	// OTEL_RESOURCE_ATTRIBUTES sets one. Version is its version.
	Service, Version string
	// Logger logs the decisions and failures to export spans; nil discards
	// them.
	Logger *slog.Logger
	// Getenv reads the settings of the export and the resource; nil means
	// os.Getenv. Sampler, headers, certificates, timeouts, compression, batches
	// and limits are read by OpenTelemetry's own parts, from the process's
	// environment.
	Getenv func(string) string
	// Mask removes secrets from a text; nil applies the rules of
	// internal/redact. It may be called concurrently.
	Mask func(string) string
	// Secrets are masked everywhere, before Mask is applied. A secret of fewer
	// than 6 bytes is ignored, since it would mask ordinary words.
	Secrets []string
}

// Telemetry reports the activity of one program. All methods are safe for
// concurrent use, and do nothing on a nil Telemetry.
type Telemetry struct {
	logger  *slog.Logger
	mask    func(string) string
	metrics *metrics
	tracer  trace.Tracer

	traces *traces // nil if nothing is exported
	once   sync.Once
	closed error
}

// scope names the instrumentation that creates the spans.
const scope = "github.com/meup-protocol/meup/internal/agent/telemetry"

// closeWithin bounds the last export, so that a program ends without a long
// wait for a missing collector.
const closeWithin = 3 * time.Second

// Start starts the telemetry. An error means that the environment has an
// invalid setting; a retry is of no use. If Start succeeds, the caller must
// call Close.
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

// Close exports the remaining spans, for 3 seconds at most. It returns an error
// if some were lost.
func (t *Telemetry) Close(ctx context.Context) error {
	if t == nil || t.traces == nil {
		return nil
	}
	t.once.Do(func() { t.closed = t.traces.close(ctx) })
	return t.closed
}

// Registerer registers further metrics of the program, which Metrics serves too.
func (t *Telemetry) Registerer() prometheus.Registerer { return t.metrics.registry }

// Metrics serves the metrics to Prometheus.
func (t *Telemetry) Metrics() http.Handler {
	if t == nil {
		return http.NotFoundHandler()
	}
	return t.metrics.handler(t.logger)
}
