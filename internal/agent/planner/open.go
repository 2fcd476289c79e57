package planner

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm/models"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
)

// Options selects a decider: the rules, a language model, or a service with the
// Reasoning API. Rules is required.
type Options struct {
	Rules Decider // decides if the options and the environment select nothing else
	// RulesFallback uses the rules when the model or the service does not decide.
	RulesFallback bool

	// ModelName is PROVIDER:NAME, or RulesName; empty: the model for which the
	// environment has a key, otherwise the rules.
	ModelName string
	BaseURL   string // of the provider; empty: its default
	API       string // as in models.Options
	// SummarizationModel is PROVIDER:NAME of a model that summarizes long
	// results; empty: none. BaseURL and API apply to the provider of ModelName.
	SummarizationModel string
	ModelOptions       // Model and Summarizer are set by Open

	// Reasoner is the URL of a Reasoning API, used instead of a model: of the
	// service, or of the NATS server of its queue. If it is empty, the
	// environment can select a Reasoning API; see package client/reasoner.
	Reasoner      string
	ReasonerToken string // of the service, not of NATS

	Getenv    func(string) string
	Telemetry *telemetry.Telemetry
}

// RulesName selects the rules, and is their Approach.
const RulesName = "rules"

// ReasonerName is the Approach of a Reasoning API.
const ReasonerName = "reasoner"

// Opened is an opened decider.
type Opened struct {
	Decider
	Approach string // its name in reasoning.start
	Close    func() error
}

// Open opens the decider. Its errors name the invalid option.
func Open(o Options) (*Opened, error) {
	// The options or the environment select a Reasoning API; a model that is named takes
	// precedence over the environment.
	name, named := o.ModelName, o.ModelName+o.BaseURL != ""
	service := o.Reasoner != "" || !named && o.Getenv != nil && (o.Getenv(reasoner.EnvTransport) != "" || o.Getenv(reasoner.EnvURL) != "")
	switch {
	case service && named:
		return nil, errors.New("a reasoning service decides by itself: name it, or a model, not both")
	case name == "" && !service && o.BaseURL != "":
		return nil, errors.New("a base URL is of no use without the model's name")
	case name == "" && !service:
		name, _ = models.FromEnvironment(o.Getenv)
	}
	opened := &Opened{Approach: cmp.Or(name, RulesName), Close: func() error { return nil }}
	switch {
	case service:
		var err error
		opened, err = openService(&o)
		if err != nil {
			return nil, err
		}
	case opened.Approach == RulesName:
		opened.Decider = o.Rules
		return opened, nil
	default:
		settings := models.Options{BaseURL: o.BaseURL, API: o.API, Getenv: o.Getenv, Logger: o.Logger}
		model, err := models.Open(name, settings)
		if err != nil {
			return nil, err
		}
		o.Model = o.Telemetry.Model(model)
		if o.SummarizationModel != "" {
			summarizer, err := models.Open(o.SummarizationModel, settings.For(o.SummarizationModel, name))
			if err != nil {
				return nil, fmt.Errorf("summarization: %w", err)
			}
			o.Summarizer = contextwindow.SummarizeBy(o.Telemetry.Model(summarizer))
		}
		opened.Decider = NewModel(o.ModelOptions)
	}
	if o.RulesFallback {
		opened.Decider = WithFallback(opened.Decider, o.Rules)
	}
	return opened, nil
}
