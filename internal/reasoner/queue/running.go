package queue

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// running holds the current jobs of this process by key: jobs that workers
// process, and jobs whose callbacks are being posted.
type running struct {
	mu   sync.Mutex
	jobs map[string]*lease
}

// lease is one running job. running.mu guards its mutable fields.
type lease struct {
	key string
	msg jetstream.Msg

	cancel  context.CancelCauseFunc // cancels the decision or the callback; nil before both
	cause   error                   // errCanceled or errResultExists; nil: not interrupted
	posting bool                    // it has its result
}

// add adds a delivery of a job, unless the callback of an earlier one is being posted.
func (r *running) add(h *lease) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if earlier := r.jobs[h.key]; earlier != nil && earlier.posting {
		return false
	}
	if r.jobs == nil {
		r.jobs = make(map[string]*lease)
	}
	r.jobs[h.key] = h
	return true
}

// remove deletes a job, unless a later delivery has replaced it.
func (r *running) remove(h *lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.jobs[h.key] == h {
		delete(r.jobs, h.key)
	}
}

// setCancel sets the function that cancels the decision or callback that starts
// now.
func (r *running) setCancel(h *lease, cancel context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.cancel = cancel
	if h.cause != nil {
		cancel(h.cause)
	}
}

// interrupt interrupts a job: errCanceled its decision or callback,
// errResultExists only its decision.
func (r *running) interrupt(key string, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.jobs[key]
	if h == nil || h.posting && !errors.Is(cause, errCanceled) {
		return
	}
	h.cause = cause
	if h.cancel != nil {
		h.cancel(cause)
	}
}

// startCallback marks a job as having its result, with its callback next. Of
// the earlier causes, only a cancellation also applies to the callback.
func (r *running) startCallback(h *lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.posting = true
	if !errors.Is(h.cause, errCanceled) {
		h.cause = nil
	}
}

// all returns the jobs.
func (r *running) all() []*lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.jobs))
}

// heartbeat extends the leases of the running jobs: JetStream does not
// redeliver them.
func (q *Queue) heartbeat(ctx context.Context) {
	every(ctx, q.opts.AckWait/3, func() {
		for _, h := range q.running.all() {
			if err := h.msg.InProgress(); err != nil {
				q.log.Debug("job cannot be kept", "error", err)
			}
		}
	})
}

// watch checks for cancellations and for results of other workers, since a
// notice can be lost. It creates what was deleted and what no worker would miss: the
// stream of results, in which clients look before they send a job, and the consumer if
// no worker was waiting for a job then. It is separate from heartbeat, because it waits
// for responses.
func (q *Queue) watch(ctx context.Context) {
	every(ctx, q.opts.AckWait/3, func() {
		ctx, cancel := context.WithTimeout(ctx, max(q.opts.AckWait/3, time.Second))
		defer cancel()
		for _, h := range q.running.all() {
			switch r, err := q.lookupResult(ctx, h.key); {
			case err != nil || r == nil:
			case r.Canceled():
				q.running.interrupt(h.key, errCanceled)
			default:
				q.running.interrupt(h.key, errResultExists)
			}
		}
		consumer, results := q.handles()
		_, err := consumer.Info(ctx)
		if err == nil {
			_, err = results.Info(ctx)
		}
		if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
			q.log.Warn("a part of the queue was deleted, and is created again", "error", err)
			if err := q.ensure(ctx); err != nil {
				q.log.Warn("queue is not ready", "error", err)
			}
		}
	})
}

// every calls f at an interval of d until ctx ends.
func every(ctx context.Context, d time.Duration, f func()) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f()
		}
	}
}
