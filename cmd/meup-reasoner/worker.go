package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/reasoner/queue"
)

// workerFlags are the flags of worker.
type workerFlags struct {
	model    modelFlags
	callback callbackFlags
	log      logFlags
	queue    queueFlags
}

func (f *workerFlags) register(fl *pflag.FlagSet) {
	f.queue.register(fl)
	fl.DurationVar(&f.queue.drain, "drain-timeout", queue.DefaultDrain, "how long jobs may go on when the worker has to end; other workers do the rest")
	f.model.register(fl)
	f.callback.register(fl)
	f.log.register(fl)
}

func (f *workerFlags) check() error {
	switch {
	case !f.queue.wanted():
		return program.Usagef("where is the queue? Name a NATS with --nats, or a folder with --data")
	case f.queue.workers == 0:
		return program.Usagef("--workers 0: a worker has at least one")
	case f.queue.drain < time.Millisecond:
		return program.Usagef("--drain-timeout is longer than nothing")
	}
	if err := f.queue.check(); err != nil {
		return err
	}
	return f.model.check()
}

func newWorker() *cobra.Command {
	var f workerFlags
	c := &cobra.Command{
		Use:   "worker (--nats URL | --data DIR)",
		Short: "Works off the queue, without HTTP",
		Long: `worker takes jobs from a queue on NATS JetStream, decides, and writes the
results, to which clients have subscribed. It listens to nobody but, with
--data, to those who use the NATS server that it then runs itself.

A worker that dies leaves its jobs to the others. A job is settled by one result;
one that was begun --max-deliver times without an end is answered with an error.
Jobs that bring a key for a model (llm.api_key) fail, since it would lie in the
queue's files, unless --queue-api-keys allows them.

A line with the state of the queue is logged when it changes and at least every
--status-interval.

SIGTERM and SIGINT end the worker in good order: it takes no more jobs, those
that it has get --drain-timeout to end, and what is left goes to other workers.`,
		Example: `  meup-reasoner worker --data ./queue
  meup-reasoner worker --nats nats://127.0.0.1:4222 --workers 8 --model openai:gpt-5-mini`,
		Args: program.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return work(c.Context(), &f, c.Flags().Changed("callback-secret-env"))
		},
	}
	f.register(c.Flags())
	return c
}

// work processes the queue until ctx ends.
func work(ctx context.Context, f *workerFlags, secretNamed bool) error {
	if err := f.check(); err != nil {
		return err
	}
	log, err := f.log.logger()
	if err != nil {
		return err
	}
	token, err := f.queue.token()
	if err != nil {
		return err
	}
	p, err := assemble(ctx, f.model, f.callback, secretNamed, log, []string{token})
	if err != nil {
		return err
	}
	defer p.close(context.WithoutCancel(ctx))
	r, err := f.queue.connect(ctx, p)
	if err == nil {
		select {
		case err = <-r.work(ctx, f.queue.workers):
		case <-ctx.Done():
		}
	}
	if err != nil {
		return errors.Join(err, r.close(ctx))
	}
	log.Info("working", "workers", f.queue.workers, "model", f.model.model, "version", program.Version(version))
	<-ctx.Done()
	log.Info("draining", "timeout", f.queue.drain)
	err = r.close(context.WithoutCancel(ctx))
	log.Info("stopped")
	return err
}
