// Package reasoner implements the Reasoning API: a service that decides an
// agent's next action, a tool call or the final answer, from the state that the
// agent's runtime sends.
//
// [Service] decides and keeps no state between decisions, except a cache of
// summaries. A [DecisionLog] keeps the latest decisions. The packages below this one use
// the service: httpapi serves it over HTTP and posts results to callback URLs, queue makes
// asynchronous decisions.
package reasoner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
	"github.com/meup-protocol/meup/internal/kit/recent"
	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// DefaultModelTimeout bounds a model's time for one decision. After it the
// rules decide, so that the caller gets a response.
const DefaultModelTimeout = 30 * time.Second

// Options configures a Service. The zero Options decide by rules.
type Options struct {
	// Model decides if a request names none; nil: rules decide.
	Model llm.Model
	// Open returns the model of a request: its name is PROVIDER:NAME, key is
	// the request's and may be empty. nil: requests may not name a model.
	// Errors must not contain the key.
	Open func(name, key string) (llm.Model, error)
	// ModelTimeout bounds a model's part of a decision; 0: DefaultModelTimeout.
	ModelTimeout time.Duration
	// Context configures the input of the models that decide.
	Context ContextOptions

	// Record receives a record of each decision; see DecisionLog. It must not
	// block. nil: none.
	Record func(*wire.LogRecord)

	Telemetry *telemetry.Telemetry // nil: none
	Logger    *slog.Logger         // nil: none
	Now       func() time.Time     // nil: time.Now
	NewID     func() string        // returns the unique part of ids; nil: a UUID
}

// Service makes decisions. It is safe for concurrent use.
type Service struct {
	o         Options
	summaries *summaryCache
}

// New returns a Service.
func New(o Options) *Service {
	o.ModelTimeout = cmp.Or(o.ModelTimeout, DefaultModelTimeout)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	return &Service{o: o, summaries: &summaryCache{kept: recent.New[[sha256.Size]byte, string](keptSummaries)}}
}

// Check returns the *Fault that Decide would return for a request, without
// deciding.
func (s *Service) Check(r *wire.AgentIntentRequest) error {
	_, err := newQuestion(r)
	return err
}

// Decide returns the next action. The request must be one that
// DecodeAgentIntent accepts. Errors are an *IntentError with an
// *Fault or ctx's error.
func (s *Service) Decide(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
	began := s.o.Now()
	id := "agent-" + s.o.NewID()
	var meter llm.Meter
	ctx, span := s.o.Telemetry.Span(llm.WithMeter(ctx, &meter), telemetry.Plan, "", telemetry.Intent.String(id))
	d, trace, err := s.decide(ctx, r)
	took := s.o.Now().Sub(began)
	rec := &wire.LogRecord{
		Type: wire.JobAgentIntent, SessionID: r.SessionID, IntentID: id, CorrelationID: r.CorrelationID,
		Source: string(d.Source), Outcome: string(d.Action),
	}
	var out *wire.AgentIntentResponse
	offered := false
	if err == nil {
		out = answer(d, trace)
		out.IntentID, out.DurationMS, out.Usage = id, took.Milliseconds(), usageOf(&meter)
		rec.ToolName, rec.Reasoning, rec.Fallback = out.ToolName, out.Reasoning, fallbackOf(out.Trace)
		offered = slices.ContainsFunc(toolsOf(r.Tools), func(t planner.Tool) bool { return t.Name == out.ToolName })
	}
	s.report(ctx, span, r.LLM, d, rec, offered, took, err) // before the span ends
	span.End(err)
	if err != nil {
		return nil, &IntentError{ID: id, Took: took, Usage: usageOf(&meter), Err: err}
	}
	return out, nil
}

func (s *Service) decide(ctx context.Context, r *wire.AgentIntentRequest) (planner.Decision, []wire.TraceItem, error) {
	q, err := newQuestion(r)
	if err != nil {
		return planner.Decision{}, nil, err
	}
	if q.state.Forced != "" {
		return q.forced(ctx)
	}
	d, trace, err := s.plan(ctx, r, q)
	if err != nil {
		return d, nil, err
	}
	if end, why := q.mustFinish(d); end {
		final := conclude(q.state)
		final.Model, final.Provider, final.Usage = d.Model, d.Provider, d.Usage
		return final, append(trace, wire.TraceItem{Step: "rules", Detail: why}), nil
	}
	return d, trace, nil
}

// Workflow returns the next node of a workflow and its action; see
// NextNode. Errors are those of Decide.
func (s *Service) Workflow(ctx context.Context, r *wire.WorkflowIntentRequest) (out *wire.WorkflowIntentResponse, err error) {
	began := s.o.Now()
	id := "wf-" + s.o.NewID()
	var meter llm.Meter
	ctx, span := s.o.Telemetry.Span(llm.WithMeter(ctx, &meter), telemetry.Plan, "", telemetry.Intent.String(id))
	var d planner.Decision // of a model, if it chose
	if ctx.Err() != nil {
		err = fmt.Errorf("decide workflow: %w", ctx.Err())
	} else {
		out, err = nextNode(ctx, r, s.chooser(r, &d))
	}
	took := s.o.Now().Sub(began)
	rec := &wire.LogRecord{
		Type: wire.JobWorkflowIntent, SessionID: r.RunID, IntentID: id, Source: cmp.Or(string(d.Source), byWorkflow),
	}
	if out != nil {
		rec.ToolName, rec.NextNode, rec.Reasoning, rec.Fallback = out.ToolName, out.NextNode, out.Reasoning, fallbackOf(out.Trace)
		switch {
		case out.Finish:
			rec.Outcome = string(contextwindow.Finish)
		case out.ToolName != "":
			rec.Outcome = string(contextwindow.UseTools)
		default:
			rec.Outcome = outcomeNode
		}
	}
	s.report(ctx, span, r.LLM, d, rec, false, took, err)
	span.End(err)
	if err != nil {
		return nil, &IntentError{ID: id, Took: took, Usage: usageOf(&meter), Err: err}
	}
	out.Status, out.IntentID, out.DurationMS, out.Usage = wire.StatusOK, id, took.Milliseconds(), usageOf(&meter)
	if out.Trace == nil {
		out.Trace = []wire.TraceItem{}
	}
	return out, nil
}

// usageOf returns what a meter counted; nil: no model answered.
func usageOf(meter *llm.Meter) *wire.Usage {
	spent := meter.Spent()
	if len(spent) == 0 {
		return nil
	}
	sum, uncounted := llm.Total(spent)
	return &wire.Usage{Input: sum.Input, Output: sum.Output, Cached: sum.Cached, Reasoning: sum.Reasoning, Uncounted: uncounted}
}

// Source and outcome that only workflows have.
const (
	byWorkflow  = "workflow"
	outcomeNode = "enter_node" // a node without a tool
)

// report sends a decision to telemetry and records it; d is the planner's, and
// may be empty. r has the rest of the record. Without the record, no content is
// sent. offered reports that r.ToolName is one of the request's tools. Names
// that the request may have invented are not used as labels: a tool that was not
// offered, and a model that has not answered.
func (s *Service) report(ctx context.Context, span *telemetry.Span, l *wire.LLM, d planner.Decision, r *wire.LogRecord, offered bool, took time.Duration, err error) {
	done := telemetry.Decision{
		Session: r.SessionID, Intent: r.IntentID, Provider: d.Provider, Model: d.Model, Source: r.Source,
		Usage: d.Usage, Context: d.Shown, Duration: took, Outcome: r.Outcome, Err: err,
	}
	var fault *Fault
	switch {
	case err == nil: // the decided action
	case errors.As(err, &fault):
		done.Outcome = "refused"
	case errors.Is(err, context.Canceled):
		done.Outcome = "cancelled"
	default:
		done.Outcome = "error"
	}
	if d.Fault != nil {
		done.Err = errors.Join(err, maskedError{d.Fault, l})
	}
	if namesModel(l) && d.Source != planner.ByModel && d.Usage == (llm.Usage{}) {
		done.Provider, done.Model = "", ""
	}
	switch {
	case err != nil || r.ToolName == "":
	case offered:
		done.Tools = []string{r.ToolName}
	default:
		span.Set(telemetry.DecisionTools.StringSlice([]string{r.ToolName}))
	}
	s.o.Telemetry.Decided(ctx, done)
	if s.o.Record == nil {
		return
	}
	r.Status, r.Outcome, r.Provider, r.Model, r.DurationMS = wire.StatusOK, done.Outcome, d.Provider, d.Model, took.Milliseconds()
	r.InputTokens, r.OutputTokens, r.Context = d.Usage.Input, d.Usage.Output, contextTrace(d.Shown)
	switch {
	case err != nil:
		f := FaultOf(err)
		r.Status, r.Error, r.Message = wire.StatusError, f.Code, f.Message
	case d.Fault != nil:
		r.Error = telemetry.ErrorClass(d.Fault)
	}
	for _, text := range decisionTexts(r) {
		*text = textutil.Shorten(MaskKey(*text, l), maxRecorded)
	}
	s.o.Record(r)
}

// maskedError is an error without the key of a request.
type maskedError struct {
	err error
	llm *wire.LLM
}

// Error returns the text of the error with the key masked.
func (e maskedError) Error() string { return MaskKey(e.err.Error(), e.llm) }

// Unwrap returns the error.
func (e maskedError) Unwrap() error { return e.err }
