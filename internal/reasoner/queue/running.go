package queue

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// running holds the current jobs of this process by key: jobs that workers
// process, and jobs whose callbacks are being posted.
type running struct {
	mu   sync.Mutex
	jobs map[string]*held
}

// held is one running job. running.mu guards its mutable fields.
type held struct {
	key string
	msg jetstream.Msg

	cancel  context.CancelCauseFunc // cancels the decision or the callback; nil before both
	ended   error                   // errCanceled or errThere; nil: not interrupted
	posting bool                    // it has its result
}

func (r *running) add(h *held) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.jobs == nil {
		r.jobs = make(map[string]*held)
	}
	r.jobs[h.key] = h
}

// remove deletes a job, unless a later delivery has replaced it.
func (r *running) remove(h *held) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.jobs[h.key] == h {
		delete(r.jobs, h.key)
	}
}

// begin sets the function that cancels the decision or callback that starts
// now.
func (r *running) begin(h *held, cancel context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h.cancel = cancel; h.ended != nil {
		cancel(h.ended)
	}
}

// end interrupts a job: errCanceled its decision or callback, errThere only its
// decision.
func (r *running) end(key string, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.jobs[key]
	if h == nil || h.posting && !errors.Is(cause, errCanceled) {
		return
	}
	h.ended = cause
	if h.cancel != nil {
		h.cancel(cause)
	}
}

// post marks a job as having its result, with its callback next. Of the earlier
// causes, only a cancellation also applies to the callback.
func (r *running) post(h *held) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.posting = true
	if !errors.Is(h.ended, errCanceled) {
		h.ended = nil
	}
}

// posts reports whether a job's callback is being posted.
func (r *running) posts(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.jobs[key]
	return h != nil && h.posting
}

// messages returns the messages of all jobs.
func (r *running) messages() []jetstream.Msg {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]jetstream.Msg, 0, len(r.jobs))
	for _, h := range r.jobs {
		list = append(list, h.msg)
	}
	return list
}

// keys returns the keys of all jobs.
func (r *running) keys() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.jobs))
}

// onCanceled handles the notice that a job was canceled.
func (q *Queue) onCanceled(msg *nats.Msg) {
	q.counts.canceled.Add(1)
	q.running.end(msg.Subject[strings.LastIndexByte(msg.Subject, '.')+1:], errCanceled)
}

// beat extends the leases of the running jobs: JetStream does not redeliver
// them.
func (q *Queue) beat(ctx context.Context) {
	every(ctx, q.opts.AckWait/3, func() {
		for _, msg := range q.running.messages() {
			if err := msg.InProgress(); err != nil {
				q.log.Debug("job cannot be kept", "error", err)
			}
		}
	})
}

// watch checks for cancellations and for results of other workers, since a
// notice can be lost. It is separate from beat, because it waits for responses.
func (q *Queue) watch(ctx context.Context) {
	every(ctx, q.opts.AckWait/3, func() {
		ctx, cancel := context.WithTimeout(ctx, max(q.opts.AckWait/3, time.Second))
		defer cancel()
		for _, key := range q.running.keys() {
			switch r, err := q.look(ctx, key); {
			case err != nil || r == nil:
			case r.Canceled():
				q.running.end(key, errCanceled)
			default:
				q.running.end(key, errThere)
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
