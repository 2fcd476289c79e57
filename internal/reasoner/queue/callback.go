package queue

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// callbackWorkers limits the callbacks that are posted at the same time. A host
// gets at most a quarter of the slots, so that one unresponsive host does not
// block others.
type callbackWorkers struct {
	limit int

	mu    sync.Mutex
	inUse int
	hosts map[string]int

	posting sync.WaitGroup
}

// run runs f in a goroutine. It returns false if there is no free slot.
func (p *callbackWorkers) run(host string, f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inUse >= p.limit || p.hosts[host] >= max(1, p.limit/4) {
		return false
	}
	if p.hosts == nil {
		p.hosts = make(map[string]int)
	}
	p.inUse++
	p.hosts[host]++
	p.posting.Go(func() { // ends with f; Run waits for it
		f()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.inUse--
		p.hosts[host]--
		if p.hosts[host] == 0 {
			delete(p.hosts, host)
		}
	})
	return true
}

// finish completes a job that has its result: immediately, or once the result
// is posted to the job's callback URL. The worker does not wait for the post;
// the job stays in the queue until then, so that another process posts if this
// one dies.
func (q *Queue) finish(ctx context.Context, h *lease, j *job, r *wire.QueueResult) {
	address, body := q.callback(j, r)
	if body == nil {
		q.acknowledge(h, j.CorrelationID)
		return
	}
	id := j.CorrelationID // do not keep the rest of the job, which may be large
	host := ""
	u, err := url.Parse(address)
	if err == nil {
		host = u.Host
	}
	q.running.startCallback(h)
	if q.callbackWorkers.run(host, func() { q.postCallback(ctx, h, id, address, body) }) {
		return
	}
	// There is no slot: the job is redelivered to any process, which finds its result, after a
	// second, then two, up to a minute. The callback is given up after half of ResultTTL, well
	// before its result expires; without the result, the job would be decided again.
	if time.Since(r.Finished) > q.opts.ResultTTL/2 {
		q.log.Warn("callback not delivered: there was no free slot in time", "correlation_id", id)
		q.acknowledge(h, id)
		return
	}
	q.log.Debug("callback waits for a free slot", "correlation_id", id)
	q.running.remove(h)
	_ = h.msg.NakWithDelay(min(time.Second<<min(max(j.attempts-1, 0), 6), time.Minute)) // if lost, AckWait expires
}

// postCallback posts a result and completes the job. If ctx ends, it leaves the
// callback to another process. A cancellation stops the post.
func (q *Queue) postCallback(ctx context.Context, h *lease, id, address string, body *wire.Callback) {
	canceled, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q.running.setCancel(h, cancel)
	err := context.Cause(canceled)
	if err == nil {
		within, stop := context.WithTimeout(canceled, q.opts.JobTimeout)
		defer stop()
		err = q.opts.Callback(within, address, body)
	}
	switch {
	case err == nil:
	case errors.Is(context.Cause(canceled), errCanceled):
		q.log.Info("callback canceled", "correlation_id", id)
	case ctx.Err() != nil:
		q.log.Warn("callback is left to another worker", "correlation_id", id, "error", err)
		q.running.remove(h)
		_ = h.msg.Nak() // if lost, AckWait expires
		return
	default:
		q.log.Warn("callback not delivered", "correlation_id", id, "error", err)
	}
	q.acknowledge(h, id)
}

// callback returns the URL and the body of a job's callback. body is nil if the
// job has none, or was canceled.
func (q *Queue) callback(j *job, r *wire.QueueResult) (address string, body *wire.Callback) {
	if q.opts.Callback == nil || r.Canceled() {
		return "", nil
	}
	address = j.CallbackURL()
	if address == "" {
		return "", nil
	}
	body = &wire.Callback{JobID: j.CorrelationID, CorrelationID: j.CorrelationID}
	if r.State == wire.JobFailed && r.Error != nil {
		body.Status, body.Error, body.Message, body.Usage = wire.StatusError, r.Error.Error, r.Error.Message, r.Error.Usage
		body.Trace = []wire.TraceItem{}
		return address, body
	}
	if err := json.Unmarshal(r.Result, &body.AgentIntentResponse); err != nil {
		q.log.Error("result cannot be read for its callback", "correlation_id", j.CorrelationID, "error", err)
		return "", nil
	}
	return address, body
}
