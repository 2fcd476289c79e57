package queue

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

const (
	// retryWait is the delay before a retry.
	retryWait = 250 * time.Millisecond
	// requestTimeout bounds one request to JetStream.
	requestTimeout = 5 * time.Second
	// warnInterval is the interval between log lines about a queue that is not
	// ready.
	warnInterval = 30 * time.Second
)

// errStopping is the cause that interrupts jobs to be left to another worker,
// errCanceled the cause for canceled jobs.
var (
	errStopping = errors.New("the worker stops")
	errCanceled = errors.New("the job was canceled")
)

// Queue processes the jobs of one queue.
type Queue struct {
	opts  Options
	names wire.QueueNames
	js    jetstream.JetStream
	log   *slog.Logger

	running         running
	callbackWorkers callbackWorkers

	done, canceled, failed atomic.Int64 // for the status line

	leaving   chan struct{} // closed by Leave
	leaveOnce sync.Once

	mu       sync.Mutex
	consumer jetstream.Consumer
	results  jetstream.Stream
}

// New returns a queue. Open must succeed before Run.
func New(opts Options) (*Queue, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	q := &Queue{opts: opts, log: opts.Logger, callbackWorkers: callbackWorkers{limit: opts.CallbackWorkers}, leaving: make(chan struct{})}
	q.names, err = wire.NewQueueNames(opts.Name)
	if err != nil {
		return nil, err
	}
	q.js, err = jetstream.New(opts.Conn, jetstream.WithDefaultTimeout(requestTimeout))
	if err != nil {
		return nil, err
	}
	return q, nil
}

// Open creates missing streams and the consumer. While NATS is unreachable or
// has no leader, it retries until ctx ends. It returns the error of ctx, or one
// that is permanent.
func (q *Queue) Open(ctx context.Context) error { return q.ensureSoon(ctx) }

// Run processes jobs until ctx ends. Then it accepts no more jobs, waits up to
// Options.Drain for running ones, and leaves the unfinished ones to other
// workers. It may be called once.
func (q *Queue) Run(ctx context.Context) error {
	cancels, err := q.opts.Conn.Subscribe(q.names.Canceled("*"), func(msg *nats.Msg) {
		q.canceled.Add(1)
		q.running.interrupt(msg.Subject[strings.LastIndexByte(msg.Subject, '.')+1:], errCanceled)
	})
	if err != nil {
		return err
	}
	defer func() { _ = cancels.Unsubscribe() }()

	jobs, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	defer leave(errStopping)
	stopTimer := context.AfterFunc(ctx, func() { time.AfterFunc(q.opts.Drain, q.Leave) })
	defer stopTimer()

	var workers, others sync.WaitGroup
	others.Go(func() {
		select {
		case <-q.leaving:
			leave(errStopping)
		case <-jobs.Done():
		}
	})
	for range q.opts.Workers {
		workers.Go(func() { q.work(ctx, jobs) })
	}
	ended, end := context.WithCancel(jobs)
	others.Go(func() { q.heartbeat(ended) })
	others.Go(func() { q.watch(ended) })
	others.Go(func() { q.status(ended) })
	workers.Wait()
	q.callbackWorkers.posting.Wait()
	end()
	leave(errStopping)
	others.Wait()
	_ = q.opts.Conn.FlushTimeout(time.Second) // send pending negative acknowledgements
	return nil
}

// Leave leaves the running jobs to other workers immediately instead of after
// Options.Drain. Call it after the ctx of Run has ended.
func (q *Queue) Leave() { q.leaveOnce.Do(func() { close(q.leaving) }) }

func (q *Queue) handles() (jetstream.Consumer, jetstream.Stream) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.consumer, q.results
}

// work processes jobs one at a time until taking ends. jobs is the parent
// context of the jobs.
func (q *Queue) work(taking, jobs context.Context) {
	for taking.Err() == nil {
		err := q.receive(taking, jobs)
		if taking.Err() != nil {
			return
		}
		q.log.Warn("queue is interrupted", "error", err)
		pause(taking)
		if err := q.ensureSoon(taking); err != nil && taking.Err() == nil {
			q.log.Error("queue cannot be used", "error", err)
		}
	}
}

// receive processes jobs until the consumer fails. It requests one job at a
// time, and only when idle: a job in an idle worker's buffer would wait
// although other workers are free.
func (q *Queue) receive(taking, jobs context.Context) error {
	consumer, _ := q.handles()
	messages, err := consumer.Messages(jetstream.PullMaxMessages(1))
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		msg, err := messages.Next(jetstream.NextContext(taking))
		switch {
		case err == nil:
			q.handle(jobs, msg)
		case taking.Err() != nil:
			returnPending(messages)
			return taking.Err()
		case errors.Is(err, jetstream.ErrNoHeartbeat):
			// NATS is temporarily unreachable; the library retries.
		default:
			return err
		}
	}
}

// returnPending returns a job that was received while the worker stops.
func returnPending(messages jetstream.MessagesContext) {
	messages.Drain()
	for {
		msg, err := messages.Next(jetstream.NextMaxWait(time.Second))
		if err != nil {
			return
		}
		_ = msg.Nak() // if lost, AckWait expires
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(retryWait):
	}
}
