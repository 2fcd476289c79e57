package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

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
	e.recordExport(len(spans), e.next.ExportSpans(ctx, masked))
	return nil
}

// Shutdown is called once, after the last export.
func (e *exporter) Shutdown(ctx context.Context) error { return e.next.Shutdown(ctx) }

// recordExport counts a batch, and logs when exports begin to fail or work again.
func (e *exporter) recordExport(spans int, err error) {
	e.metrics.exported(spans, err)
	e.mu.Lock()
	began, ended := err != nil && !e.failing, err == nil && e.failing
	e.failing = err != nil
	if e.closing && err != nil {
		e.lost, e.err = e.lost+spans, err
	}
	now := time.Now()
	warn := began && !e.closing && (e.warned.IsZero() || now.Sub(e.warned) >= warnInterval)
	if warn {
		e.warned = now
	}
	e.mu.Unlock()

	switch {
	case warn:
		e.logger.Warn("spans cannot be exported and are dropped", "error", e.mask(err.Error()), "spans", spans)
	case ended:
		e.logger.Debug("spans are exported again")
	}
}

// beginShutdown marks the beginning of the shutdown. Later failures are reported by
// outcome.
func (e *exporter) beginShutdown() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closing = true
}

// shutdownErr returns the error of the shutdown: of an export since beginShutdown, or else
// err.
func (e *exporter) shutdownErr(err error) error {
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
