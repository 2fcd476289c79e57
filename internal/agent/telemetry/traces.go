package telemetry

import (
	"context"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// traces are the parts that bring spans to a collector.
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
	// The SDK would cut before we mask, and half a secret looks like none. So
	// texts are cut behind the masker.
	length := limits.AttributeValueLengthLimit
	limits.AttributeValueLengthLimit = -1
	if length >= 0 && length < maxText {
		whole := mask
		mask = func(text string) string { return cut(whole(text), length) }
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

// quietSDK keeps OpenTelemetry's own parts, which speak through globals, from
// writing to stderr: they quote variables that they do not understand, keys for
// a collector among them.
func quietSDK(o Options, mask func(string) string) {
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		o.Logger.Warn("OpenTelemetry reports a fault", "error", mask(err.Error()))
	}))
}

// close exports what is queued. Behind it nothing of ours is running: the
// provider is waited for, and when ctx ends it is the exports that end.
func (t *traces) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	t.exporter.last()
	defer context.AfterFunc(ctx, t.exporter.abandon)()
	err := t.provider.Shutdown(context.WithoutCancel(ctx))
	t.exporter.abandon()
	return t.exporter.outcome(err)
}
