package queue

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// running are the jobs that workers have at the moment, by their keys.
type running struct {
	mu   sync.Mutex
	jobs map[string]*held
}

// held is one of them.
type held struct {
	key    string
	msg    jetstream.Msg
	cancel context.CancelCauseFunc
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

func (r *running) get(key string) *held {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobs[key]
}

func (r *running) all() []*held {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*held, 0, len(r.jobs))
	for _, h := range r.jobs {
		list = append(list, h)
	}
	return list
}

// onCanceled is called by the connection when somebody has canceled a job.
func (q *Queue) onCanceled(msg *nats.Msg) {
	q.counts.canceled.Add(1)
	key := msg.Subject[strings.LastIndexByte(msg.Subject, '.')+1:]
	if h := q.running.get(key); h != nil {
		h.cancel(errCanceled)
	}
}

// beat tells JetStream that the jobs are being worked on, and looks for
// results that others have written, since a notice can get lost.
func (q *Queue) beat(ctx context.Context) {
	tick := time.NewTicker(q.opts.AckWait / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		jobs := q.running.all()
		for _, h := range jobs {
			if err := h.msg.InProgress(); err != nil {
				q.log.Debug("job cannot be kept", "error", err)
			}
		}
		for _, h := range jobs {
			if r, err := q.look(ctx, h.key); err == nil && r != nil {
				h.cancel(errCanceled)
			}
		}
	}
}
