// Package telemetry reports an agent's activity to operators: spans to a
// collector, metrics to Prometheus, and one log event for each decision.
//
// Spans follow the GenAI semantic conventions of OpenTelemetry. Their tree is
//
//	invoke_agent {agent}      one intent, from message to outcome
//	├── plan {agent}          the phase that decides
//	│   └── chat {model}      a request to a model
//	└── execute_tool {tool}   a call that was made
//
// They are exported, by package otlp over HTTP, if OTEL_EXPORTER_OTLP_ENDPOINT or
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set, and cost nearly nothing otherwise.
// A slow or missing collector causes no delay: the spans are dropped, and spans
// of failed exports are counted.
//
// The telemetry contains no text of participants or models. Names and error
// texts may still contain a secret, so every string is masked, in one place for
// each kind of output.
package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Options configures the telemetry. The zero value is ready to use. The export
// is configured by the OTEL_* variables of the process.
type Options struct {
	// Service is the service's name unless OTEL_SERVICE_NAME or
	// OTEL_RESOURCE_ATTRIBUTES sets one. Version is its version.
	Service, Version string
	// Exporter creates the exporter of spans, such as otlp.New; nil: spans are
	// not exported.
	Exporter func(context.Context) (sdktrace.SpanExporter, error)
	// Logger logs the decisions and failures to export spans; nil discards
	// them.
	Logger *slog.Logger
	// DecisionLevel is the level of the log events of decisions without an error; others
	// have at least slog.LevelInfo. Zero: slog.LevelInfo.
	DecisionLevel slog.Level
	// Secrets are masked, like texts that look like secrets. A secret of fewer
	// than 6 bytes is ignored, since it would mask ordinary words.
	Secrets []string
}

// Telemetry reports the activity of one program. All methods are safe for
// concurrent use, and do nothing on a nil Telemetry.
type Telemetry struct {
	logger  *slog.Logger
	level   slog.Level // of decisions without an error
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
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	mask, err := newMasker(append(collectorKeys(), o.Secrets...))
	if err != nil {
		return nil, err
	}
	t := &Telemetry{logger: o.Logger, level: o.DecisionLevel, mask: mask, metrics: newMetrics(o, mask)}
	if wanted, err := exportWanted(); err != nil || !wanted || o.Exporter == nil {
		t.tracer = noop.NewTracerProvider().Tracer(scope)
		return t, err
	}
	t.traces, err = startTraces(ctx, o, mask, t.metrics)
	if err != nil {
		return nil, fmt.Errorf("export spans: %w", err)
	}
	t.tracer = t.traces.provider.Tracer(scope, trace.WithInstrumentationVersion(o.Version))
	return t, nil
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
	return promhttp.HandlerFor(t.metrics.registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(t.logger.Handler(), slog.LevelWarn),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
	})
}
