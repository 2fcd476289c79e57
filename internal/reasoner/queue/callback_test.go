package queue_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/reasoner/queue"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// callbackRequest returns a request whose result is posted to a host.
func callbackRequest(id, host string) *wire.AgentIntentRequest {
	r := request(id)
	r.CallbackURL = "https://" + host + "/hook"
	return r
}

// hangingCallback is a Callback whose receiver never responds. It sends the id
// on begun, and the cause of its end on ended.
func hangingCallback(begun chan<- string, ended chan<- error) func(*queue.Options) {
	return func(o *queue.Options) {
		o.Callback = func(ctx context.Context, _ string, body *wire.Callback) error {
			begun <- body.JobID
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return ctx.Err()
		}
	}
}

func posts(posted chan<- *wire.Callback) func(*queue.Options) {
	return func(o *queue.Options) {
		o.Callback = func(_ context.Context, _ string, body *wire.Callback) error {
			posted <- body
			return nil
		}
	}
}

// Hosts that do not respond block neither the workers nor other hosts. A job is
// redelivered until there is a slot for its callback.
func TestCallback_UnresponsiveHosts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	begun, over, alive := make(chan string, 64), make(chan struct{}), make(chan string, 64)
	s.worker(func(o *queue.Options) {
		o.Workers, o.CallbackWorkers = 1, 8
		o.Callback = func(_ context.Context, url string, body *wire.Callback) error {
			if url == "https://alive/hook" {
				alive <- body.JobID
				return nil
			}
			begun <- body.JobID
			<-over
			return errors.New("nobody there")
		}
	})
	const dead = 5
	for i := range dead {
		s.put(jobOf(callbackRequest(fmt.Sprint("dead ", i), "dead")))
	}
	receive(t, "a callback begins", begun)
	receive(t, "another one begins", begun) // a quarter of 8 slots is in use
	s.put(jobOf(callbackRequest("a", "alive")))
	if id := receive(t, "the callback of a host that answers", alive); id != "a" {
		t.Errorf("posted %s", id)
	}
	if resp, err := s.client().AgentIntent(t.Context(), request("b")); err != nil || resp.FinalText == "" {
		t.Errorf("got %+v, %v", resp, err)
	}
	for i := range dead {
		testkit.Eventually(t, "the jobs are decided", func() bool { _, ok := s.result(fmt.Sprint("dead ", i)); return ok })
	}
	if len(begun) != 0 {
		t.Errorf("%d more at the same time", len(begun))
	}
	close(over)
	for range dead - 2 {
		receive(t, "a callback that had to wait", begun)
	}
	testkit.Eventually(t, "the jobs are gone", func() bool { return s.jobs() == 0 })
}

// A worker that stops leaves a callback to the next one.
func TestShutdown_LeavesCallbacks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	begun, ended := make(chan string, 1), make(chan error, 1)
	w := s.worker(hangingCallback(begun, ended), func(o *queue.Options) { o.Drain, o.AckWait = time.Millisecond, time.Hour })
	s.put(jobOf(callbackRequest("a", "example.org")))
	receive(t, "the callback begins", begun)
	w.stop()
	if err := receive(t, "the callback ends", ended); err == nil || err.Error() != "the worker stops" {
		t.Errorf("ended by %v", err)
	}
	if n := s.jobs(); n != 1 {
		t.Fatalf("%d jobs", n)
	}
	posted := make(chan *wire.Callback, 1)
	s.worker(posts(posted), longLease)
	if got := receive(t, "the callback", posted); got.JobID != "a" || got.Status != wire.StatusOK {
		t.Errorf("posted %+v", got)
	}
	testkit.Eventually(t, "the job is gone", func() bool { return s.jobs() == 0 })
}

// Leave does not wait for Drain.
func TestLeave(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	begun, ended := make(chan struct{}, 1), make(chan error, 1)
	w := s.worker(decides(hangingDecide(begun, ended)), func(o *queue.Options) { o.Drain = time.Hour })
	s.put(jobOf(request("a")))
	receive(t, "the job is begun", begun)
	w.interrupt()
	w.Leave()
	_ = receive(t, "the decision ends", ended)
	receive(t, "Run returns", w.done)
	if n := s.jobs(); n != 1 {
		t.Errorf("%d jobs", n)
	}
}

// A callback that lasts longer than AckWait is posted once: its lease is extended. On a busy
// machine a short lease may end before.
func TestCallback_Slow(t *testing.T) {
	t.Parallel()
	for lease := 600 * time.Millisecond; slowCallback(t, lease) > 1; lease *= 2 {
		if lease > 20*time.Second {
			t.Fatal("posted twice")
		}
	}
}

// slowCallback returns how often a callback is posted that lasts longer than its lease.
func slowCallback(t *testing.T, lease time.Duration) int32 {
	t.Helper()
	s := newSite(t)
	awaitExtended := s.extensions()
	begun, release := make(chan struct{}), make(chan struct{})
	var posted atomic.Int32
	w := s.worker(func(o *queue.Options) {
		o.AckWait = lease
		o.Callback = func(context.Context, string, *wire.Callback) error {
			if posted.Add(1) == 1 {
				close(begun)
			}
			<-release
			return nil
		}
	})
	s.put(jobOf(callbackRequest("a", "example.org")))
	receive(t, "the callback begins", begun)
	awaitExtended(4) // longer than the lease
	close(release)
	testkit.Eventually(t, "the job is gone", func() bool { return s.jobs() == 0 })
	w.stop()
	return posted.Load()
}

// A worker that was too late does not post the result of another worker, nor
// does it acknowledge the job.
func TestCallback_LateWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	begun, release := make(chan struct{}, 1), make(chan struct{})
	posted := make(chan *wire.Callback, 8)
	late := s.worker(decides(func(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
		begun <- struct{}{}
		<-release
		return decideNow(ctx, r)
	}), posts(posted), func(o *queue.Options) { o.Workers = 1; o.AckWait = time.Hour; o.Drain = time.Minute })
	s.put(jobOf(callbackRequest("a", "example.org")))
	receive(t, "it is begun", begun)
	s.writeResult("a", `{"type":"agent_intent","correlation_id":"a","state":"done","finished":"2026-01-01T00:00:00Z","result":{"status":"ok","trace":[]}}`)
	close(release)
	late.stop()
	if len(posted) != 0 {
		t.Errorf("posted %+v", <-posted)
	}
	if n := s.jobs(); n != 1 {
		t.Errorf("%d jobs", n)
	}
}

// writeResult writes a result as another worker would.
func (s *site) writeResult(id, body string) {
	s.t.Helper()
	if _, err := s.js().Publish(context.Background(), names.Result(names.Key(id)), []byte(body)); err != nil {
		s.t.Fatal(err)
	}
}

// An invalid message in place of a result does not keep the job in the queue
// forever.
func TestUnreadableResult(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open()
	s.writeResult("a", "no JSON")
	posted := make(chan *wire.Callback, 8)
	s.worker(posts(posted), longLease)
	s.put(jobOf(callbackRequest("a", "example.org")))
	if got := receive(t, "a callback", posted); got.Status != wire.StatusError || got.Error != "internal" || got.JobID != "a" {
		t.Errorf("posted %+v", got)
	}
	testkit.Eventually(t, "the job is gone", func() bool { return s.jobs() == 0 })
}

// A correlation id belongs to one request: another request is rejected, whether
// the first is queued, done or canceled.
func TestSameID_OtherRequest(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open()
	c := s.client()
	for _, id := range []string{"a", "canceled"} {
		if _, err := c.AgentIntentAsync(t.Context(), request(id)); err != nil {
			t.Fatal(err)
		}
	}
	cancelJob(t, c, "canceled", true)
	refused := func(id string) {
		t.Helper()
		_, err := c.AgentIntentAsync(t.Context(), callbackRequest(id, "example.org"))
		wantRefusal(t, err, http.StatusConflict, wire.CodeConflict)
		other := request(id)
		other.GoalText = "another"
		_, err = c.AgentIntent(t.Context(), other)
		wantRefusal(t, err, http.StatusConflict, wire.CodeConflict)
	}
	refused("a")
	refused("canceled")
	posted := make(chan *wire.Callback, 8)
	s.worker(posts(posted), longLease)
	if _, err := c.AgentIntent(t.Context(), request("a")); err != nil {
		t.Fatal(err)
	}
	refused("a")
	testkit.Eventually(t, "the job is gone", func() bool { return s.jobs() == 0 })
	// A job that bypasses the client fails with a conflict, in its callback.
	s.put(jobOf(callbackRequest("a", "example.org")))
	if got := receive(t, "a callback", posted); got.Status != wire.StatusError || got.Error != wire.CodeConflict {
		t.Errorf("posted %+v", got)
	}
}
