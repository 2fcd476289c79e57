// Package reasoner is the Reasoning API: a service that decides an agent's next
// action, a tool call or the end, from what the agent's runtime says about it.
//
// [Service] decides, and keeps nothing between two decisions. [NewHandler]
// serves it over HTTP. [Background] computes what was asked for asynchronously
// and [Callbacks] brings the results to whoever wants them, through a [Guard]
// that lets nobody aim the service at its own network.
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

// DefaultModelTimeout bounds what a model has for one decision. Behind it the
// rules decide, so that the caller has an answer.
const DefaultModelTimeout = 30 * time.Second

// Options are the parts of a Service. The zero Options decide by rules.
type Options struct {
	// Planner decides without a model, and when one does not; nil searches
	// once and goes on with planner.Rules.
	Planner planner.Decider
	// Model decides where a request names none; nil: rules do.
	Model llm.Model
	// Open returns the model of a request: its name is PROVIDER:NAME, key is
	// the request's and may be empty. nil: requests may not name one. The
	// errors must not have the key in them.
	Open func(name, key string) (llm.Model, error)
	// ModelTimeout bounds a model's part of a decision; 0: DefaultModelTimeout.
	ModelTimeout time.Duration
	// Budget is how many tokens a model is shown; 0: the planner's own.
	Budget int

	Telemetry *telemetry.Telemetry // nil: none
	Logger    *slog.Logger         // nil: none
	Now       func() time.Time     // nil: time.Now
	NewID     func() string        // the unique part of ids; nil: a UUID
}

// Service decides. It may be used by many at the same time.
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

// Decide decides the next action. The request is one that DecodeAgentIntent
// accepts. Errors are a *Fault, or wrap ctx's.
func (s *Service) Decide(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
	began := s.o.Now()
	id := "agent-" + s.o.NewID()
	ctx, span := s.o.Telemetry.Span(ctx, telemetry.Plan, "", telemetry.Intent.String(id))
	d, trace, err := s.decide(ctx, r)
	took := s.o.Now().Sub(began)
	s.report(ctx, span, r, id, d, took, err) // into the span
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
	if end, why := q.mustEnd(d); end {
		final := conclude(q.state)
		final.Model, final.Provider, final.Usage = d.Model, d.Provider, d.Usage
		return final, append(trace, wire.TraceItem{Step: "rules", Detail: why}), nil
	}
	return d, trace, nil
}
