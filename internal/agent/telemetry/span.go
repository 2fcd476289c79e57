package telemetry

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Span is a running operation. Its methods are safe for concurrent use, and do
// nothing on a nil Span.
type Span struct {
	telemetry *Telemetry
	span      trace.Span
	operation Operation
	name      string
	begun     time.Time
	ended     atomic.Bool
}

// Span starts an operation within the operation of ctx, and returns a context
// for nested operations. Name is the name of the agent, model or tool,
// depending on the operation; it may be empty. The caller must end the span.
func (t *Telemetry) Span(ctx context.Context, op Operation, name string, attrs ...attribute.KeyValue) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	title := string(op)
	about := []attribute.KeyValue{OperationName.String(string(op))}
	if name != "" {
		title += " " + name
		if key, ok := op.subject(); ok {
			about = append(about, key.String(name))
		}
	}
	s := &Span{telemetry: t, operation: op, name: name, begun: time.Now()}
	ctx, s.span = t.tracer.Start(ctx, title,
		trace.WithSpanKind(op.kind()), trace.WithTimestamp(s.begun),
		trace.WithAttributes(append(about, attrs...)...))
	return ctx, s
}

// Set adds attributes, or replaces existing ones with the same keys.
func (s *Span) Set(attrs ...attribute.KeyValue) {
	if s == nil {
		return
	}
	s.span.SetAttributes(attrs...)
}

// End ends the span; a non-nil err marks it as failed. Later calls are ignored.
func (s *Span) End(err error) {
	if s == nil || !s.ended.CompareAndSwap(false, true) {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, err.Error())
		s.span.SetAttributes(ErrorType.String(errorType(err)))
	}
	s.span.End()
	s.telemetry.metrics.ended(s.operation, s.name, time.Since(s.begun), err)
}
