package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// traces holds the parts that export spans to a collector.
type traces struct {
	provider *sdktrace.TracerProvider
	exporter *exporter
}

func startTraces(ctx context.Context, o Options, mask func(string) string, m *metrics) (*traces, error) {
	// OpenTelemetry's own parts, which are configured through globals, must not write to
	// stderr: they quote invalid variables, which may include the collector's keys.
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		o.Logger.Warn("OpenTelemetry reports a fault", "error", mask(err.Error()))
	}))
	next, err := o.Exporter(ctx)
	if err != nil {
		return nil, err
	}
	limits := sdktrace.NewSpanLimits()
	// The SDK would cut texts before they are masked, and a partial secret is
	// not recognized. So texts are cut after masking.
	length, cut := limits.AttributeValueLengthLimit, mask
	limits.AttributeValueLengthLimit = -1
	if length >= 0 && length < maxText {
		cut = func(text string) string { return textutil.Truncate(mask(text), length) }
	}
	e := newExporter(next, cut, o, m)
	var service []attribute.KeyValue
	if o.Service != "" {
		service = append(service, semconv.ServiceName(o.Service))
	}
	if o.Version != "" {
		service = append(service, semconv.ServiceVersion(o.Version))
	}
	// The environment takes precedence over the options. The error is about invalid items of
	// OTEL_RESOURCE_ATTRIBUTES, which are ignored.
	about, _ := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(service...), resource.WithFromEnv())
	return &traces{
		exporter: e,
		provider: sdktrace.NewTracerProvider(
			sdktrace.WithBatcher(e), // drops when its queue is full
			sdktrace.WithRawSpanLimits(limits),
			sdktrace.WithResource(resource.NewSchemaless(maskedAttributes(about.Attributes(), cut)...)),
		),
	}, nil
}

// close exports the queued spans. After it no goroutine of the traces is
// running: it waits for the provider, and cancels the exports when ctx ends.
func (t *traces) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	e := t.exporter
	e.mu.Lock()
	e.closing = true
	e.mu.Unlock()
	defer context.AfterFunc(ctx, e.abandon)()
	err := t.provider.Shutdown(context.WithoutCancel(ctx))
	e.abandon()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return fmt.Errorf("export the last %d spans: %s", e.lost, e.mask(e.err.Error()))
	}
	if err != nil {
		return fmt.Errorf("export the last spans: %w", err)
	}
	return nil
}

// exportWanted reports whether the environment asks for the export of spans.
// The SDK reads all settings itself, but without an endpoint it would export to
// localhost, and it would ignore invalid settings.
func exportWanted() (bool, error) {
	exporters := strings.FieldsFunc(os.Getenv("OTEL_TRACES_EXPORTER"), func(r rune) bool { return r == ',' || r == ' ' })
	for _, name := range exporters {
		if name != "otlp" && name != "none" {
			return false, fmt.Errorf("OTEL_TRACES_EXPORTER %q: want otlp or none", name)
		}
	}
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || len(exporters) > 0 && !slices.Contains(exporters, "otlp") {
		return false, nil
	}
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		value := strings.TrimSpace(os.Getenv(variable))
		if value == "" {
			continue
		}
		u, err := url.Parse(value)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			// The error does not quote the value, which may contain a password.
			return false, fmt.Errorf("%s: want http://HOST or https://HOST", variable)
		}
		return true, nil
	}
	return false, nil
}

// collectorKeys returns the values of the headers for the collector, which may
// quote them in a refusal.
func collectorKeys() []string {
	var keys []string
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		for header := range strings.SplitSeq(os.Getenv(variable), ",") {
			_, value, _ := strings.Cut(header, "=")
			value = strings.TrimSpace(value)
			if decoded, err := url.PathUnescape(value); err == nil {
				value = decoded
			}
			_, credentials, _ := strings.Cut(value, " ") // after a scheme, such as Bearer
			keys = append(keys, value, strings.TrimSpace(credentials))
		}
	}
	return keys
}

// warnInterval is the minimum interval between warnings about a collector.
const warnInterval = 10 * time.Minute

// exporter masks spans and passes them to the next exporter. Failures are not
// retried: the spans are lost and counted, and a warning is logged once in a
// while.
type exporter struct {
	next    sdktrace.SpanExporter
	mask    func(string) string
	logger  *slog.Logger
	metrics *metrics

	ctx     context.Context // canceled to abandon running exports
	abandon context.CancelFunc

	mu      sync.Mutex
	closing bool
	lost    int   // since closing
	err     error // the latest since closing
	failing bool
	warned  time.Time
}

func newExporter(next sdktrace.SpanExporter, mask func(string) string, o Options, m *metrics) *exporter {
	e := &exporter{next: next, mask: mask, logger: o.Logger, metrics: m}
	e.ctx, e.abandon = context.WithCancel(context.Background())
	return e
}

// ExportSpans masks and exports. It always returns nil: the SDK would print
// every error.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()

	masked := make([]sdktrace.ReadOnlySpan, len(spans))
	for i, s := range spans {
		masked[i] = maskedSpan{ReadOnlySpan: s, mask: e.mask}
	}
	err := e.next.ExportSpans(ctx, masked)
	// Count the batch, and log when exports begin to fail or work again.
	state := "exported"
	if err != nil {
		state = "lost"
	}
	e.metrics.spans.WithLabelValues(state).Add(float64(len(spans)))
	e.mu.Lock()
	began, ended := err != nil && !e.failing, err == nil && e.failing
	e.failing = err != nil
	if e.closing && err != nil {
		e.lost, e.err = e.lost+len(spans), err
	}
	now := time.Now()
	warn := began && !e.closing && (e.warned.IsZero() || now.Sub(e.warned) >= warnInterval)
	if warn {
		e.warned = now
	}
	e.mu.Unlock()

	switch {
	case warn:
		e.logger.Warn("spans cannot be exported and are dropped", "error", e.mask(err.Error()), "spans", len(spans))
	case ended:
		e.logger.Debug("spans are exported again")
	}
	return nil
}

// Shutdown is called once, after the last export.
func (e *exporter) Shutdown(ctx context.Context) error { return e.next.Shutdown(ctx) }

// maskedSpan is a span with masked texts.
type maskedSpan struct {
	sdktrace.ReadOnlySpan
	mask func(string) string
}

// Name returns the masked name.
func (s maskedSpan) Name() string { return s.mask(s.ReadOnlySpan.Name()) }

// Attributes returns the masked attributes.
func (s maskedSpan) Attributes() []attribute.KeyValue {
	return maskedAttributes(s.ReadOnlySpan.Attributes(), s.mask)
}

// Status returns the status with a masked description.
func (s maskedSpan) Status() sdktrace.Status {
	status := s.ReadOnlySpan.Status()
	status.Description = s.mask(status.Description)
	return status
}

// Events returns masked copies.
func (s maskedSpan) Events() []sdktrace.Event {
	events := append([]sdktrace.Event(nil), s.ReadOnlySpan.Events()...)
	for i := range events {
		events[i].Name = s.mask(events[i].Name)
		events[i].Attributes = maskedAttributes(events[i].Attributes, s.mask)
	}
	return events
}

// Links returns masked copies.
func (s maskedSpan) Links() []sdktrace.Link {
	links := append([]sdktrace.Link(nil), s.ReadOnlySpan.Links()...)
	for i := range links {
		links[i].Attributes = maskedAttributes(links[i].Attributes, s.mask)
	}
	return links
}
