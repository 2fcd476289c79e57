// Package mind selects the decider of an agent: rules, a language model, or a
// service with the Reasoning API.
package mind

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/llm/models"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
)

// Options selects the decider. The zero value selects the rules, unless the
// environment has a model's key.
type Options struct {
	// Model is PROVIDER:NAME; empty: the model for which the environment has a
	// key, otherwise Rules. Rules is also a valid name.
	Model   string
	BaseURL string // of the provider; empty: its default
	// Reasoner is the URL of a Reasoning API, used instead of a model.
	Reasoner      string
	ReasonerToken string

	// RulesFallback uses the rules when the model does not decide.
	RulesFallback bool

	ContextTokens int // the model's context window; 0: the planner's default
	Utilization   contextwindow.Utilization
	Summarise     bool // the model summarizes long results
	Effort        string
	MaxTokens     int

	Session   string // identifies the agent to a Reasoning API
	Getenv    func(string) string
	Telemetry *telemetry.Telemetry
	Logger    *slog.Logger
}

// Rules names the planner that decides without a model.
const Rules = "rules"

// reasonerTime bounds one decision of a Reasoning API, which queries a model.
const reasonerTime = 2 * time.Minute

// Mind is an opened decider.
type Mind struct {
	Planner planner.Decider
	// Approach is its name in reasoning.start.
	Approach string
	close    func() error
}

// Close releases the opened resources.
func (m *Mind) Close() error {
	if m.close == nil {
		return nil
	}
	return m.close()
}

// Open opens the decider. Its errors name the invalid option.
func Open(o Options) (*Mind, error) {
	if o.Reasoner != "" {
		if o.Model != "" || o.BaseURL != "" {
			return nil, errors.New("a reasoning service decides by itself: name it, or a model, not both")
		}
		return o.remote()
	}
	name := o.Model
	if name == "" && o.BaseURL != "" {
		return nil, errors.New("a base URL is of no use without the model's name")
	}
	if name == "" {
		name, _ = models.FromEnvironment(o.Getenv)
	}
	if name == "" || name == Rules {
		return &Mind{Planner: planner.Rules{}, Approach: Rules}, nil
	}
	model, err := models.Open(name, models.Options{BaseURL: o.BaseURL, Getenv: o.Getenv, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	return &Mind{Planner: o.byModel(o.Telemetry.Model(model)), Approach: name}, nil
}

func (o Options) byModel(model llm.Model) planner.Decider {
	opts := planner.ModelOptions{
		Model: model, Budget: o.ContextTokens, Utilization: o.Utilization,
		Effort: o.Effort, MaxTokens: o.MaxTokens, Logger: o.Logger,
	}
	if o.Summarise {
		opts.Summarizer = &contextwindow.ModelSummarizer{Model: model}
	}
	if o.RulesFallback {
		return planner.WithFallback(planner.NewModel(opts), planner.Rules{})
	}
	return planner.NewModel(opts)
}

func (o Options) remote() (*Mind, error) {
	c, err := reasoner.New(reasoner.Options{URL: o.Reasoner, Token: o.ReasonerToken, Timeout: reasonerTime})
	if err != nil {
		return nil, fmt.Errorf("open reasoning service: %w", err)
	}
	m := &Mind{Planner: &planner.Remote{Client: c, Session: o.Session}, Approach: "reasoner", close: c.Close}
	if o.RulesFallback {
		m.Planner = planner.WithFallback(m.Planner, planner.Rules{})
	}
	return m, nil
}
