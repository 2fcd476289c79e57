package queue_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/reasoner/queue"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// Without a worker the client times out; the job is processed later.
func TestClientTimeout(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open()
	if _, err := s.client().AgentIntentAsync(t.Context(), request("a")); err != nil {
		t.Fatal(err)
	}
	c := s.client(func(o *reasoner.Options) { o.Timeout, o.Retries = 50*time.Millisecond, 2 })
	_, err := c.AgentIntent(t.Context(), request("a"))
	if !errors.Is(err, reasoner.ErrTimeout) || !strings.Contains(err.Error(), "timeout after 50ms, 3 times") {
		t.Errorf("got %v", err)
	}
	if n := s.jobs(); n != 1 {
		t.Errorf("%d jobs", n)
	}
	s.worker()
	if resp, err := s.client().AgentIntent(t.Context(), request("a")); err != nil || resp.FinalText == "" {
		t.Errorf("then %+v, %v", resp, err)
	}
}

// A job that is lost while a client waits is submitted again.
func TestClientSubmitsAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open()
	waiting := ask(t, s.client(func(o *reasoner.Options) { o.Timeout, o.Retries = 2*time.Second, 100 }), request("a"))
	testkit.Eventually(t, "the job is queued", func() bool { return s.jobs() == 1 })
	jobs, err := s.js().Stream(t.Context(), names.JobsStream())
	if err != nil {
		t.Fatal(err)
	}
	if err := jobs.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.worker()
	if a := receive(t, "an answer", waiting); a.err != nil {
		t.Error(a.err)
	}
}

func TestClientGivesUp(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	c := s.client()
	go func() {
		_, err := c.AgentIntent(ctx, request("a"))
		done <- err
	}()
	testkit.Eventually(t, "the job is queued", func() bool { return s.jobs() == 1 })
	cancel()
	if err := receive(t, "it returns", done); !errors.Is(err, context.Canceled) || errors.Is(err, reasoner.ErrTimeout) {
		t.Errorf("got %v", err)
	}
}

func TestClientClosed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open()
	c := s.client()
	waiting := ask(t, c, request("a"))
	testkit.Eventually(t, "the job is queued", func() bool { return s.jobs() == 1 })
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Error(err)
	}
	if a := receive(t, "it returns", waiting); !errors.Is(a.err, reasoner.ErrClosed) {
		t.Errorf("got %v", a.err)
	}
	if _, err := c.AgentIntent(t.Context(), request("b")); !errors.Is(err, reasoner.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// The streams do not exist.
func TestClientNoQueue(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.client()
	if _, err := c.AgentIntent(t.Context(), request("a")); !errors.Is(err, reasoner.ErrNoQueue) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Cancel(t.Context(), "a"); !errors.Is(err, reasoner.ErrNoQueue) {
		t.Errorf("got %v", err)
	}
	s.worker()
	if _, err := c.AgentIntent(t.Context(), request("a")); err != nil {
		t.Errorf("then %v", err)
	}
}

// The client waits for an unreachable NATS until its timeout.
func TestClientWaitsForNATS(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	listen := strings.TrimPrefix(s.URL(), "nats://")
	s.Close()
	c, err := reasoner.NewQueue(reasoner.Options{
		NATSURL: "nats://" + listen, Timeout: 50 * time.Millisecond, Retries: reasoner.NoRetries,
		NATSOptions: []nats.Option{nats.ReconnectWait(10 * time.Millisecond)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.AgentIntent(t.Context(), request("a")); !errors.Is(err, reasoner.ErrTimeout) {
		t.Errorf("got %v", err)
	}
	s.start(listen)
	s.worker()
	testkit.Eventually(t, "the client has an answer", func() bool {
		_, err := c.AgentIntent(t.Context(), request("a"))
		return err == nil
	})
}

func TestClientValidates(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.worker(decides(func(context.Context, *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
		return &wire.AgentIntentResponse{Status: wire.StatusOK, ToolName: "drop"}, nil
	}))
	r := request("")
	r.Tools = []wire.Tool{{Name: "read"}}
	var invalid *reasoner.ValidationError
	if _, err := s.client().AgentIntent(t.Context(), r); !errors.As(err, &invalid) || invalid.Tool != "drop" {
		t.Errorf("got %v", err)
	}
}

func TestClientTooLarge(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open()
	r := request("a")
	r.GoalText = strings.Repeat("x", 2<<20)
	_, err := s.client().AgentIntent(t.Context(), r)
	wantRefusal(t, err, 413, "too_large")
}

// Two queues on one NATS are independent.
func TestQueueNames(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, name := range []string{"ONE", "TWO"} {
		s.worker(decides(func(context.Context, *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error) {
			return &wire.AgentIntentResponse{Status: wire.StatusOK, FinalText: name}, nil
		}), func(o *queue.Options) { o.Name = name })
	}
	for _, name := range []string{"ONE", "TWO"} {
		resp, err := s.client(func(o *reasoner.Options) { o.Queue = name }).AgentIntent(t.Context(), request("a"))
		if err != nil || resp.FinalText != name {
			t.Errorf("%s: %+v, %v", name, resp, err)
		}
	}
}
