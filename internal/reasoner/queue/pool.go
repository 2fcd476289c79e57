package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/reasoner"
)

// Defaults of PoolOptions.
const (
	defaultPoolJobs            = 1024
	defaultPoolBytes           = 64 << 20
	defaultPoolWorkers         = 8
	defaultPoolCallbackWorkers = 64
	defaultPoolTimeout         = 2 * time.Minute
)

// PoolOptions configures a Pool. Decide, Post and Logger are required.
type PoolOptions struct {
	Decide func(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error)
	Post   func(ctx context.Context, address string, result *wire.Callback) error
	Logger *slog.Logger

	MaxJobs         int           // unfinished jobs; 0: defaultPoolJobs
	Bytes           int64         // of the requests of undecided jobs; 0: defaultPoolBytes
	Workers         int           // concurrent decisions; 0: defaultPoolWorkers
	CallbackWorkers int           // concurrent callbacks; 0: defaultPoolCallbackWorkers
	Timeout         time.Duration // of one decision; 0: defaultPoolTimeout
}

// Pool makes asynchronous decisions in this process and posts their results. They are
// lost when the process ends; a [Queue] keeps them. A queue in memory does not replace it: here,
// jobs with one correlation id are separate, a request may contain the key of a model, its
// bytes are released before the callback, and large jobs are not encoded a second time, which
// took three times as long.
type Pool struct {
	o         PoolOptions
	workers   *semaphore.Weighted // one slot per running decision
	callbacks *semaphore.Weighted // one slot per callback being posted

	ctx     context.Context // canceled when Close stops waiting for jobs
	stop    context.CancelFunc
	running sync.WaitGroup // of jobs

	mu     sync.Mutex
	closed bool
	bytes  int64 // of the requests of undecided jobs
	jobs   map[*poolJob]struct{}
	// canceled and canceledBefore are the correlation ids whose jobs were
	// canceled. Together they hold at least the latest MaxJobs of them.
	canceled, canceledBefore map[string]struct{}
}

type poolJob struct {
	id          string
	correlation string
	callback    string
	bytes       int64
	cancel      context.CancelFunc
}

// NewPool returns a Pool. Call Close to stop it.
func NewPool(o PoolOptions) *Pool {
	o.MaxJobs = cmp.Or(o.MaxJobs, defaultPoolJobs)
	o.Bytes = cmp.Or(o.Bytes, defaultPoolBytes)
	o.Timeout = cmp.Or(o.Timeout, defaultPoolTimeout)
	p := &Pool{
		o: o, jobs: make(map[*poolJob]struct{}), canceled: make(map[string]struct{}),
		workers:   semaphore.NewWeighted(int64(cmp.Or(o.Workers, defaultPoolWorkers))),
		callbacks: semaphore.NewWeighted(int64(cmp.Or(o.CallbackWorkers, defaultPoolCallbackWorkers))),
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// Submit starts a job and returns its id. Several jobs may have the same
// correlation id.
func (p *Pool) Submit(_ context.Context, r *wire.AgentIntentRequest) (string, error) {
	j := &poolJob{id: "job-" + uuid.NewString(), correlation: r.CorrelationID, callback: r.CallbackURL, bytes: size(r)}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return "", reasoner.Overloaded("The service is shutting down: try again in a moment.")
	case len(p.jobs) >= p.o.MaxJobs:
		return "", reasoner.Overloaded("There are too many jobs: try again in a moment.")
	case p.bytes+j.bytes > p.o.Bytes:
		return "", reasoner.Overloaded("The waiting jobs are too large together: try again in a moment.")
	}
	var ctx context.Context
	ctx, j.cancel = context.WithCancel(p.ctx)
	p.bytes += j.bytes
	p.jobs[j] = struct{}{}
	delete(p.canceled, j.correlation)
	delete(p.canceledBefore, j.correlation)
	p.running.Go(func() { // ends after decision and callback, or with ctx; Close waits for it
		defer p.remove(j)
		p.run(ctx, j, r)
	})
	return j.id, nil
}

func (p *Pool) remove(j *poolJob) {
	j.cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.jobs, j)
}

// Cancel cancels the jobs of a correlation id. It reports whether there were
// any, or whether they were canceled before.
func (p *Pool) Cancel(_ context.Context, id string) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := false
	for j := range p.jobs {
		if id != "" && j.correlation == id {
			found = true
			j.cancel()
		}
	}
	if !found {
		_, last := p.canceled[id]
		_, before := p.canceledBefore[id]
		return last || before, nil
	}
	if len(p.canceled) >= p.o.MaxJobs {
		p.canceled, p.canceledBefore = make(map[string]struct{}), p.canceled
	}
	p.canceled[id] = struct{}{}
	return true, nil
}

// run makes the decision and posts the result. It releases the bytes of the
// request before it posts, because a receiver may be slow.
func (p *Pool) run(ctx context.Context, j *poolJob, r *wire.AgentIntentRequest) {
	result := p.decide(ctx, j, r)
	p.mu.Lock()
	p.bytes -= j.bytes
	p.mu.Unlock()
	if result == nil || p.callbacks.Acquire(ctx, 1) != nil {
		p.o.Logger.LogAttrs(ctx, slog.LevelInfo, "job canceled", slog.String("job", j.id))
		return
	}
	defer p.callbacks.Release(1)
	if err := p.o.Post(ctx, j.callback, result); err != nil {
		p.o.Logger.LogAttrs(ctx, slog.LevelWarn, "callback not delivered", slog.String("job", j.id), slog.String("error", err.Error()))
	}
}

// decide returns the result to post; nil if the job was canceled.
func (p *Pool) decide(ctx context.Context, j *poolJob, r *wire.AgentIntentRequest) *wire.Callback {
	if p.workers.Acquire(ctx, 1) != nil {
		return nil
	}
	defer p.workers.Release(1)
	within, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	out, err := p.guarded(within, r)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		f := reasoner.FaultOf(err)
		if f.Code == reasoner.CodeInternal {
			p.o.Logger.LogAttrs(ctx, slog.LevelError, "job failed", slog.String("job", j.id), slog.String("error", reasoner.MaskKey(err.Error(), r.LLM)))
		}
		out = &wire.AgentIntentResponse{Status: wire.StatusError, IntentID: j.id, Trace: []wire.TraceItem{}, Error: f.Code, Message: f.Message, Usage: reasoner.UsageOf(err)}
	}
	return &wire.Callback{AgentIntentResponse: *out, JobID: j.id, CorrelationID: j.correlation}
}

// guarded turns a panic into an error, so that one job cannot end the others.
func (p *Pool) guarded(ctx context.Context, r *wire.AgentIntentRequest) (out *wire.AgentIntentResponse, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("decide: panic: %v\n%s", v, debug.Stack())
		}
	}()
	return p.o.Decide(ctx, r)
}

// size estimates the memory that a request uses, in bytes.
func size(r *wire.AgentIntentRequest) int64 {
	n := 1024 + len(r.SessionID) + len(r.GoalText) + len(r.Instructions) + len(r.CallbackURL) + len(r.CorrelationID)
	for _, raw := range []json.RawMessage{r.Persona, r.Driver, r.Rules, r.RepoContext, r.MemoryState} {
		n += len(raw)
	}
	for _, item := range r.History {
		n += len(item)
	}
	for _, t := range r.Tools {
		n += len(t.Name) + len(t.Description) + len(t.InputSchema)
	}
	return int64(n)
}

// Close stops accepting jobs and waits for running ones. When ctx ends, it
// cancels them and their results are lost; the error gives their number.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	done := make(chan struct{})
	go func() { // ends with the last job, which the code below waits for
		p.running.Wait()
		close(done)
	}()
	defer p.stop()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		p.mu.Lock()
		left := len(p.jobs)
		p.mu.Unlock()
		p.stop()
		<-done
		if left == 0 {
			return nil
		}
		return fmt.Errorf("end jobs: %d were not finished: %w", left, ctx.Err())
	}
}
