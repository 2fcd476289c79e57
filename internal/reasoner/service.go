// Package reasoner implements the Reasoning API: a service that decides an
// agent's next action, a tool call or the final answer, from the state that the
// agent's runtime sends.
//
// [Service] decides and keeps no state between decisions. [NewHandler] serves
// it over HTTP. [Background] makes asynchronous decisions and [Callbacks] posts
// their results, through a [Guard] that keeps callers from directing requests
// at the service's own network.
package reasoner

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
)

// DefaultModelTimeout bounds a model's time for one decision. After it the
// rules decide, so that the caller gets a response.
const DefaultModelTimeout = 30 * time.Second

// Options configures a Service. The zero Options decide by rules.
type Options struct {
	// Planner decides without a model, and when the model does not decide; nil
	// searches once and continues with planner.Rules.
	Planner planner.Decider
	// Model decides if a request names none; nil: rules decide.
	Model llm.Model
	// Open returns the model of a request: its name is PROVIDER:NAME, key is
	// the request's and may be empty. nil: requests may not name a model.
	// Errors must not contain the key.
	Open func(name, key string) (llm.Model, error)
	// ModelTimeout bounds a model's part of a decision; 0: DefaultModelTimeout.
	ModelTimeout time.Duration
	// Budget bounds a model's context window, in tokens; 0: the planner's
	// default.
	Budget int

	Telemetry *telemetry.Telemetry // nil: none
	Logger    *slog.Logger         // nil: none
	Now       func() time.Time     // nil: time.Now
	NewID     func() string        // returns the unique part of ids; nil: a UUID
}

// Service makes decisions. It is safe for concurrent use.
type Service struct{ o Options }

// New returns a Service.
func New(o Options) *Service {
	if o.Planner == nil {
		o.Planner = heuristics{rules: planner.Rules{}}
	}
	if o.ModelTimeout <= 0 {
		o.ModelTimeout = DefaultModelTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	return &Service{o: o}
}

// Decide returns the next action. The request must be one that
// DecodeAgentIntent accepts. Errors are a *Fault, or wrap ctx's.
func (s *Service) Decide(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
	began := s.o.Now()
	id := "agent-" + s.o.NewID()
	ctx, span := s.o.Telemetry.Span(ctx, telemetry.Plan, "", telemetry.Intent.String(id))
	d, trace, err := s.decide(ctx, r)
	took := s.o.Now().Sub(began)
	s.report(ctx, span, r, id, d, took, err) // before the span ends
	span.End(err)
	if err != nil {
		return nil, err
	}
	out := answer(d, trace)
	out.IntentID, out.DurationMS = id, took.Milliseconds()
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
		return planner.Decision{}, nil, err
	}
	if end, why := q.mustFinish(d); end {
		final := conclude(q.state)
		final.Model, final.Provider, final.Usage = d.Model, d.Provider, d.Usage
		return final, append(trace, wire.TraceItem{Step: "rules", Detail: why}), nil
	}
	return d, trace, nil
}
