package telemetry

import (
	"context"
	"errors"
	"iter"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
)

// Operation is the operation of a span, as named by the conventions.
type Operation string

// Values of Operation.
const (
	InvokeAgent Operation = "invoke_agent"
	Plan        Operation = "plan"
	Chat        Operation = "chat"
	ExecuteTool Operation = "execute_tool"
)

// Attributes of the GenAI conventions. They are defined here because the
// conventions still change.
const (
	OperationName = attribute.Key("gen_ai.operation.name")
	ProviderName  = attribute.Key("gen_ai.provider.name")

	AgentID        = attribute.Key("gen_ai.agent.id")
	AgentName      = attribute.Key("gen_ai.agent.name")
	ConversationID = attribute.Key("gen_ai.conversation.id") // the space

	RequestModel     = attribute.Key("gen_ai.request.model")
	RequestMaxTokens = attribute.Key("gen_ai.request.max_tokens")

	ResponseID      = attribute.Key("gen_ai.response.id")
	ResponseModel   = attribute.Key("gen_ai.response.model")
	FinishReasons   = attribute.Key("gen_ai.response.finish_reasons")
	InputTokens     = attribute.Key("gen_ai.usage.input_tokens")
	OutputTokens    = attribute.Key("gen_ai.usage.output_tokens")
	CachedTokens    = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	ReasoningTokens = attribute.Key("gen_ai.usage.reasoning.output_tokens")

	ToolName   = attribute.Key("gen_ai.tool.name")
	ToolCallID = attribute.Key("gen_ai.tool.call.id")

	ErrorType = attribute.Key("error.type")
)

// Attributes outside the conventions.
const (
	SessionID       = attribute.Key("meup.session.id")
	Intent          = attribute.Key("meup.intent")
	DecisionSource  = attribute.Key("meup.decision.source")
	DecisionOutcome = attribute.Key("meup.decision.outcome")
	DecisionTools   = attribute.Key("meup.decision.tools")
	DecisionSeconds = attribute.Key("meup.decision.duration")
	ErrorMessage    = attribute.Key("error.message")

	// The input of the model that decided: estimated tokens, and the numbers of
	// results that were not shown in full.
	ContextGoal       = attribute.Key("meup.context.goal")
	ContextTokens     = attribute.Key("meup.context.tokens")
	ContextBudget     = attribute.Key("meup.context.budget")
	ContextPreviews   = attribute.Key("meup.context.previews")
	ContextSummarized = attribute.Key("meup.context.summarized")
	ContextDropped    = attribute.Key("meup.context.dropped")
	ContextTools      = attribute.Key("meup.context.tools_left_out")
	ContextToolNames  = attribute.Key("meup.context.tools_left_out.names") // the first of them
)

// kind returns the span kind that the conventions define for the operation:
// only a request to a model leaves the process.
func (o Operation) kind() trace.SpanKind {
	if o == Chat {
		return trace.SpanKindClient
	}
	return trace.SpanKindInternal
}

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
		switch op {
		case InvokeAgent, Plan:
			about = append(about, AgentName.String(name))
		case Chat:
			about = append(about, RequestModel.String(name))
		case ExecuteTool:
			about = append(about, ToolName.String(name))
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
		s.span.SetAttributes(ErrorType.String(ErrorClass(err)))
	}
	s.span.End()
	s.telemetry.metrics.ended(s.operation, s.name, time.Since(s.begun), err)
}

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

// Generate calls the model within a span, and measures the answer. An answer
// that its caller leaves before its end is canceled.
func (m observedModel) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		attrs := []attribute.KeyValue{ProviderName.String(m.Provider())}
		if req.MaxTokens > 0 {
			attrs = append(attrs, RequestMaxTokens.Int(req.MaxTokens))
		}
		begun := time.Now()
		ctx, span := m.telemetry.Span(ctx, Chat, m.Name(), attrs...)
		var resp llm.Response
		failed := context.Canceled
		defer func() {
			answer := usage(resp.Usage)
			if resp.ID != "" {
				answer = append(answer, ResponseID.String(resp.ID))
			}
			if resp.Model != "" {
				answer = append(answer, ResponseModel.String(resp.Model))
			}
			if resp.Stop != "" {
				answer = append(answer, FinishReasons.StringSlice([]string{string(resp.Stop)}))
			}
			span.Set(answer...)
			span.End(failed)
			label := m.telemetry.metrics.label.model.value
			if m.untrusted && failed != nil {
				label = m.telemetry.metrics.label.model.known
			}
			m.telemetry.metrics.modelCalled(m.Provider(), label(m.Name()), resp.Usage, time.Since(begun), failed)
		}()
		for event, err := range m.Model.Generate(ctx, req) {
			switch {
			case err != nil:
				failed = err
			case event.Response != nil:
				resp, failed = *event.Response, nil
			}
			if !yield(event, err) {
				return
			}
		}
	}
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

// The values of error.type, in addition to the HTTP status of a provider's
// refusal.
const (
	errorCanceled = "canceled"
	errorTimeout  = "timeout"
	errorCut      = "answer_cut_off"
	errorRefused  = "refused" // by a provider, within a stream
	errorNetwork  = "network"
	errorNoRoom   = "context_too_large" // the question does not fit into the window
	errorOther    = "_OTHER"            // defined by the conventions
)

// ErrorClass returns the class of an error. There are few classes, since they
// are metric labels.
func ErrorClass(err error) string {
	if err == nil {
		return ""
	}
	if refused, ok := errors.AsType[*llm.Error](err); ok {
		if refused.Status >= 100 && refused.Status <= 599 {
			return strconv.Itoa(refused.Status)
		}
		return errorRefused
	}
	network, isNetwork := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, context.Canceled):
		return errorCanceled
	case errors.Is(err, context.DeadlineExceeded), isNetwork && network.Timeout():
		return errorTimeout
	case errors.Is(err, contextwindow.ErrTooLarge):
		return errorNoRoom
	case errors.Is(err, llm.ErrTruncated):
		return errorCut
	case isNetwork:
		return errorNetwork
	default:
		return errorOther
	}
}
