package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/reasoner/queue"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// hangingDecide decides nothing until its ctx ends. It sends on begun when it
// starts, and the cause of its end on ended.
func hangingDecide(begun chan<- struct{}, ended chan<- error) decide {
	return func(ctx context.Context, _ *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
		begun <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	}
}

func cancelJob(t *testing.T, c reasoner.Client, id string, want bool) {
	t.Helper()
	if found, err := c.Cancel(t.Context(), id); err != nil || found != want {
		t.Errorf("cancel %s: %v, %v", id, found, err)
	}
}

func TestCancelQueued(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open()
	waiting := ask(t, s.client(), request("a"))
	testkit.Eventually(t, "the job is queued", func() bool { return s.jobs() == 1 })
	c := s.client()
	cancelJob(t, c, "a", true)
	if a := receive(t, "an answer", waiting); !errors.Is(a.err, reasoner.ErrCanceled) {
		t.Errorf("got %+v, %v", a.resp, a.err)
	}
	if n := s.jobs(); n != 0 {
		t.Errorf("%d jobs are queued", n)
	}
	// It stays canceled for later requests and deliveries.
	if _, err := c.AgentIntent(t.Context(), request("a")); !errors.Is(err, reasoner.ErrCanceled) {
		t.Errorf("then %v", err)
	}
	var made atomic.Int32
	s.worker(counted(&made, decideNow))
	s.put(jobOf(request("a")))
	testkit.Eventually(t, "the job is acknowledged", func() bool { return s.jobs() == 0 })
	if made.Load() != 0 {
		t.Errorf("decided %d times", made.Load())
	}
	if r, _ := s.result("a"); r.State != wire.JobCanceled {
		t.Errorf("result %+v", r)
	}
	cancelJob(t, c, "a", true) // a second cancellation gets the same response
}

func TestCancelRunning(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	begun, ended := make(chan struct{}, 1), make(chan error, 1)
	// Without heartbeats only the notice can end it.
	w := s.worker(decides(hangingDecide(begun, ended)), longLease)
	waiting := ask(t, s.client(), request("a"))
	receive(t, "the job is begun", begun)
	cancelJob(t, s.client(), "a", true)
	if cause := receive(t, "the decision ends", ended); cause == nil || cause.Error() != "the job was canceled" {
		t.Errorf("ended by %v", cause)
	}
	if a := receive(t, "an answer", waiting); !errors.Is(a.err, reasoner.ErrCanceled) {
		t.Errorf("got %+v, %v", a.resp, a.err)
	}
	testkit.Eventually(t, "the counts say so", func() bool {
		c, err := w.Counts(context.Background())
		return err == nil && c == (queue.Counts{Canceled: 1})
	})
}

// A worker that missed the notice detects the cancellation soon.
func TestCancelNoticeLost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	begun, ended := make(chan struct{}, 1), make(chan error, 1)
	s.worker(decides(hangingDecide(begun, ended)), shortLease)
	waiting := ask(t, s.client(), request("a"))
	receive(t, "the job is begun", begun)
	data, err := json.Marshal(wire.QueueResult{CorrelationID: "a", State: wire.JobCanceled})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.js().Publish(t.Context(), names.Result(names.Key("a")), data); err != nil {
		t.Fatal(err)
	}
	_ = receive(t, "the decision ends", ended)
	if a := receive(t, "an answer", waiting); !errors.Is(a.err, reasoner.ErrCanceled) {
		t.Errorf("got %+v, %v", a.resp, a.err)
	}
	testkit.Eventually(t, "the job is acknowledged", func() bool { return s.jobs() == 0 })
}

// Neither a settled job nor an unknown one can be canceled.
func TestCancelTooLate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.worker()
	c := s.client()
	resp, err := c.AgentIntent(t.Context(), request("a"))
	if err != nil {
		t.Fatal(err)
	}
	cancelJob(t, c, "a", false)
	cancelJob(t, c, "unheard of", false)
	if again, err := c.AgentIntent(t.Context(), request("a")); err != nil || again.IntentID != resp.IntentID {
		t.Errorf("then %+v, %v", again, err)
	}
}

// Concurrent cancellation and decision: the first one written is the only
// result, and all clients get it.
func TestCancelRaces(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.worker()
	c, canceler := s.client(), s.client()
	for range 40 {
		id := request("").SessionID + time.Now().Format(time.RFC3339Nano)
		waiting := ask(t, c, request(id))
		found, err := canceler.Cancel(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		a := receive(t, "an answer", waiting)
		if found != errors.Is(a.err, reasoner.ErrCanceled) || a.err != nil && !found {
			t.Errorf("found %v, got %+v, %v", found, a.resp, a.err)
		}
		r, _ := s.result(id)
		if (r.State == wire.JobCanceled) != found {
			t.Errorf("found %v, result %+v", found, r)
		}
	}
}
