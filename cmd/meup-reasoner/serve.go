package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/reasoner"
)

// queueRunner processes a queue in addition to the HTTP service.
type queueRunner interface {
	// register adds the queue's flags.
	register(fl *pflag.FlagSet)
	// start processes the queue until stop is called; stop waits for that until
	// its ctx ends. If the flags request no queue, nothing is started and all
	// results are nil. If jobs is not nil, asynchronous requests go into the
	// queue, which may not be open yet; fail is called if it cannot be opened
	// later.
	start(ctx context.Context, p *components, fail func(error)) (jobs reasoner.Jobs, stop func(ctx context.Context) error, err error)
}

func newServe(queue queueRunner) *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serves the Reasoning API over HTTP",
		Long: `serve answers POST /agent_intent, /agent_intent_async, /agent_intent_cancel and
/workflow_intent, and GET /healthz, /health, /version and /metrics.

A request's llm says which model decides; its key is used for that request and
kept nowhere. Without a key the one of the environment is used (OPENAI_API_KEY,
ANTHROPIC_API_KEY and so on), so whoever may ask the service may also spend it.
Which address a model is asked at is for --base-url to say alone, and a request
may name a provider on this host (ollama, lmstudio) only when --model or
--allow-local-model does. Where no model is named, or it does not decide, rules do.

Tokens come from the environment variable REASONING_API_TOKEN, or another one
that --token-env names. Without any, the service answers requests to localhost
and loopback addresses alone, and no pages of other sites.

Results of asynchronous requests are posted to public addresses only, unless
--callback-allow names others. They are signed when the environment variable
MEUP_CALLBACK_SECRET, or another one that --callback-secret-env names, is set.

SIGTERM and SIGINT end the service in good order: no new requests, those that
there are have --drain-timeout to end.`,
		Example: `  meup-reasoner serve
  ANTHROPIC_API_KEY=... meup-reasoner serve --model anthropic:claude-sonnet-5-5
  meup-reasoner serve --listen 0.0.0.0:9000 --token-env TOKENS --callback-allow hooks.internal`,
		Args: program.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return serve(c.Context(), &f, queue, c.Flags().Changed("callback-secret-env"))
		},
	}
	f.register(c.Flags())
	if queue != nil {
		queue.register(c.Flags())
	}
	return c
}

func serve(ctx context.Context, f *serveFlags, queue queueRunner, secretNamed bool) error {
	if err := f.check(); err != nil {
		return err
	}
	log, err := f.log.logger()
	if err != nil {
		return err
	}
	tokens, err := f.tokens()
	if err != nil {
		return err
	}
	p, err := assemble(ctx, f.model, f.callback, secretNamed, log, tokens)
	if err != nil {
		return err
	}
	defer p.close(context.WithoutCancel(ctx))
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	jobs, stopJobs, err := startJobs(ctx, p, queue, fail)
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
		log.Warn("not everything could be finished", "error", stopErr)
	}
	log.Info("stopped")
	return err
}

// startJobs starts the asynchronous decisions: in the queue if there is one
// that accepts them, otherwise in this process. stop ends both.
func startJobs(ctx context.Context, p *components, queue queueRunner, fail func(error)) (reasoner.Jobs, func(context.Context) error, error) {
	stopQueue := func(context.Context) error { return nil }
	if queue != nil {
		jobs, stop, err := queue.start(ctx, p, fail)
		if err != nil {
			return nil, nil, err
		}
		if stop != nil {
			stopQueue = stop
		}
		if jobs != nil {
			return jobs, stopQueue, nil
		}
	}
	background := reasoner.NewBackground(reasoner.BackgroundOptions{Decide: p.service.Decide, Post: p.callbacks.Post, Logger: p.log})
	return background, func(ctx context.Context) error {
		return errors.Join(background.Close(ctx), stopQueue(ctx))
	}, nil
}

// Concurrent connections: of the API, for each concurrent decision, and of
// --metrics-listen. Further ones wait to be accepted.
const (
	connectionsPerPlace = 8
	metricsConnections  = 64
)

// serveHTTP serves until ctx ends or the listener fails.
func serveHTTP(ctx context.Context, f *serveFlags, p *components, jobs reasoner.Jobs, tokens []string) error {
	o := reasoner.HandlerOptions{
		Service: p.service, Jobs: jobs, CheckCallback: p.callbacks.Check, Tokens: tokens,
		MaxBody: f.maxBody, MaxConcurrent: f.maxConcurrency, Version: program.Version(version),
		Observe: p.metrics.Request, Logger: p.log,
	}
	metrics := concatMetrics(p.telemetry.Metrics(), p.registry)
	var listening servers
	var aside error
	if f.metricsListen == "" {
		o.Metrics = metrics
	} else {
		mux := http.NewServeMux()
		if loopbackAddress(f.metricsListen) {
			metrics = reasoner.Local(metrics)
		}
		mux.Handle("GET /metrics", metrics)
		aside = listening.add(ctx, f.metricsListen, mux, metricsConnections, time.Minute, p.log)
	}
	if err := errors.Join(aside, listening.add(ctx, f.listen, reasoner.NewHandler(o), connectionsPerPlace*f.maxConcurrency, f.model.timeout+2*time.Minute, p.log)); err != nil {
		listening.close()
		return err
	}
	addresses := listening.addresses()
	if f.metricsListen != "" {
		p.log.Info("serving metrics", "address", addresses[0].String())
	}
	address := addresses[len(addresses)-1]
	p.log.Info("serving", "address", address.String(), "model", f.model.model, "tokens", len(tokens), "version", program.Version(version))
	if len(tokens) == 0 && !loopback(address) {
		p.log.Warn("no token is set: the service answers only requests to localhost, although other machines reach it", "address", address.String())
	}
	return listening.serve(ctx, f.drain, p.log)
}

// loopbackAddress reports whether a listen address is reachable from this
// machine only.
func loopbackAddress(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip, ipErr := netip.ParseAddr(host)
	return err == nil && (host == "localhost" || ipErr == nil && ip.IsLoopback())
}

func loopback(a net.Addr) bool {
	to, err := netip.ParseAddrPort(a.String())
	return err == nil && to.Addr().IsLoopback()
}
