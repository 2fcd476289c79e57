package main

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/reasoner/httpapi"
	"github.com/meup-protocol/meup/internal/reasoner/queue"
)

// workerFlags are the flags of worker.
type workerFlags struct{ commonFlags }

func (f *workerFlags) register(fl *pflag.FlagSet) {
	f.commonFlags.register(fl)
	fl.StringVar(&f.metricsListen, "metrics-listen", "", "address for /metrics, /reasoning_logs, /reasoning_diagnostics and /healthz (none: no listener)")
	fl.DurationVar(&f.queue.drain, "drain-timeout", queue.DefaultDrain, "time for running jobs to finish on shutdown; other workers get the rest")
}

func (f *workerFlags) check() error {
	switch {
	case !f.queue.wanted():
		return program.Usagef("--nats or --data is required")
	case f.queue.workers == 0:
		return program.Usagef("--workers must be at least 1")
	case f.metricsListen != "" && !isHostPort(f.metricsListen):
		return program.Usagef("--metrics-listen %q: expected host:port", f.metricsListen)
	case f.queue.drain < time.Millisecond:
		return program.Usagef("--drain-timeout must be positive")
	}
	return f.commonFlags.check()
}

func newWorker() *cobra.Command {
	var f workerFlags
	c := &cobra.Command{
		Use:   "worker (--nats URL | --data DIR)",
		Short: "Processes the queue, without HTTP",
		Long: `worker receives jobs from a queue on NATS JetStream, decides, and writes the
results, to which clients have subscribed. It has no listener except that of the
NATS server that it starts with --data, and the one of --metrics-listen, which serves
its metrics and the records of its decisions. Tokens are those of serve.

If a worker dies, other workers get its jobs. A job has one result. A job that was
started --max-deliver times and never settled fails. Jobs with a key for a model
(llm.api_key) fail, because it would be stored in the files of the queue, unless
--queue-api-keys allows them.

A line with the state of the queue is logged when it changes and at least every
--status-interval.

SIGTERM and SIGINT shut the worker down: it receives no more jobs, running jobs
have --drain-timeout to finish, and other workers get the rest.`,
		Example: `  meup-reasoner worker --data ./queue
  meup-reasoner worker --nats nats://127.0.0.1:4222 --workers 8 --model openai:gpt-5-mini`,
		Args: program.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return work(c.Context(), &f)
		},
	}
	f.register(c.Flags())
	return c
}

// work processes the queue until ctx ends.
func work(ctx context.Context, f *workerFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	log, err := f.logger()
	if err != nil {
		return err
	}
	token, err := f.queue.token()
	if err != nil {
		return err
	}
	tokens, err := f.tokens()
	if err != nil {
		return err
	}
	p, err := assemble(ctx, &f.commonFlags, log, append([]string{token}, tokens...))
	if err != nil {
		return err
	}
	defer p.close(context.WithoutCancel(ctx))
	r, err := f.queue.connect(ctx, p)
	if err == nil {
		var stop func()
		stop, err = f.observe(ctx, p, tokens)
		if err == nil {
			defer stop()
		}
	}
	if err == nil {
		select {
		case err = <-r.work(ctx, f.queue.workers):
		case <-ctx.Done():
		}
	}
	if err != nil {
		return errors.Join(err, r.close(ctx))
	}
	log.Info("working", "workers", f.queue.workers, "model", f.model, "version", program.Version(version))
	<-ctx.Done()
	log.Info("draining", "timeout", f.queue.drain)
	err = r.close(context.WithoutCancel(ctx))
	log.Info("stopped")
	return err
}

// observe serves the metrics and records of a worker until stop is called. If
// the listener fails later, it is logged; the worker continues.
func (f *workerFlags) observe(ctx context.Context, p *components, tokens []string) (stop func(), err error) {
	if f.metricsListen == "" {
		return func() {}, nil
	}
	var listening servers
	api := httpapi.New(httpapi.Options{
		Tokens: tokens, Version: program.Version(version), Observe: p.metrics.Request, Logger: p.log,
		Metrics: p.telemetry.Metrics(), Logs: p.records, Diagnostics: p.diagnostics(),
	})
	if err := listening.add(ctx, "metrics-listen", f.metricsListen, api, metricsConnections, time.Minute, p.log); err != nil {
		return nil, err
	}
	p.log.Info("serving metrics", "address", listening.addresses()[0].String())
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := listening.serve(ctx, observeDrain, p.log); err != nil {
			p.log.Error("the listener of --metrics-listen failed", "error", err)
		}
	})
	return func() { cancel(); serving.Wait() }, nil
}

// observeDrain is the time for running requests for metrics on shutdown.
const observeDrain = time.Second

func isHostPort(address string) bool {
	_, _, err := net.SplitHostPort(address)
	return err == nil
}
