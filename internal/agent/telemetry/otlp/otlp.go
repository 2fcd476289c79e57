// Package otlp creates the exporter of spans over OTLP/HTTP. It is separate
// from package telemetry because the library brings gRPC and its code into
// each program that imports it, and the gateway, which runs an agent in its
// demo, exports no spans.
package otlp

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// New returns an exporter that is configured by the OTEL_* variables of the
// process. It is meant for telemetry.Options.Exporter.
func New(ctx context.Context) (sdktrace.SpanExporter, error) {
	return otlptracehttp.New(ctx)
}
