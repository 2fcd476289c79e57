package reasoner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
)

// plan decides with the model of the request or the service. It uses rules if
// there is no model, it cannot be used, or it does not decide.
func (s *Service) plan(ctx context.Context, r *wire.AgentIntentRequest, q *question) (planner.Decision, []wire.TraceItem, error) {
	summarize, err := s.summarizer(r)
	if err != nil {
		return planner.Decision{}, nil, err
	}
	model, fault := s.model(r.LLM)
	if fault != nil {
		d, err := heuristics{}.Next(ctx, q.state)
		if err != nil {
			return d, nil, fmt.Errorf("decide: %w", err)
		}
		d.Source, d.Fault = planner.Fallback, fault
		s.logFallback(ctx, nameOf(r.LLM), r, fault)
		detail := "The model that the request names cannot be used: " + MaskKey(fault.Error(), r.LLM) + "."
		return d, append([]wire.TraceItem{{Step: "fallback", Detail: detail}}, traceOf(d)...), nil
	}
	var decider planner.Decider = heuristics{}
	if model != nil {
		decider = planner.WithFallback(s.decider(r, model, summarize), decider)
		q.state.Memory = new(planner.Memory) // planning and synthesis share previews and summaries
	}
	d, err := decider.Next(ctx, q.state)
	if err != nil {
		return d, nil, fmt.Errorf("decide: %w", err)
	}
	trace := traceOf(d)
	if d.Fault != nil {
		s.logFallback(ctx, modelName(d.Provider, d.Model), r, d.Fault)
		trace = append([]wire.TraceItem{{Step: "fallback", Detail: modelName(model.Provider(), model.Name()) + " " + reason(d.Fault)}}, trace...)
	}
	return d, trace, nil
}

// decider returns a decider that asks a model within ModelTimeout.
func (s *Service) decider(r *wire.AgentIntentRequest, model llm.Model, summarize contextwindow.Summarizer) planner.Decider {
	observed := s.o.Telemetry.Model(model)
	if namesModel(r.LLM) {
		observed = s.o.Telemetry.UntrustedModel(model)
	}
	tokens := cmp.Or(r.ContextTokens, s.o.Context.Tokens)
	share := cmp.Or(contextwindow.Utilization(r.ContextUtilization), s.o.Context.Utilization)
	return timeoutDecider{
		within: s.o.ModelTimeout,
		decider: planner.NewModel(planner.ModelOptions{
			Model: observed, Budget: tokens, Utilization: share, Summarizer: summarize, Now: s.o.Now, Logger: s.o.Logger,
		}),
	}
}

func (s *Service) logFallback(ctx context.Context, model string, r *wire.AgentIntentRequest, fault error) {
	s.o.Logger.LogAttrs(ctx, slog.LevelWarn, "the model did not decide",
		slog.String("model", MaskKey(model, r.LLM)), slog.String("session", MaskKey(r.SessionID, r.LLM)),
		slog.String("error", MaskKey(fault.Error(), r.LLM)))
}

// model returns the model to call; nil without an error means rules decide.
func (s *Service) model(l *wire.LLM) (llm.Model, error) {
	if !namesModel(l) {
		return s.o.Model, nil
	}
	if s.o.Open == nil {
		return nil, errors.New("this service uses only its own model")
	}
	if l.Model == "" || l.Provider == "" && s.o.Model == nil {
		return nil, errors.New("both llm.provider and llm.model are required")
	}
	if l.Provider == "" { // the provider of the service's model
		return s.o.Open(modelName(s.o.Model.Provider(), l.Model), l.APIKey)
	}
	return s.o.Open(nameOf(l), l.APIKey)
}

// namesModel reports whether a request names a model.
func namesModel(l *wire.LLM) bool { return l != nil && (l.Provider != "" || l.Model != "") }

func nameOf(l *wire.LLM) string {
	return modelName(strings.ToLower(strings.TrimSpace(l.Provider)), strings.TrimSpace(l.Model))
}

// timeoutDecider bounds the time of a decider.
type timeoutDecider struct {
	decider planner.Decider
	within  time.Duration
}

// Next returns the decision, or fails with context.DeadlineExceeded.
func (t timeoutDecider) Next(ctx context.Context, s planner.State) (planner.Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, t.within)
	defer cancel()
	return t.decider.Next(ctx, s)
}

// reason explains why a model did not decide. It does not quote the provider's
// message, which may contain a part of the operator's key: the caller reads
// this text.
func reason(fault error) string {
	var refused *llm.Error
	var network net.Error
	switch {
	case errors.Is(fault, planner.ErrNotCalled):
		return "did not call the tool that it had to call."
	case errors.Is(fault, planner.ErrForced):
		return "cannot be offered the tool that it must call: its schema is invalid or too large for the context window."
	case errors.Is(fault, contextwindow.ErrTooLarge):
		return "has a context window with no room for the goal and the instructions."
	case errors.As(fault, &refused) && refused.TooLong():
		return "refused the request as longer than its context window; context_tokens sets the size of the window."
	case errors.As(fault, &refused) && refused.Status != 0:
		return fmt.Sprintf("refused with status %d.", refused.Status)
	case errors.As(fault, &refused):
		return "refused."
	case errors.Is(fault, context.DeadlineExceeded):
		return "did not answer in time."
	case errors.Is(fault, llm.ErrTruncated):
		return "broke off its answer."
	case errors.Is(fault, planner.ErrBadCalls):
		return "requested calls that cannot be made."
	case errors.Is(fault, planner.ErrSilent), errors.Is(fault, planner.ErrRefused), errors.Is(fault, planner.ErrLength):
		return "gave no answer."
	case errors.As(fault, &network):
		return "could not be reached."
	}
	return "did not decide."
}
