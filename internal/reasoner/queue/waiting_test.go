package queue_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/internal/kit/natsembed"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// waits returns an option for Options.Waiting, and its errors.
func waits() (option func(*reasoner.Options), errs <-chan error) {
	ch := make(chan error, 16)
	return func(o *reasoner.Options) {
		o.WaitForQueue = true
		o.Waiting = func(err error) { ch <- err }
	}, ch
}

// asks returns a function that asks a client.
func asks(t *testing.T) func(reasoner.Client) error {
	return func(c reasoner.Client) error {
		_, err := c.AgentIntent(t.Context(), request("a"))
		return err
	}
}

// TestClientWaits_NoQueue: a client with WaitForQueue waits until a worker
// creates the queue, and reports that once.
func TestClientWaits_NoQueue(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	option, errs := waits()
	done := ask(t, s.client(option), request("a"))
	if err := receive(t, "the wait", errs); !errors.Is(err, reasoner.ErrNoQueue) || !strings.Contains(err.Error(), "start a worker") {
		t.Errorf("waits for %v", err)
	}
	s.worker()
	if a := receive(t, "an answer", done); a.err != nil {
		t.Error(a.err)
	}
	if len(errs) != 0 {
		t.Errorf("reported again: %v", <-errs)
	}
}

// TestClientWaits_NoQueueInTime: the wait is bounded by Timeout, and the error
// has the reason. Without WaitForQueue the error is immediate.
func TestClientWaits_NoQueueInTime(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	option, _ := waits()
	err := s.timesOut(time.Second, asks(t), func(err error) bool { return errors.Is(err, reasoner.ErrNoQueue) }, option)
	if !errors.Is(err, reasoner.ErrTimeout) || !errors.Is(err, reasoner.ErrNoQueue) {
		t.Errorf("got %v", err)
	}
	if _, err := s.client().AgentIntent(t.Context(), request("a")); errors.Is(err, reasoner.ErrTimeout) || !errors.Is(err, reasoner.ErrNoQueue) {
		t.Errorf("got %v", err)
	}
}

// TestClientWaits_NoWorker: the client reports that a queue has no worker, gets
// the answer of one that starts later, and has the reason in the error if none
// does.
func TestClientWaits_NoWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open()
	option, errs := waits()
	err := s.timesOut(3*time.Second, asks(t), func(err error) bool { return errors.Is(err, reasoner.ErrNoWorker) }, option)
	if !errors.Is(err, reasoner.ErrTimeout) || !errors.Is(err, reasoner.ErrNoWorker) {
		t.Errorf("got %v", err)
	}
	if err := receive(t, "the wait", errs); !errors.Is(err, reasoner.ErrNoWorker) {
		t.Errorf("waits for %v", err)
	}
	for len(errs) > 0 {
		if err := <-errs; !errors.Is(err, reasoner.ErrNoWorker) {
			t.Errorf("waits for %v", err)
		}
	}
	done := ask(t, s.client(option), request("b"))
	if err := receive(t, "the wait", errs); !errors.Is(err, reasoner.ErrNoWorker) {
		t.Errorf("waits for %v", err)
	}
	s.worker()
	if a := receive(t, "an answer", done); a.err != nil {
		t.Error(a.err)
	}
}

// TestClientWaits_NATSAway: a client that starts before NATS waits for it.
func TestClientWaits_NATSAway(t *testing.T) {
	t.Parallel()
	address := testkit.FreeAddress(t)
	option, errs := waits()
	o := reasoner.Options{NATSURL: "nats://" + address, NATSToken: "a-token", Timeout: testkit.Patience, Retries: reasoner.NoRetries}
	option(&o)
	c, err := reasoner.NewQueue(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	done := ask(t, c, request("a"))
	if err := receive(t, "the wait", errs); err == nil || strings.Contains(err.Error(), "a-token") ||
		!strings.Contains(err.Error(), "no connection to the NATS server at "+address+"; start it") {
		t.Errorf("waits for %v", err)
	}
	s := &site{t: t, dir: t.TempDir(), log: new(testkit.Log)}
	s.Server, err = natsembed.Start(context.Background(), natsembed.Options{Dir: s.dir, Listen: address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.worker()
	if a := receive(t, "an answer", done); a.err != nil {
		t.Error(a.err)
	}
}
