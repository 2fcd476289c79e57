package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/llm/models"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/reasoner"
)

// parts are what serve and worker are made of.
type parts struct {
	service   *reasoner.Service
	callbacks *reasoner.Callbacks
	telemetry *telemetry.Telemetry
	registry  *prometheus.Registry // of metrics
	metrics   *reasoner.Metrics    // in it
	log       *slog.Logger
}

// assemble makes the parts; close ends them. secrets are kept out of whatever
// telemetry says.
func assemble(ctx context.Context, m modelFlags, c callbackFlags, secretNamed bool, log *slog.Logger, secrets []string) (*parts, error) {
	guard, err := reasoner.NewGuard(c.allow, nil)
	if err != nil {
		return nil, program.Usagef("--callback-allow: %w", err)
	}
	secret, err := c.secret(secretNamed)
	if err != nil {
		return nil, err
	}
	var model llm.Model
	if m.model != "" {
		if model, err = m.open(m.model, "", log); err != nil {
			return nil, err
		}
	}
	secrets = append(append(secrets, string(secret)), models.Mask(os.Getenv)...)
	tel, err := telemetry.Start(ctx, telemetry.Options{Service: "meup-reasoner", Version: program.Version(version), Logger: log, Secrets: secrets})
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	metrics := reasoner.NewMetrics(registry)
	return &parts{
		registry: registry, metrics: metrics,
		service: reasoner.New(reasoner.Options{
			Model: model, ModelTimeout: m.timeout, Telemetry: tel, Logger: log,
			Open: func(name, key string) (llm.Model, error) { return m.open(name, key, log) },
		}),
		callbacks: reasoner.NewCallbacks(reasoner.CallbackOptions{Guard: guard, Secret: secret, Logger: log, Observe: metrics.Callback}),
		telemetry: tel, log: log,
	}, nil
}

// open opens a model by its name: the service's own, or that of a request. The
// address of --base-url, and a key that is for any provider, are for the
// provider of --model alone; a request that names another one is not to send
// the operator's key there.
//
// The address of a provider without a key is one of this host, which a request
// must not reach unless the operator has named the provider.
func (f *modelFlags) open(name, key string, log *slog.Logger) (llm.Model, error) {
	if provider, _, _ := strings.Cut(name, ":"); slices.Contains(localProviders, provider) && !sameProvider(name, f.model) && !slices.Contains(f.allowLocal, provider) {
		return nil, fmt.Errorf("this service asks no model of %s: its operator would have to allow it", provider)
	}
	o := models.Options{Key: key, Getenv: os.Getenv, Logger: log}
	if sameProvider(name, f.model) {
		o.BaseURL = f.baseURL
	} else {
		o.Getenv = func(variable string) string {
			if variable == models.AnyKey {
				return ""
			}
			return os.Getenv(variable)
		}
	}
	return models.Open(name, o)
}

// localProviders are those that are on this host, and need no key.
var localProviders = []string{"ollama", "lmstudio", "vllm"}

func sameProvider(a, b string) bool {
	providerA, _, _ := strings.Cut(a, ":")
	providerB, _, found := strings.Cut(b, ":")
	return found && providerA == providerB
}

// close frees what the parts hold.
func (p *parts) close(ctx context.Context) {
	p.callbacks.Close()
	if err := p.telemetry.Close(ctx); err != nil {
		p.log.Warn("not all spans were exported", "error", err)
	}
}
