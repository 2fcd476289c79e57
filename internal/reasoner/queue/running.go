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

// running are the jobs that this process has at the moment, by their keys:
// those that workers have, and those whose callbacks are being posted.
type running struct {
	mu   sync.Mutex
	jobs map[string]*held
}

// held is one of them. What is not constant is guarded by running.mu.
type held struct {
	key string
	msg jetstream.Msg

	cancel  context.CancelCauseFunc // ends the decision or the callback; nil before both
	ended   error                   // errCanceled or errThere; nil: nothing ended it
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

// remove forgets a job, unless it is another delivery of it by now.
func (r *running) remove(h *held) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.jobs[h.key] == h {
		delete(r.jobs, h.key)
	}
}

// begin sets what ends the decision or the callback that begins.
func (r *running) begin(h *held, cancel context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h.cancel = cancel; h.ended != nil {
		cancel(h.ended)
	}
}

// end ends a job for a cause: errCanceled its decision or its callback, errThere
// its decision alone.
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

// post says that a job has its result and its callback is next. Of what ended
// the job before, a cancellation alone holds for the callback.
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

// messages returns those of all jobs.
func (r *running) messages() []jetstream.Msg {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]jetstream.Msg, 0, len(r.jobs))
	for _, h := range r.jobs {
		list = append(list, h.msg)
	}
	return list
}

// keys returns those of all jobs.
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

// beat tells JetStream that the jobs are being worked on.
func (q *Queue) beat(ctx context.Context) {
	every(ctx, q.opts.AckWait/3, func() {
		for _, msg := range q.running.messages() {
			if err := msg.InProgress(); err != nil {
				q.log.Debug("job cannot be kept", "error", err)
			}
		}
	})
}

// watch looks for cancellations and for results of other workers, since a
// notice can get lost. It waits for answers, which beat cannot.
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

// every calls f again and again until ctx ends.
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
