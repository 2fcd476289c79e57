package reasoner

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// Jobs makes asynchronous decisions. Background makes them in this process; a
// queue may also implement Jobs.
type Jobs interface {
	// Submit accepts a request, whose result is posted to its callback URL, and
	// returns the job's id. The error is a *Fault with status 503 when there
	// are too many jobs.
	Submit(ctx context.Context, r *wire.AgentIntentRequest) (jobID string, err error)
	// Cancel cancels the jobs of a correlation id that are queued, being
	// decided, or have an undelivered callback, and posts no more results for
	// them. It reports whether there was such a job, or one canceled earlier.
	Cancel(ctx context.Context, correlationID string) (bool, error)
}

// Defaults of BackgroundOptions.
const (
	DefaultJobs               = 1024
	DefaultJobWorkers         = 8
	DefaultJobCallbackWorkers = 64
	DefaultJobTimeout         = 2 * time.Minute
	DefaultJobBytes           = 64 << 20
)

// BackgroundOptions configures a Background. Decide and Post are required.
type BackgroundOptions struct {
	Decide func(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error)
	Post   func(ctx context.Context, address string, result *wire.Callback) error

	MaxJobs         int           // concurrent jobs, queued ones included; 0: DefaultJobs
	Bytes           int64         // bound for the requests of undecided jobs; 0: DefaultJobBytes
	Workers         int           // concurrent decisions; 0: DefaultJobWorkers
	CallbackWorkers int           // concurrent callbacks; 0: DefaultJobCallbackWorkers
	Timeout         time.Duration // of one decision; 0: DefaultJobTimeout

	Logger *slog.Logger  // nil: none
	NewID  func() string // returns the unique part of ids; nil: a UUID
}

// Background makes decisions in this process. They are lost when the process
// ends; use a queue to keep them.
type Background struct {
	o               BackgroundOptions
	slots           chan struct{} // one slot per job
	bytes           *byteBudget   // budget for the requests of undecided jobs
	workers         chan struct{} // one slot per running decision
	callbackWorkers chan struct{} // one slot per callback being posted

	ctx  context.Context // canceled when Close stops waiting for jobs
	stop context.CancelFunc

	mu      sync.Mutex
	closing bool
	running sync.WaitGroup
	jobs    map[string]map[*job]struct{} // by correlation id
	// canceled and canceledBefore are the correlation ids whose jobs were
	// canceled. They hold at least the latest Most of them.
	canceled, canceledBefore map[string]struct{}
}

type job struct {
	id          string
	correlation string
	callback    string
	cancel      context.CancelFunc
}

// NewBackground returns a Background. Call Close to stop it.
func NewBackground(o BackgroundOptions) *Background {
	orDefault(&o.MaxJobs, DefaultJobs)
	orDefault(&o.Bytes, DefaultJobBytes)
	orDefault(&o.Workers, DefaultJobWorkers)
	orDefault(&o.CallbackWorkers, DefaultJobCallbackWorkers)
	orDefault(&o.Timeout, DefaultJobTimeout)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	b := &Background{
		o: o, jobs: make(map[string]map[*job]struct{}), canceled: make(map[string]struct{}),
		slots:           make(chan struct{}, o.MaxJobs),
		bytes:           newByteBudget(o.Bytes),
		workers:         make(chan struct{}, o.Workers),
		callbackWorkers: make(chan struct{}, o.CallbackWorkers),
	}
	b.ctx, b.stop = context.WithCancel(context.Background())
	return b
}

func orDefault[T int | int64 | time.Duration](v *T, value T) {
	if *v <= 0 {
		*v = value
	}
}

func overloaded(message string) *Fault {
	return &Fault{Status: http.StatusServiceUnavailable, Code: CodeOverloaded, Message: message}
}

// Submit starts a job.
func (b *Background) Submit(_ context.Context, r *wire.AgentIntentRequest) (string, error) {
	select {
	case b.slots <- struct{}{}:
	default:
		return "", overloaded("There are too many jobs: ask again in a moment.")
	}
	bytes := size(r)
	if !b.bytes.reserve(bytes) {
		<-b.slots
		return "", overloaded("The jobs that wait are too large together: ask again in a moment.")
	}
	ctx, cancel := context.WithCancel(b.ctx)
	j := &job{id: "job-" + b.o.NewID(), correlation: r.CorrelationID, callback: r.CallbackURL, cancel: cancel}
	if !b.add(j) {
		cancel()
		b.bytes.release(bytes)
		<-b.slots
		return "", overloaded("The service is about to end: ask again in a moment.")
	}
	go func() { // ends after decision and callback, or with ctx; Close waits for it
		defer b.running.Done()
		defer func() { <-b.slots }()
		defer b.remove(j)
		defer cancel()
		b.run(ctx, j, r, bytes)
	}()
	return j.id, nil
}

func (b *Background) add(j *job) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return false
	}
	b.running.Add(1)
	if id := j.correlation; id != "" {
		if b.jobs[id] == nil {
			b.jobs[id] = make(map[*job]struct{})
		}
		b.jobs[id][j] = struct{}{}
		delete(b.canceled, id)
		delete(b.canceledBefore, id)
	}
	return true
}

func (b *Background) remove(j *job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := j.correlation
	delete(b.jobs[id], j)
	if len(b.jobs[id]) == 0 {
		delete(b.jobs, id)
	}
}

// Cancel cancels the jobs of a correlation id.
func (b *Background) Cancel(_ context.Context, id string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.jobs[id]) == 0 {
		_, last := b.canceled[id]
		_, before := b.canceledBefore[id]
		return last || before, nil
	}
	for j := range b.jobs[id] {
		j.cancel()
	}
	if len(b.canceled) >= b.o.MaxJobs {
		b.canceled, b.canceledBefore = make(map[string]struct{}), b.canceled
	}
	b.canceled[id] = struct{}{}
	return true, nil
}

// run makes the decision and posts the result. It releases the bytes of the
// request before it posts, because a receiver may be slow.
func (b *Background) run(ctx context.Context, j *job, r *wire.AgentIntentRequest, bytes int64) {
	result, ok := b.decide(ctx, j, r)
	b.bytes.release(bytes)
	if !ok || !acquire(ctx, b.callbackWorkers) {
		b.o.Logger.LogAttrs(ctx, slog.LevelInfo, "job cancelled", slog.String("job", j.id))
		return
	}
	defer func() { <-b.callbackWorkers }()
	if err := b.o.Post(ctx, j.callback, result); err != nil {
		b.o.Logger.LogAttrs(ctx, slog.LevelWarn, "callback not delivered", slog.String("job", j.id), slog.String("error", err.Error()))
	}
}

// decide returns the result to post; false if the job was canceled.
func (b *Background) decide(ctx context.Context, j *job, r *wire.AgentIntentRequest) (*wire.Callback, bool) {
	if !acquire(ctx, b.workers) {
		return nil, false
	}
	defer func() { <-b.workers }()
	began, cancel := context.WithTimeout(ctx, b.o.Timeout)
	defer cancel()
	out, err := b.guarded(began, r)
	if ctx.Err() != nil {
		return nil, false
	}
	if err != nil {
		if FaultOf(err).Code == CodeInternal {
			b.o.Logger.LogAttrs(ctx, slog.LevelError, "job failed", slog.String("job", j.id), slog.String("error", mask(err.Error(), r.LLM)))
		}
		out = failed(err, j.id)
	}
	return &wire.Callback{AgentIntentResponse: *out, JobID: j.id, CorrelationID: j.correlation}, true
}

// guarded turns a panic into an error, so that one job cannot end the others.
func (b *Background) guarded(ctx context.Context, r *wire.AgentIntentRequest) (out *wire.AgentIntentResponse, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decide: panic: %v\n%s", p, debug.Stack())
		}
	}()
	return b.o.Decide(ctx, r)
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

// failed returns the response of a job that failed.
func failed(err error, id string) *wire.AgentIntentResponse {
	f := FaultOf(err)
	return &wire.AgentIntentResponse{
		Status: wire.StatusError, IntentID: id, Trace: []wire.TraceItem{},
		Error: f.Code, Message: f.Message,
	}
}

// acquire acquires a slot. It returns false if ctx ends first.
func acquire(ctx context.Context, places chan struct{}) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// Close stops accepting jobs and waits for running ones. When ctx ends, it
// cancels them and their results are lost; the error gives their number.
func (b *Background) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closing = true
	b.mu.Unlock()
	done := make(chan struct{})
	go func() { // ends with the last job, which the code below waits for
		b.running.Wait()
		close(done)
	}()
	defer b.stop()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		left := len(b.slots)
		b.stop()
		<-done
		if left == 0 {
			return nil
		}
		return fmt.Errorf("end jobs: %d were not finished: %w", left, ctx.Err())
	}
}
