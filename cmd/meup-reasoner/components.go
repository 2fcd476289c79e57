package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/llm/models"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
	"github.com/meup-protocol/meup/internal/agent/telemetry/otlp"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/reasoner"
	"github.com/meup-protocol/meup/internal/reasoner/httpapi"
)

// components are the parts that serve and worker share: models, metrics and
// callbacks.
type components struct {
	service   *reasoner.Service
	guard     *httpapi.Guard
	callbacks *httpapi.Poster
	telemetry *telemetry.Telemetry
	metrics   *httpapi.Metrics
	records   *reasoner.DecisionLog
	started   time.Time
	about     map[string]any // the configuration, for diagnostics
	counts    func(context.Context) (wire.QueueCounts, error)
	log       *slog.Logger
}

// assemble creates the components; close closes them. secrets are masked in all
// telemetry.
func assemble(ctx context.Context, f *commonFlags, log *slog.Logger, secrets []string) (*components, error) {
	guard, err := httpapi.NewGuard(f.allowCallback, nil)
	if err != nil {
		return nil, program.Usagef("--callback-allow: %w", err)
	}
	secret, err := f.secret()
	if err != nil {
		return nil, err
	}
	var model, summarizer llm.Model
	if f.model != "" {
		model, err = f.open(f.model, "", log)
		if err != nil {
			return nil, err
		}
	}
	if f.summarization != "" {
		summarizer, err = f.open(f.summarization, "", log)
		if err != nil {
			return nil, fmt.Errorf("--summarization-model: %w", err)
		}
	}
	secrets = append(append(secrets, string(secret)), models.Mask(os.Getenv)...)
	tel, err := telemetry.Start(ctx, telemetry.Options{Service: "meup-reasoner", Version: program.Version(version), Exporter: otlp.New, Logger: log, Secrets: secrets})
	if err != nil {
		return nil, err
	}
	records, err := f.records.open(tel.Mask, log)
	if err != nil {
		return nil, errors.Join(err, tel.Close(ctx))
	}
	metrics := httpapi.NewMetrics(tel.Registerer())
	return &components{
		records: records, started: time.Now(),
		about: map[string]any{
			"model": f.model, "model_timeout": f.modelTimeout.String(), "context_tokens": cmp.Or(f.contextTokens, planner.DefaultBudget),
			"context_utilization": f.utilization, "summarization_model": f.summarization, "queue": f.queue.wanted(), "workers": f.queue.workers,
		},
		service: reasoner.New(reasoner.Options{
			Model: model, ModelTimeout: f.modelTimeout, Record: records.Add, Telemetry: tel, Logger: log,
			Context: reasoner.ContextOptions{
				Tokens: f.contextTokens, Utilization: contextwindow.Utilization(f.utilization), Summarizer: summarizer,
			},
			Open: func(name, key string) (llm.Model, error) { return f.open(name, key, log) },
		}),
		guard:     guard,
		callbacks: httpapi.NewPoster(httpapi.PosterOptions{Guard: guard, Secret: secret, Logger: log, Observe: metrics.Callback}),
		telemetry: tel, metrics: metrics, log: log,
	}, nil
}

// open opens a model by name: the service's own, or a request's. The
// address of --base-url, --api, and a key without a provider, apply to the provider of
// --model only; a request that names another provider must not send the
// operator's key there.
//
// The address of a provider without a key is on this host. A request must not
// reach it unless the operator has named the provider.
func (f *commonFlags) open(name, key string, log *slog.Logger) (llm.Model, error) {
	if provider, _, _ := strings.Cut(name, ":"); slices.Contains(localProviders, provider) && !models.SameProvider(name, f.model) && !models.SameProvider(name, f.summarization) && !slices.Contains(f.allowLocal, provider) {
		return nil, fmt.Errorf("this service uses no model of %s unless its operator allows it", provider)
	}
	o := models.Options{BaseURL: f.baseURL, API: f.api, Key: key, Getenv: os.Getenv, Logger: log}
	return models.Open(name, o.For(name, f.model))
}

// localProviders are the providers on this host, which need no key.
var localProviders = []string{"ollama", "lmstudio", "vllm"}

// logCloseTimeout bounds writing the last records.
const logCloseTimeout = 2 * time.Second

func (p *components) close(ctx context.Context) {
	p.callbacks.Close()
	logCtx, cancel := context.WithTimeout(ctx, logCloseTimeout)
	defer cancel()
	if err := p.records.Close(logCtx); err != nil {
		p.log.Warn("not all records of decisions were written", "error", err)
	}
	if err := p.telemetry.Close(ctx); err != nil {
		p.log.Warn("not all spans were exported", "error", err)
	}
}
