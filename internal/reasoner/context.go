package reasoner

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/kit/recent"
)

// ContextOptions configures the input of the models that decide. Requests may
// override each of them.
type ContextOptions struct {
	Tokens      int                       // context window of the model; 0: the planner's default
	Utilization contextwindow.Utilization // share of it to use
	Summarizer  llm.Model                 // summarizes long results; nil: previews
}

// Bounds of summaries. The time for them is part of a decision's, so that a
// slow model leaves previews instead of no decision.
const (
	summaryTimeShare   = 2 // the divisor of Options.ModelTimeout
	maxSummaryFailures = 3 // of one decision; then the rest are previews
	keptSummaries      = 512
	maxKeptSummary     = 16 << 10 // bytes
)

// summarizer returns the summarizer of a request; nil: previews. A model that
// cannot be opened is a *Fault.
func (s *Service) summarizer(r *wire.AgentIntentRequest) (contextwindow.Summarizer, error) {
	model, named := s.o.Context.Summarizer, r.SummarizationModel
	switch {
	case named == wire.SummarizationOff, named == "" && model == nil:
		return nil, nil
	case named == "":
		return s.boundedSummaries(s.o.Telemetry.Model(model)), nil
	}
	provider, _, _ := strings.Cut(named, ":")
	key := ""
	if r.LLM != nil && strings.EqualFold(strings.TrimSpace(r.LLM.Provider), provider) {
		key = r.LLM.APIKey // it is sent only to the provider that it is for
	}
	var opened llm.Model
	err := errors.New("this service uses only its own model")
	if s.o.Open != nil {
		opened, err = s.o.Open(named, key)
	}
	if err != nil {
		return nil, &Fault{
			Status: http.StatusUnprocessableEntity, Code: CodeInvalidRequest, Path: "/summarization_model",
			Message: "The summarization_model cannot be used: " + MaskKey(err.Error(), r.LLM) + ". Name another one as PROVIDER:NAME, or leave it out.",
		}
	}
	return s.boundedSummaries(s.o.Telemetry.UntrustedModel(opened)), nil
}

// boundedSummaries returns a Summarizer for one decision.
func (s *Service) boundedSummaries(model llm.Model) contextwindow.Summarizer {
	summarize := s.summaries.wrap(model.Provider()+":"+model.Name(), contextwindow.SummarizeBy(model))
	until := time.Now().Add(s.o.ModelTimeout / summaryTimeShare)
	failures := 0
	return func(ctx context.Context, req contextwindow.SummaryRequest) (string, error) {
		if failures == maxSummaryFailures {
			return "", fmt.Errorf("no summary after %d failures", failures)
		}
		ctx, cancel := context.WithDeadline(ctx, until)
		defer cancel()
		text, err := summarize(ctx, req)
		if err != nil {
			failures++
		}
		return text, err
	}
}

// summaryCache keeps the latest summaries, because requests for the decisions
// on one goal contain the same results. Keys are hashes of all inputs.
type summaryCache struct {
	mu   sync.Mutex
	kept *recent.Map[[sha256.Size]byte, string]
}

// wrap returns a Summarizer that requests each summary once.
func (c *summaryCache) wrap(model string, summarize contextwindow.Summarizer) contextwindow.Summarizer {
	return func(ctx context.Context, req contextwindow.SummaryRequest) (string, error) {
		key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %s", model, req.Tool, req.Question, req.Result))
		c.mu.Lock()
		text, ok := c.kept.Get(key)
		c.mu.Unlock()
		if ok {
			return text, nil
		}
		text, err := summarize(ctx, req)
		if err == nil && len(text) <= maxKeptSummary {
			c.mu.Lock()
			c.kept.Put(key, text)
			c.mu.Unlock()
		}
		return text, err
	}
}
