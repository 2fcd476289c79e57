package queue_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/reasoner/queue"
)

// statusLines is a log handler that sends the status lines of a worker.
type statusLines chan string

func (statusLines) Enabled(context.Context, slog.Level) bool { return true }
func (l statusLines) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l statusLines) WithGroup(string) slog.Handler          { return l }
func (l statusLines) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "queue" {
		return nil
	}
	line := r.Level.String()
	r.Attrs(func(a slog.Attr) bool {
		line += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	select {
	case l <- line:
	default: // no more receivers
	}
	return nil
}

func (l statusLines) await(t *testing.T, want string) {
	t.Helper()
	for {
		if got := receive(t, want, l); got == want {
			return
		}
	}
}

// The status line is printed after a change.
func TestStatusLine(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	begun, ended := make(chan struct{}, 1), make(chan error, 1)
	l := make(statusLines, 1024)
	s.worker(decides(hangingDecide(begun, ended)), func(o *queue.Options) {
		o.Workers = 1
		o.Logger = slog.New(l)
		o.StatusPoll, o.StatusEvery = 5*time.Millisecond, time.Hour
	})
	l.await(t, "INFO queued=0 processing=0 done=0 canceled=0 failed=0")
	ask(t, s.client(), request("a"))
	receive(t, "the job is begun", begun)
	l.await(t, "INFO queued=0 processing=1 done=0 canceled=0 failed=0")
	ask(t, s.client(), request("b"))
	l.await(t, "INFO queued=1 processing=1 done=0 canceled=0 failed=0")
	c := s.client()
	cancelJob(t, c, "b", true)
	l.await(t, "INFO queued=0 processing=1 done=0 canceled=1 failed=0")
	cancelJob(t, c, "a", true)
	l.await(t, "INFO queued=0 processing=0 done=0 canceled=2 failed=0")
	if len(l) != 0 {
		t.Errorf("nothing changed, and yet: %s", <-l)
	}
}

// It is also printed when nothing has changed for StatusEvery.
func TestStatusLineRepeats(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	l := make(statusLines, 1024)
	s.worker(func(o *queue.Options) {
		o.Logger = slog.New(l)
		o.StatusPoll, o.StatusEvery = 2*time.Millisecond, 20*time.Millisecond
	})
	for range 3 {
		if got := receive(t, "a line", l); got != "INFO queued=0 processing=0 done=0 canceled=0 failed=0" {
			t.Errorf("got %s", got)
		}
	}
}
