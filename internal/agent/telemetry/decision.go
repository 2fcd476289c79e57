package telemetry

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
)

// Decision is a decision of an agent or a reasoning service. It contains names
// and counts, and no text of participants.
type Decision struct {
	Space   string
	Agent   string
	Session string
	Intent  string // its id
	// Provider and Model identify the model that was asked, if any. Source is
	// the origin of the decision, such as a model or rules.
	Provider, Model, Source string
	// Usage is the sum over all answers for the decision.
	Usage llm.Usage
	// Context describes the input of the model; nil if no model was asked.
	Context  *contextwindow.Meta
	Duration time.Duration
	// Outcome is one of few values, since it is a metric label.
	Outcome string
	Tools   []string // chosen tools, in order
	// Err is the error of the decision, or the reason of a fallback; nil: none.
	Err error
}

// Decided reports a decision: one log event, counters, and an event of the span
// in ctx, which also gets the outcome and the source as attributes.
func (t *Telemetry) Decided(ctx context.Context, d Decision) {
	if t == nil {
		return
	}
	t.metrics.decided(d)
	span := trace.SpanFromContext(ctx)
	if span.IsRecording() {
		span.SetAttributes(DecisionOutcome.String(d.Outcome), DecisionSource.String(d.Source))
		if c := d.Context; c != nil { // the input of the model
			span.SetAttributes(ContextGoal.String(string(c.Goal)), ContextTokens.Int(c.Tokens), ContextBudget.Int(c.Budget),
				ContextPreviews.Int(c.Previews), ContextSummarized.Int(c.Summaries), ContextDropped.Int(c.Dropped), ContextTools.Int(c.Tools))
			if len(c.ToolNames) > 0 {
				span.SetAttributes(ContextToolNames.StringSlice(c.ToolNames))
			}
		}
		span.AddEvent("decision", trace.WithAttributes(d.attributes()...))
	}
	level := t.level
	if d.Err != nil {
		level = max(level, slog.LevelInfo)
	}
	// Every text in the log is masked.
	var attrs []slog.Attr
	for _, a := range []struct{ key, text string }{
		{"space", d.Space}, {"agent", d.Agent}, {"session", d.Session}, {"intent", d.Intent},
		{"provider", d.Provider}, {"model", d.Model}, {"source", d.Source}, {"outcome", d.Outcome},
	} {
		if a.text != "" {
			attrs = append(attrs, slog.String(a.key, t.mask(a.text)))
		}
	}
	if len(d.Tools) > 0 {
		tools := make([]string, len(d.Tools))
		for i, name := range d.Tools {
			tools[i] = t.mask(name)
		}
		attrs = append(attrs, slog.Any("tools", tools))
	}
	attrs = append(attrs, slog.Duration("duration", d.Duration),
		slog.Int("input_tokens", d.Usage.Input), slog.Int("output_tokens", d.Usage.Output),
		slog.Int("cached_tokens", d.Usage.Cached), slog.Int("reasoning_tokens", d.Usage.Reasoning))
	if c := d.Context; c != nil {
		attrs = append(attrs, slog.Int("context_tokens", c.Tokens), slog.Int("context_budget", c.Budget),
			slog.Int("previews", c.Previews), slog.Int("summarized", c.Summaries), slog.Int("dropped", c.Dropped), slog.Int("tools_left_out", c.Tools))
	}
	if d.Err != nil {
		attrs = append(attrs, slog.String("error_type", ErrorClass(d.Err)), slog.String("error", t.mask(d.Err.Error())))
	}
	if span.SpanContext().IsValid() {
		attrs = append(attrs, slog.String("trace_id", span.SpanContext().TraceID().String()))
	}
	t.logger.LogAttrs(ctx, level, "decision", attrs...)
}

// Mask masks known secrets and texts that look like secrets, as in all
// telemetry, and bounds the text. A nil Telemetry masks nothing.
func (t *Telemetry) Mask(text string) string {
	if t == nil {
		return text
	}
	return t.mask(text)
}

func (d Decision) attributes() []attribute.KeyValue {
	attrs := usage(d.Usage)
	for _, a := range []struct {
		key  attribute.Key
		text string
	}{
		{ConversationID, d.Space}, {AgentName, d.Agent}, {SessionID, d.Session}, {Intent, d.Intent},
		{ProviderName, d.Provider}, {RequestModel, d.Model},
		{DecisionSource, d.Source}, {DecisionOutcome, d.Outcome}, {ErrorType, ErrorClass(d.Err)},
	} {
		if a.text != "" {
			attrs = append(attrs, a.key.String(a.text))
		}
	}
	if len(d.Tools) > 0 {
		attrs = append(attrs, DecisionTools.StringSlice(d.Tools))
	}
	if d.Err != nil {
		attrs = append(attrs, ErrorMessage.String(d.Err.Error()))
	}
	return append(attrs, DecisionSeconds.Float64(d.Duration.Seconds()))
}
