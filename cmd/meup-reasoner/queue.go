package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	reasonerclient "github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/kit/natsconn"
	"github.com/meup-protocol/meup/internal/kit/natsembed"
	"github.com/meup-protocol/meup/internal/kit/privatedir"
	"github.com/meup-protocol/meup/internal/reasoner"
	"github.com/meup-protocol/meup/internal/reasoner/httpapi"
	"github.com/meup-protocol/meup/internal/reasoner/queue"
)

// submitTimeout bounds how long an asynchronous request waits for the queue.
const submitTimeout = 3 * time.Second

// openGrace is how long serve waits for the queue before it serves without it.
const openGrace = 2 * time.Second

// queueRuntime is a queue with its workers, server and connection.
type queueRuntime struct {
	server *natsembed.Server // nil with --nats
	conn   *nats.Conn
	client reasonerclient.Client
	queue  *queue.Queue

	stop    context.CancelFunc
	working sync.WaitGroup
}

// startJobs starts the asynchronous decisions: in the queue if there is one,
// otherwise in this process. stop waits for them until its ctx ends. The queue
// may not be open yet; fail is called if it cannot be opened later.
func startJobs(ctx context.Context, f *queueFlags, p *components, fail func(error)) (jobs httpapi.Jobs, stop func(context.Context) error, err error) {
	if !f.wanted() {
		b := queue.NewPool(queue.PoolOptions{Decide: p.service.Decide, Post: p.callbacks.Post, Logger: p.log})
		return b, b.Close, nil
	}
	r, err := f.connect(ctx, p)
	if err != nil {
		return nil, nil, errors.Join(err, r.close(ctx))
	}
	opened := r.work(ctx, f.workers)
	grace := time.NewTimer(openGrace)
	defer grace.Stop()
	select {
	case err = <-opened:
	case <-ctx.Done():
	case <-grace.C:
		p.log.Warn("the queue cannot be reached; asynchronous requests are rejected until it can")
		r.working.Go(func() { // ends with work
			if err := <-opened; err != nil && !errors.Is(err, context.Canceled) {
				fail(err)
			}
		})
	}
	if err != nil {
		return nil, nil, errors.Join(err, r.close(ctx))
	}
	return queueJobs{r.client}, r.close, nil
}

// work opens the queue and processes its jobs until close ends it. The channel
// receives the result of opening, which may take until NATS is available.
func (r *queueRuntime) work(ctx context.Context, workers int) (opened <-chan error) {
	// On a signal, close ends the queue in its own order.
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	outcome := make(chan error, 1)
	r.working.Go(func() { // ends with close, which waits
		err := r.queue.Open(ctx)
		outcome <- err
		if err == nil && workers > 0 {
			_ = r.queue.Run(ctx)
		}
	})
	return outcome
}

// connect starts NATS with --data, connects to it, and creates the queue without opening
// it. The result has to be closed even after an error.
func (f *queueFlags) connect(ctx context.Context, p *components) (r *queueRuntime, err error) {
	r = new(queueRuntime)
	token, err := f.token()
	if err != nil {
		return r, err
	}
	options := []nats.Option{nats.Name("meup-reasoner")}
	url := f.nats
	if f.data != "" {
		privatedir.Umask()
		r.server, err = natsembed.Start(ctx, natsembed.Options{Dir: f.data, Listen: f.listen, Token: token, Logger: p.log})
		if err != nil {
			return r, err
		}
		url = r.server.URL()
		options = append(options, r.server.ClientOptions()...)
		p.log.Info("NATS server started", "address", url, "folder", f.data, "token", token != "")
		if token == "" && !r.server.Loopback() {
			p.log.Warn("no token is set: the NATS server accepts all clients that reach it", "address", url)
		}
	} else if token != "" {
		options = append(options, nats.Token(token))
	}
	r.conn, err = natsconn.Connect(url, p.log, options...)
	if err != nil {
		return r, err
	}
	r.queue, err = queue.New(queue.Options{
		Conn: r.conn, Name: f.name,
		Decide: p.service.Decide, Workflow: p.service.Workflow, Callback: p.callbacks.Post, AllowAPIKeys: f.apiKeys,
		Workers: f.workers, AckWait: f.ackWait, MaxDeliver: f.maxDeliver, JobTimeout: f.jobTimeout, Drain: f.drain,
		Replicas: f.replicas, MaxJobs: f.maxJobs, ResultTTL: f.resultTTL,
		StatusEvery: f.statusEvery, StatusPoll: f.statusPoll, Logger: p.log,
	})
	if err != nil {
		return r, err
	}
	p.counts = func(ctx context.Context) (wire.QueueCounts, error) {
		c, err := r.queue.Counts(ctx)
		return wire.QueueCounts(c), err
	}
	r.client, err = reasonerclient.NewQueue(reasonerclient.Options{
		Conn: r.conn, Queue: f.name, AllowAPIKeys: f.apiKeys, Timeout: submitTimeout, Retries: reasonerclient.NoRetries,
	})
	return r, err
}

// close waits for jobs in progress, bounded by the queue's own timeout and by
// ctx, and leaves the rest to other workers.
func (r *queueRuntime) close(ctx context.Context) error {
	if r.stop != nil {
		r.stop()
		defer context.AfterFunc(ctx, r.queue.Leave)()
	}
	r.working.Wait()
	var err error
	if r.client != nil {
		err = r.client.Close()
	}
	if r.conn != nil {
		r.conn.Close()
	}
	if r.server != nil {
		r.server.Close()
	}
	return err
}

// queueJobs are asynchronous decisions that the queue makes.
type queueJobs struct{ client reasonerclient.Client }

// Submit adds a request to the queue. A second request with the same
// correlation id is the same job.
func (q queueJobs) Submit(ctx context.Context, r *wire.AgentIntentRequest) (string, error) {
	accepted, err := q.client.AgentIntentAsync(ctx, r)
	if err != nil {
		return "", apiError(err)
	}
	return accepted.JobID, nil
}

// Cancel cancels a job that is queued or in progress at any worker.
func (q queueJobs) Cancel(ctx context.Context, correlationID string) (bool, error) {
	found, err := q.client.Cancel(ctx, correlationID)
	if err != nil {
		return false, apiError(err)
	}
	return found, nil
}

// apiError converts an error of the queue for an HTTP client.
func apiError(err error) error {
	var refused *reasonerclient.APIError
	switch {
	case errors.As(err, &refused):
		return &reasoner.Fault{Status: refused.Status, Code: refused.Code, Message: refused.Message, Path: refused.Path}
	case errors.Is(err, reasonerclient.ErrAPIKey):
		return &reasoner.Fault{
			Status: http.StatusUnprocessableEntity, Code: wire.CodeAPIKeyInQueue, Path: "/llm/api_key",
			Message: "The key would be stored in the files of the queue. Leave it out, or use /agent_intent.",
		}
	case errors.Is(err, wire.ErrCorrelationID):
		return &reasoner.Fault{Status: http.StatusUnprocessableEntity, Code: reasoner.CodeInvalidRequest, Path: "/correlation_id", Message: err.Error() + "."}
	case errors.Is(err, context.Canceled):
		return err
	}
	return reasoner.Overloaded("The queue cannot be reached: try again in a moment.")
}
