package queue_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/meup-protocol/meup/internal/reasoner/queue"
)

// Leases are extended while the stream of results does not respond.
func TestLease_SlowResults(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	awaitExtended := s.extensions()
	begun, ended := make(chan struct{}, 4), make(chan error, 4)
	s.worker(decides(hangingDecide(begun, ended)), shortLease, func(o *queue.Options) { o.Drain, o.Workers = time.Millisecond, 2 })
	for _, id := range []string{"a", "b"} {
		s.put(jobOf(request(id)))
		receive(t, "the job is begun", begun)
	}
	// A subscriber receives the requests in place of the stream and does not
	// respond.
	asked := make(chan *nats.Msg, 64)
	nc := s.conn()
	if _, err := nc.ChanSubscribe("$JS.API.DIRECT.GET."+names.ResultsStream()+".>", asked); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.js().DeleteStream(t.Context(), names.ResultsStream()); err != nil {
		t.Fatal(err)
	}
	receive(t, "a question", asked)
	awaitExtended(8) // of two jobs
}

// extensions returns a function that waits until the leases of jobs were extended so many times,
// which a worker does each third of AckWait.
func (s *site) extensions() (await func(n int)) {
	s.t.Helper()
	acks := make(chan *nats.Msg, 1024)
	nc := s.conn()
	if _, err := nc.ChanSubscribe("$JS.ACK."+names.JobsStream()+".>", acks); err != nil {
		s.t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		s.t.Fatal(err)
	}
	return func(n int) {
		s.t.Helper()
		for n > 0 {
			if string(receive(s.t, "the lease is extended", acks).Data) == "+WPI" {
				n--
			}
		}
	}
}

// While JetStream does not respond, the status line has an error and the last
// known counts.
func TestStatusLineWithoutJetStream(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	l := make(statusLines, 1024)
	w := s.worker(func(o *queue.Options) {
		o.Logger = slog.New(l)
		o.StatusPoll, o.StatusEvery = 5*time.Millisecond, time.Hour
	})
	if _, err := s.client().AgentIntent(t.Context(), request("a")); err != nil {
		t.Fatal(err)
	}
	l.await(t, "INFO queued=0 processing=0 done=1 canceled=0 failed=0")
	s.Close()
	for {
		line := receive(t, "a line with the error", l)
		if strings.HasPrefix(line, "WARN queued=0 processing=0 done=1 canceled=0 failed=0 error=") {
			break
		}
	}
	if _, err := w.Counts(context.Background()); err == nil {
		t.Error("there are counts nevertheless")
	}
}
