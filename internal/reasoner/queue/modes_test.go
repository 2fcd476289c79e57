package queue_test

import (
	"context"
	"log/slog"
	"testing"

	reasonerclient "github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/reasoner/httpapi"
	"github.com/meup-protocol/meup/internal/reasoner/queue"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// asyncMode is the asynchronous side of the service in one of its modes, with
// one worker and four callback slots, of which each host gets one.
type asyncMode struct {
	jobs   httpapi.Jobs
	begun  chan string // ids of decisions
	posted chan string // ids of callbacks
	ended  chan error  // causes that ended either
	decide chan struct{}
	post   chan error
	// settled returns once no job is left.
	settled func(t *testing.T)
}

// decision blocks until the test releases it or its ctx ends.
func (a *asyncMode) decision(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
	a.begun <- r.CorrelationID
	select {
	case <-a.decide:
		return decideNow(ctx, r)
	case <-ctx.Done():
		a.ended <- context.Cause(ctx)
		return nil, ctx.Err()
	}
}

// callback blocks in the same way.
func (a *asyncMode) callback(ctx context.Context, _ string, body *wire.Callback) error {
	a.posted <- body.CorrelationID
	select {
	case err := <-a.post:
		return err
	case <-ctx.Done():
		a.ended <- context.Cause(ctx)
		return ctx.Err()
	}
}

type queued struct{ reasonerclient.Client }

func (q queued) Submit(ctx context.Context, r *wire.AgentIntentRequest) (string, error) {
	accepted, err := q.AgentIntentAsync(ctx, r)
	if err != nil {
		return "", err
	}
	return accepted.JobID, nil
}

func inProcess(t *testing.T, a *asyncMode) {
	b := queue.NewPool(queue.PoolOptions{Decide: a.decision, Post: a.callback, Workers: 1, CallbackWorkers: 1, Logger: slog.New(slog.DiscardHandler)})
	a.jobs = b
	a.settled = func(t *testing.T) {
		t.Helper()
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) })
}

func inQueue(t *testing.T, a *asyncMode) {
	s := newSite(t)
	s.worker(decides(a.decision), func(o *queue.Options) { o.Workers, o.CallbackWorkers, o.Callback = 1, 1, a.callback })
	a.jobs = queued{s.client()}
	a.settled = func(t *testing.T) {
		t.Helper()
		testkit.Eventually(t, "no job is left", func() bool { return s.jobs() == 0 })
	}
}

// TestCancel_BothModes: the response to a cancellation and its effect depend on
// the phase of the job, not on the mode.
func TestCancel_BothModes(t *testing.T) {
	t.Parallel()
	// first submits the job that occupies the one worker or the one callback
	// slot.
	for _, phase := range []struct {
		name string
		// enter brings the job "a" into the phase.
		enter func(t *testing.T, a *asyncMode)
		found bool // by the cancellation, and by a later one
		ended bool // it interrupts a decision or a callback
	}{
		{"unknown", func(*testing.T, *asyncMode) {}, false, false},
		{"queued", func(t *testing.T, a *asyncMode) {
			a.submit(t, "first")
			receive(t, "the first job begins", a.begun)
			a.submit(t, "a")
		}, true, false},
		{"deciding", func(t *testing.T, a *asyncMode) {
			a.submit(t, "a")
			receive(t, "the job begins", a.begun)
		}, true, true},
		{"decided, its callback waits for a place", func(t *testing.T, a *asyncMode) {
			for _, id := range []string{"first", "a"} {
				a.submit(t, id)
				receive(t, "the job begins", a.begun)
				a.decide <- struct{}{}
			}
			receive(t, "the first callback begins", a.posted)
			a.submit(t, "last") // which starts when the worker has finished a
			receive(t, "the last job begins", a.begun)
		}, true, false},
		{"callback under way", func(t *testing.T, a *asyncMode) {
			a.submit(t, "a")
			receive(t, "the job begins", a.begun)
			a.decide <- struct{}{}
			receive(t, "its callback begins", a.posted)
		}, true, true},
		{"callback delivered", func(t *testing.T, a *asyncMode) { a.posts(t, nil) }, false, false},
		{"callback given up", func(t *testing.T, a *asyncMode) { a.posts(t, context.DeadlineExceeded) }, false, false},
	} {
		for mode, open := range map[string]func(*testing.T, *asyncMode){"in process": inProcess, "queue": inQueue} {
			t.Run(phase.name+"/"+mode, func(t *testing.T) {
				a := &asyncMode{begun: make(chan string, 8), posted: make(chan string, 8), ended: make(chan error, 8),
					decide: make(chan struct{}), post: make(chan error)}
				open(t, a)
				phase.enter(t, a)
				for _, when := range []string{"canceled", "canceled again"} {
					if found, err := a.jobs.Cancel(t.Context(), "a"); err != nil || found != phase.found {
						t.Errorf("%s: %v, %v", when, found, err)
					}
				}
				if phase.ended {
					if err := receive(t, "it ends", a.ended); err == nil {
						t.Error("ended for no cause")
					}
				}
				close(a.decide) // release the other jobs
				close(a.post)
				a.settled(t)
				for len(a.posted) > 0 {
					if id := <-a.posted; id == "a" {
						t.Error("posted after the cancellation")
					}
				}
				for len(a.begun) > 0 {
					if id := <-a.begun; id == "a" {
						t.Error("decided after the cancellation")
					}
				}
				if found, err := a.jobs.Cancel(t.Context(), "a"); err != nil || found != phase.found {
					t.Errorf("canceled when it was settled: %v, %v", found, err)
				}
			})
		}
	}
}

func (a *asyncMode) submit(t *testing.T, id string) {
	t.Helper()
	if _, err := a.jobs.Submit(t.Context(), callbackRequest(id, "example.org")); err != nil {
		t.Fatal(err)
	}
}

// posts makes the callback of a return err.
func (a *asyncMode) posts(t *testing.T, err error) {
	t.Helper()
	a.submit(t, "a")
	receive(t, "the job begins", a.begun)
	a.decide <- struct{}{}
	receive(t, "its callback begins", a.posted)
	a.post <- err
	a.settled(t)
}
