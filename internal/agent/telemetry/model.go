package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// Model wraps a model so that each answer has a span and is measured. The
// contents of requests and answers are ignored.
func (t *Telemetry) Model(m llm.Model) llm.Model {
	if t == nil || m == nil {
		return m
	}
	return observedModel{Model: m, telemetry: t}
}

// UntrustedModel wraps a model whose name comes from a request, like Model. The
// name becomes a metric label only after the model has answered, since a
// request can contain any name.
func (t *Telemetry) UntrustedModel(m llm.Model) llm.Model {
	if t == nil || m == nil {
		return m
	}
	return observedModel{Model: m, telemetry: t, untrusted: true}
}

type observedModel struct {
	llm.Model
	telemetry *Telemetry
	untrusted bool
}

// Generate calls the model within a span.
func (m observedModel) Generate(ctx context.Context, req llm.Request, on func(llm.Delta)) (llm.Response, error) {
	attrs := []attribute.KeyValue{ProviderName.String(m.Provider())}
	if req.MaxTokens > 0 {
		attrs = append(attrs, RequestMaxTokens.Int(req.MaxTokens))
	}
	begun := time.Now()
	ctx, span := m.telemetry.Span(ctx, Chat, m.Name(), attrs...)
	resp, err := m.Model.Generate(ctx, req, on)
	span.Set(answered(resp)...)
	span.End(err)
	label := m.telemetry.metrics.label.model.value
	if m.untrusted && err != nil {
		label = m.telemetry.metrics.label.model.known
	}
	m.telemetry.metrics.modelCalled(m.Provider(), label(m.Name()), resp.Usage, time.Since(begun), err)
	return resp, err
}

// answered returns the attributes of an answer, which may be incomplete.
func answered(r llm.Response) []attribute.KeyValue {
	attrs := usage(r.Usage)
	if r.ID != "" {
		attrs = append(attrs, ResponseID.String(r.ID))
	}
	if r.Model != "" {
		attrs = append(attrs, ResponseModel.String(r.Model))
	}
	if r.Stop != "" {
		attrs = append(attrs, FinishReasons.StringSlice([]string{string(r.Stop)}))
	}
	return attrs
}

// usage returns the attributes for the counts that are not 0.
func usage(u llm.Usage) []attribute.KeyValue {
	var attrs []attribute.KeyValue
	for _, c := range []struct {
		key   attribute.Key
		count int
	}{{InputTokens, u.Input}, {OutputTokens, u.Output}, {CachedTokens, u.Cached}, {ReasoningTokens, u.Reasoning}} {
		if c.count > 0 {
			attrs = append(attrs, c.key.Int(c.count))
		}
	}
	return attrs
}
