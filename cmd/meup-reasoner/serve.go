package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/reasoner/httpapi"
)

func newServe() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serves the Reasoning API over HTTP",
		Long: `serve answers POST /agent_intent, /agent_intent_async, /agent_intent_cancel and
/workflow_intent, and GET /reasoning_logs, /reasoning_diagnostics, /schema,
/openapi.json, /healthz, /health, /version and /metrics.

The llm of a request names the model that decides. Its key is used for that
request only, and is neither stored nor logged. Without a key the one in the
environment is used (OPENAI_API_KEY, ANTHROPIC_API_KEY and so on), so any client
of the service can spend it. Only --base-url sets the address of a model. A
request may name a provider on this host (ollama, lmstudio, vllm) only if --model
or --allow-local-model does. Without a model, or if it does not decide, rules
decide.

Tokens come from the environment variable REASONING_API_TOKEN, or the one that
--token-env names. Without tokens, the service accepts only requests to localhost
and loopback addresses, and none from pages of other sites.

Results of asynchronous requests are posted only to public addresses, unless
--callback-allow permits others. They are signed if the environment variable
MEUP_CALLBACK_SECRET, or the one that --callback-secret-env names, is set.

SIGTERM and SIGINT shut the service down: it accepts no new requests, and running
requests have --drain-timeout to finish.`,
		Example: `  meup-reasoner serve
  ANTHROPIC_API_KEY=... meup-reasoner serve --model anthropic:claude-sonnet-5-5
  meup-reasoner serve --listen 0.0.0.0:9000 --token-env TOKENS --callback-allow hooks.internal`,
		Args: program.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return serve(c.Context(), &f)
		},
	}
	f.register(c.Flags())
	return c
}

func serve(ctx context.Context, f *serveFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	log, err := f.logger()
	if err != nil {
		return err
	}
	tokens, err := f.tokens()
	if err != nil {
		return err
	}
	p, err := assemble(ctx, &f.commonFlags, log, tokens)
	if err != nil {
		return err
	}
	defer p.close(context.WithoutCancel(ctx))
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	jobs, stopJobs, err := startJobs(ctx, &f.queue, p, fail)
	if err != nil {
		return err
	}
	err = serveHTTP(ctx, f, p, jobs, tokens)
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause // the queue cannot be opened
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.drain)
	defer cancel()
	if stopErr := stopJobs(drain); stopErr != nil {
		log.Warn("jobs were not finished", "error", stopErr)
	}
	log.Info("stopped")
	return err
}

// Concurrent connections: of the API, for each concurrent decision, and of
// --metrics-listen. Further ones wait to be accepted.
const (
	connectionsPerPlace = 8
	metricsConnections  = 64
)

// serveHTTP serves until ctx ends or the listener fails.
func serveHTTP(ctx context.Context, f *serveFlags, p *components, jobs httpapi.Jobs, tokens []string) error {
	o := httpapi.Options{
		Service: p.service, Jobs: jobs, CheckCallback: p.guard.Check, Tokens: tokens,
		MaxBody: f.maxBody, MaxConcurrent: f.maxConcurrency, Version: program.Version(version),
		Observe: p.metrics.Request, Logger: p.log, Logs: p.records, Diagnostics: p.diagnostics(),
	}
	metrics := p.telemetry.Metrics()
	var listening servers
	var aside error
	if f.metricsListen == "" {
		o.Metrics = metrics
	} else {
		mux := http.NewServeMux()
		if isLoopback(f.metricsListen) {
			metrics = httpapi.Local(metrics)
		}
		mux.Handle("GET /metrics", metrics)
		aside = listening.add(ctx, "metrics-listen", f.metricsListen, mux, metricsConnections, time.Minute, p.log)
	}
	if err := errors.Join(aside, listening.add(ctx, "listen", f.listen, httpapi.New(o), connectionsPerPlace*f.maxConcurrency, f.modelTimeout+2*time.Minute, p.log)); err != nil {
		listening.close()
		return err
	}
	addresses := listening.addresses()
	if f.metricsListen != "" {
		p.log.Info("serving metrics", "address", addresses[0].String())
	}
	address := addresses[len(addresses)-1]
	p.log.Info("serving", "address", address.String(), "model", f.model, "tokens", len(tokens), "version", program.Version(version))
	if len(tokens) == 0 && !isLoopback(address.String()) {
		p.log.Warn("no token is set: the service accepts only requests to localhost, although other machines can reach it", "address", address.String())
	}
	return listening.serve(ctx, f.drain, p.log)
}

// isLoopback reports whether a listen address is reachable from this
// machine only.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip, ipErr := netip.ParseAddr(host)
	return err == nil && (host == "localhost" || ipErr == nil && ip.IsLoopback())
}

func (p *components) diagnostics() httpapi.Diagnostics {
	return httpapi.Diagnostics{Started: p.started, Configuration: p.about, Queue: p.counts}
}
