package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/reasoner/queue"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// counted counts the decisions that are started.
func counted(n *atomic.Int32, f decide) func(*queue.Options) {
	return decides(func(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
		n.Add(1)
		return f(ctx, r)
	})
}

func TestResult(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var made atomic.Int32
	s.worker(counted(&made, decideNow))
	c := s.client()
	for range 2 { // the second finds the existing result
		resp, err := c.AgentIntent(t.Context(), request("a"))
		if err != nil || resp.FinalText != "done: goal" || resp.IntentID != "i-a" {
			t.Fatalf("got %+v, %v", resp, err)
		}
	}
	if made.Load() != 1 {
		t.Errorf("decided %d times", made.Load())
	}
	r, ok := s.result("a")
	if !ok || r.State != wire.JobDone || r.CorrelationID != "a" || r.Type != wire.JobAgentIntent || r.Finished.IsZero() {
		t.Errorf("result %+v", r)
	}
	testkit.Eventually(t, "the job is acknowledged", func() bool { return s.jobs() == 0 })
}

// A result is available to a later client, and for an asynchronous request.
func TestAsyncThenAsk(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open()
	c := s.client()
	accepted, err := c.AgentIntentAsync(t.Context(), request("later"))
	if err != nil || accepted.Status != "accepted" || accepted.JobID != "later" {
		t.Fatalf("got %+v, %v", accepted, err)
	}
	s.worker()
	if resp, err := s.client().AgentIntent(t.Context(), request("later")); err != nil || resp.FinalText == "" {
		t.Errorf("got %+v, %v", resp, err)
	}
}

// Without a correlation id every request is a separate job, and the caller's
// request is not modified.
func TestOwnCorrelationID(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.worker()
	c := s.client()
	r := request("")
	first, err := c.AgentIntent(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.AgentIntent(t.Context(), r)
	if err != nil || r.CorrelationID != "" || first.IntentID == second.IntentID {
		t.Errorf("%+v, %+v, %v, %q", first, second, err, r.CorrelationID)
	}
}

func TestWorkflow(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.worker(func(o *queue.Options) {
		o.Workflow = func(_ context.Context, r *wire.WorkflowIntentRequest) (*wire.WorkflowIntentResponse, error) {
			return &wire.WorkflowIntentResponse{Status: wire.StatusOK, NextNode: "after " + r.CurrentNode, Trace: []wire.TraceItem{}}, nil
		}
	})
	resp, err := s.client().Workflow(t.Context(), &wire.WorkflowIntentRequest{RunID: "r", WorkflowName: "w", CurrentNode: "n"})
	if err != nil || resp.NextNode != "after n" {
		t.Errorf("got %+v, %v", resp, err)
	}
}

// Concurrent requests with the same id are one job; all waiting clients get its
// result.
func TestSameID_SameJob(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var made atomic.Int32
	release := make(chan struct{})
	s.worker(counted(&made, func(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
		<-release
		return decideNow(ctx, r)
	}))
	var waiting []<-chan answer
	for range 8 {
		waiting = append(waiting, ask(t, s.client(), request("same")))
	}
	testkit.Eventually(t, "the job is being worked on", func() bool { return made.Load() > 0 })
	// A later client finds the result.
	if _, err := s.client().AgentIntentAsync(t.Context(), request("same")); err != nil {
		t.Error(err)
	}
	if n := s.jobs(); n != 1 {
		t.Errorf("%d jobs", n)
	}
	close(release)
	for _, ch := range waiting {
		if a := receive(t, "an answer", ch); a.err != nil || a.resp.IntentID != "i-same" {
			t.Errorf("got %+v, %v", a.resp, a.err)
		}
	}
	if made.Load() != 1 {
		t.Errorf("decided %d times", made.Load())
	}
}

// A job is redelivered after its worker has died.
func TestRedelivery(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open(shortLease)
	waiting := ask(t, s.client(), request("a"))
	s.claim()
	var made atomic.Int32
	s.worker(counted(&made, decideNow), shortLease)
	if a := receive(t, "an answer", waiting); a.err != nil || a.resp.IntentID != "i-a" {
		t.Errorf("got %+v, %v", a.resp, a.err)
	}
	if made.Load() != 1 {
		t.Errorf("decided %d times", made.Load())
	}
}

// Two workers decide the same job: one result is written, and all clients get
// it.
func TestWrittenOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	begun, release := make(chan struct{}, 1), make(chan struct{})
	first := s.worker(decides(func(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
		begun <- struct{}{}
		<-release
		resp, err := decideNow(ctx, r)
		resp.FinalText = "by the first"
		return resp, err
	}), func(o *queue.Options) { o.Workers = 1; o.AckWait = time.Hour; o.Drain = time.Minute })
	waiting := ask(t, s.client(), request("a"))
	receive(t, "the first has it", begun)
	// Remove the job of the first worker, so that a second worker can get it.
	jobs, err := s.js().Stream(t.Context(), names.JobsStream())
	if err != nil {
		t.Fatal(err)
	}
	if err := jobs.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.worker(longLease)
	s.put(jobOf(request("a")))
	a := receive(t, "an answer", waiting)
	if a.err != nil || a.resp.FinalText != "done: goal" {
		t.Errorf("got %+v, %v", a.resp, a.err)
	}
	close(release)
	first.stop()
	again, err := s.client().AgentIntent(t.Context(), request("a"))
	if err != nil || again.FinalText != "done: goal" {
		t.Errorf("then got %+v, %v", again, err)
	}
	if n := s.state(names.ResultsStream()).LastSeq; n != 1 {
		t.Errorf("%d results were written", n)
	}
}

// A second delivery of a settled job is acknowledged without further action.
func TestRedelivery_SettledJob(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var made atomic.Int32
	s.worker(counted(&made, decideNow))
	if _, err := s.client().AgentIntent(t.Context(), request("a")); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the job is acknowledged", func() bool { return s.jobs() == 0 })
	s.put(jobOf(request("a")))
	testkit.Eventually(t, "the job is acknowledged again", func() bool { return s.jobs() == 0 })
	if made.Load() != 1 {
		t.Errorf("decided %d times", made.Load())
	}
}

// A job that is never settled fails.
func TestMaxDeliver(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open()
	waiting := ask(t, s.client(), request("poison"))
	for range 2 {
		if err := s.claim().Nak(); err != nil { // started, and not settled
			t.Fatal(err)
		}
	}
	var made atomic.Int32
	w := s.worker(counted(&made, decideNow), func(o *queue.Options) { o.MaxDeliver = 2 })
	a := receive(t, "an answer", waiting)
	var refused *reasoner.APIError
	if !errors.As(a.err, &refused) || refused.Code != wire.CodeTooManyAttempts || refused.Status != 500 {
		t.Errorf("got %+v, %v", a.resp, a.err)
	}
	testkit.Eventually(t, "the job is gone", func() bool { return s.jobs() == 0 })
	if c, err := w.Counts(context.Background()); made.Load() != 0 || err != nil || c.Failed != 1 {
		t.Errorf("decided %d times; %+v, %v", made.Load(), c, err)
	}
}

func TestWorkers_Bound(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var now, most atomic.Int32
	entered, release := make(chan struct{}, 16), make(chan struct{})
	s.worker(func(o *queue.Options) {
		o.Workers = 2
		o.Decide = func(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
			for n := now.Add(1); n > most.Load(); {
				most.CompareAndSwap(most.Load(), n)
			}
			defer now.Add(-1)
			entered <- struct{}{}
			<-release
			return decideNow(ctx, r)
		}
	})
	var waiting []<-chan answer
	for i := range 6 {
		waiting = append(waiting, ask(t, s.client(), request(fmt.Sprint(i))))
	}
	receive(t, "a job is begun", entered)
	receive(t, "another job is begun", entered)
	testkit.Eventually(t, "the others are queued", func() bool { return s.jobs() == 6 })
	close(release)
	for _, ch := range waiting {
		if a := receive(t, "an answer", ch); a.err != nil {
			t.Error(a.err)
		}
	}
	if most.Load() != 2 {
		t.Errorf("%d at the same time", most.Load())
	}
}

// A worker that stops leaves unfinished jobs to the next one immediately.
func TestShutdown_LeavesJobs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	begun, causes := make(chan struct{}, 1), make(chan error, 1)
	w := s.worker(decides(func(ctx context.Context, _ *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
		begun <- struct{}{}
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return nil, ctx.Err()
	}), func(o *queue.Options) { o.Drain = time.Millisecond; o.AckWait = time.Hour })
	waiting := ask(t, s.client(), request("a"))
	receive(t, "the job is begun", begun)
	w.stop()
	if err := receive(t, "the decision ends", causes); err == nil || !strings.Contains(err.Error(), "stops") {
		t.Errorf("ended by %v", err)
	}
	s.worker(longLease)
	if a := receive(t, "an answer", waiting); a.err != nil {
		t.Error(a.err)
	}
}

// A worker that stops finishes its jobs within Drain.
func TestShutdown_FinishesJobs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	begun, release := make(chan struct{}, 1), make(chan struct{})
	w := s.worker(decides(func(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
		begun <- struct{}{}
		<-release
		return decideNow(ctx, r)
	}), func(o *queue.Options) { o.Drain = time.Minute })
	waiting := ask(t, s.client(), request("a"))
	receive(t, "the job is begun", begun)
	w.interrupt()
	close(release)
	<-w.done
	if a := receive(t, "an answer", waiting); a.err != nil {
		t.Error(a.err)
	}
	testkit.Eventually(t, "the job is acknowledged", func() bool { return s.jobs() == 0 })
}

// Jobs survive a restart of the server, and a client that waits during the
// restart gets its result.
func TestServerRestart(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open()
	waiting := ask(t, s.client(), request("waited for"))
	testkit.Eventually(t, "the job is queued", func() bool { return s.jobs() == 1 })
	if _, err := s.client().AgentIntentAsync(t.Context(), request("left alone")); err != nil {
		t.Fatal(err)
	}
	listen := strings.TrimPrefix(s.URL(), "nats://")
	s.Close()
	s.start(listen)
	if n := s.jobs(); n != 2 {
		t.Fatalf("%d jobs after the restart", n)
	}
	s.worker()
	if a := receive(t, "an answer", waiting); a.err != nil {
		t.Error(a.err)
	}
	testkit.Eventually(t, "the other job is done", func() bool { r, ok := s.result("left alone"); return ok && r.State == wire.JobDone })
}

// A worker continues after its server was down.
func TestServerRestart_Worker(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.worker()
	c := s.client()
	if _, err := c.AgentIntent(t.Context(), request("before")); err != nil {
		t.Fatal(err)
	}
	listen := strings.TrimPrefix(s.URL(), "nats://")
	s.Close()
	waiting := ask(t, c, request("meanwhile"))
	s.start(listen)
	if a := receive(t, "an answer", waiting); a.err != nil {
		t.Error(a.err)
	}
}

// Open retries while NATS is down.
func TestOpen_WaitsForNATS(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	conn, listen := s.conn(), strings.TrimPrefix(s.URL(), "nats://")
	s.Close()
	q, err := queue.New(queue.Options{
		Conn: conn, Decide: decideNow, Logger: slog.New(slog.NewTextHandler(s.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := q.Open(stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("Open with a context that has ended: %v", err)
	}
	opened := make(chan error, 1)
	go func() { opened <- q.Open(t.Context()) }() // received below
	testkit.Eventually(t, "the log has the reason", func() bool { return strings.Contains(s.log.String(), "the queue is not ready; trying again") })
	s.start(listen)
	if err := receive(t, "the queue is open", opened); err != nil {
		t.Error(err)
	}
}

// A result is durable when it is acknowledged: the server flushes and syncs it
// before.
func TestResults_Synced(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open()
	handle, err := s.js().Stream(t.Context(), names.ResultsStream())
	if err != nil {
		t.Fatal(err)
	}
	if mode := handle.CachedInfo().Config.PersistMode; mode != jetstream.DefaultPersistMode {
		t.Errorf("persist mode %v", mode)
	}
}

// Deleting the streams, or one of them, does not end the queue.
func TestStreams_Recreated(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string][]string{
		"both":    {names.ResultsStream(), names.JobsStream()},
		"jobs":    {names.JobsStream()},
		"results": {names.ResultsStream()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.worker(shortLease)
			c := s.client()
			if _, err := c.AgentIntent(t.Context(), request("before")); err != nil {
				t.Fatal(err)
			}
			for _, name := range deleted {
				if err := s.js().DeleteStream(t.Context(), name); err != nil {
					t.Fatal(err)
				}
			}
			testkit.Eventually(t, "the queue is there again", func() bool {
				_, err := c.AgentIntent(t.Context(), request("after"))
				if err != nil && !errors.Is(err, reasoner.ErrNoQueue) {
					t.Fatal(err)
				}
				return err == nil
			})
		})
	}
}

// A busy worker receives no notice when the queue is deleted. It creates the queue again, and
// receives jobs from it.
func TestStreams_DeletedUnseen(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	begun, end := make(chan struct{}, 4), make(chan struct{})
	s.worker(shortLease, decides(func(context.Context, *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
		begun <- struct{}{}
		<-end
		return &wire.AgentIntentResponse{IntentID: "later"}, nil
	}))
	c := s.client()
	s.put(jobOf(request("before")))
	receive(t, "the job is begun", begun)
	if err := s.js().DeleteStream(t.Context(), names.JobsStream()); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the consumer is there again", func() bool {
		_, err := s.js().Consumer(t.Context(), names.JobsStream(), wire.QueueConsumer)
		return err == nil
	})
	close(end)
	if _, err := c.AgentIntent(t.Context(), request("after")); err != nil {
		t.Error(err)
	}
}

// Many clients, many jobs, several workers.
func TestMany(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var made atomic.Int32
	for range 3 {
		s.worker(counted(&made, decideNow))
	}
	var all sync.WaitGroup
	for n := range 4 {
		c := s.client()
		for i := range 50 {
			all.Go(func() {
				id := fmt.Sprintf("%d-%d", n, i)
				if resp, err := c.AgentIntent(context.Background(), request(id)); err != nil || resp.IntentID != "i-"+id {
					t.Errorf("%s: got %+v, %v", id, resp, err)
				}
			})
		}
	}
	all.Wait()
	if made.Load() < 200 {
		t.Errorf("decided %d times", made.Load())
	}
	if n := s.state(names.ResultsStream()).LastSeq; n != 200 {
		t.Errorf("%d results were written", n)
	}
	testkit.Eventually(t, "all jobs are acknowledged", func() bool { return s.jobs() == 0 })
}
