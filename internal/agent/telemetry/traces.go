package telemetry

import (
	"context"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// traces holds the parts that export spans to a collector.
type traces struct {
	provider *sdktrace.TracerProvider
	exporter *exporter
}

func startTraces(ctx context.Context, o Options, endpoint string, mask func(string) string, m *metrics) (*traces, error) {
	quietSDK(o, mask)
	otlp, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint))
	if err != nil {
		return nil, err
	}
	limits := sdktrace.NewSpanLimits()
	// The SDK would cut texts before they are masked, and a partial secret is
	// not recognized. So texts are cut after masking.
	length := limits.AttributeValueLengthLimit
	limits.AttributeValueLengthLimit = -1
	if length >= 0 && length < maxText {
		whole := mask
		mask = func(text string) string { return textutil.Truncate(whole(text), length) }
	}
	e := newExporter(otlp, mask, o, m)
	return &traces{
		exporter: e,
		provider: sdktrace.NewTracerProvider(
			sdktrace.WithBatcher(e), // drops when its queue is full
			sdktrace.WithRawSpanLimits(limits),
			sdktrace.WithResource(resourceFrom(o, mask)),
		),
	}, nil
}

// quietSDK prevents OpenTelemetry's own parts, which are configured through
// globals, from writing to stderr: they quote invalid variables, which may
// include the collector's keys.
func quietSDK(o Options, mask func(string) string) {
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		o.Logger.Warn("OpenTelemetry reports a fault", "error", mask(err.Error()))
	}))
}

// close exports the queued spans. After it no goroutine of the traces is
// running: it waits for the provider, and cancels the exports when ctx ends.
func (t *traces) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	t.exporter.beginShutdown()
	defer context.AfterFunc(ctx, t.exporter.abandon)()
	err := t.provider.Shutdown(context.WithoutCancel(ctx))
	t.exporter.abandon()
	return t.exporter.shutdownErr(err)
}
