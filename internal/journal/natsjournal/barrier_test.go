package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// openThrough opens a journal whose connection to the server goes through a
// proxy.
func openThrough(t *testing.T, n *natsServer, change func(*Options)) (*Journal, *proxy) {
	t.Helper()
	p := startProxy(t, n.address())
	j := openTest(t, n.urlAt(p.address()), change, nats.ReconnectWait(10*time.Millisecond), nats.IgnoreDiscoveredServers())
	return j, p
}

// After a Barrier, entries that are durable at another gateway are present,
// however slow the connection is.
func TestBarrier(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	a := openTest(t, n.url(), nil)
	b, line := openThrough(t, n, nil)
	var sunk sync.Map
	b.Follow(func(_ string, entries []*journal.Entry) {
		for _, e := range entries {
			sunk.Store(e.Envelope.ID, true)
		}
	}, nil)
	line.delay.Store(int64(20 * time.Millisecond))
	for i := range 10 {
		d := chat(fmt.Sprintf("m-%d", i), "alice")
		mustAppend(t, a, "lab", d)
		var callers sync.WaitGroup
		for range 3 {
			callers.Go(func() {
				persistBarrier(t, b, "lab")
				if _, ok := sunk.Load(d.Envelope.ID); !ok {
					t.Errorf("the sink lacks %s", d.Envelope.ID)
				}
				if _, err := b.Lookup(t.Context(), "lab", d.Envelope.ID); err != nil {
					t.Errorf("%s after the barrier: %v", d.Envelope.ID, err)
				}
			})
		}
		callers.Wait()
	}
	persistBarrier(t, b, "never.used")
}

// A gateway that cannot determine the end of the log returns an error.
func TestBarrier_WithoutNATS(t *testing.T) {
	t.Parallel()
	n := startNATS(t)
	j := openTest(t, n.url(), nil)
	mustAppend(t, j, "lab", chat("a", "alice"))
	n.stop()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := j.Barrier(ctx, "lab"); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("barrier: %v", err)
	}
	n.start()
	testkit.Eventually(t, "the barrier holds again", func() bool { return j.Barrier(t.Context(), "lab") == nil })
}

// Barrier does not wait for the last messages of a stream if they were deleted
// by hand.
func TestBarrier_DeletedTail(t *testing.T) {
	t.Parallel()
	n := openAccount(t)
	j := openTest(t, n.url(), func(o *Options) { o.streams = 1 })
	mustAppend(t, j, "lab", chat("a", "alice"))
	ack, err := api(t, j).Publish(t.Context(), j.names.Subject("lab", false), []byte("garbage"))
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "it is applied", func() bool { at, _ := j.streams[0].progress.Get(); return at == ack.Sequence })
	handle, err := j.streams[0].open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := handle.DeleteMsg(testkit.Deadline(t), ack.Sequence); err != nil {
		t.Fatal(err)
	}
	late := openTest(t, n.url(), func(o *Options) { o.streams = 1 })
	persistBarrier(t, late, "lab")
	waitReady(t, late)
}

// The error of a failed append shows whether the draft may be in the log.
func TestAppend_Outcomes(t *testing.T) {
	t.Parallel()
	n := startNATS(t)
	j, line := openThrough(t, n, func(o *Options) { o.streams = 1 })
	mustAppend(t, j, "lab", chat("before", "alice"))
	// within appends a draft for a short time.
	within := func(d time.Duration, id protocol.ID) journal.Result {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		return j.Append(ctx, "lab", []journal.Draft{chat(string(id), "alice")})[0]
	}

	t.Run("nothing was sent", func(t *testing.T) {
		n.stop()
		testkit.Eventually(t, "it is noticed", func() bool { return !j.nc.IsConnected() })
		r := within(100*time.Millisecond, "a")
		if !errors.Is(r.Err, journal.ErrUnavailable) || errors.Is(r.Err, journal.ErrOutcomeUnknown) {
			t.Errorf("%+v", r)
		}
		n.start()
		testkit.Eventually(t, "it works again", func() bool {
			return j.Append(t.Context(), "other", []journal.Draft{chat("a", "alice")})[0].Err == nil
		})
	})
	t.Run("no answer came", func(t *testing.T) {
		signal(j.streams[0].resync) // one may be in progress after the restart
		testkit.Eventually(t, "the stream is followed", func() bool { return len(j.streams[0].resync) == 0 && j.streams[0].following.Load() })
		// An append that waits for the stream to be followed again is not sent.
		var unsent []protocol.ID
		id := protocol.ID("b")
		testkit.Eventually(t, "a block is sent", func() bool {
			if !j.streams[0].following.Load() { // more delay would keep it so
				return false
			}
			line.delay.Store(int64(time.Second))
			r := within(200*time.Millisecond, id)
			line.delay.Store(0)
			if errors.Is(r.Err, journal.ErrUnavailable) {
				unsent = append(unsent, id)
				id += "b"
				return false
			}
			if !errors.Is(r.Err, journal.ErrOutcomeUnknown) {
				t.Fatalf("%+v", r)
			}
			return true
		})
		line.cut()
		var again journal.Result
		testkit.Eventually(t, "it works again", func() bool {
			again = j.Append(t.Context(), "lab", []journal.Draft{chat(string(id), "alice")})[0]
			return again.Err == nil
		})
		for _, id := range unsent {
			if _, err := j.Lookup(t.Context(), "lab", id); !errors.Is(err, journal.ErrNotFound) {
				t.Errorf("%s was unavailable; Lookup: %v", id, err)
			}
		}
		entry, err := j.Lookup(t.Context(), "lab", id)
		if err != nil || entry.Envelope.Seq != again.Seq {
			t.Errorf("sent again: %+v, the log has %+v, %v", again, entry, err)
		}
	})
	t.Run("refused by the stream", func(t *testing.T) {
		c := j.streams[0].config(1)
		c.MaxMsgSize = 16
		if _, err := api(t, j).UpdateStream(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, "the refusal arrives in time", func() bool {
			r := within(time.Second, "c")
			if r.Err == nil {
				t.Fatalf("%+v", r)
			}
			return errors.Is(r.Err, journal.ErrUnavailable) && !errors.Is(r.Err, journal.ErrOutcomeUnknown)
		})
	})
	if got := content(t, j, "lab"); len(got) != 2 {
		t.Errorf("the log has %q", got)
	}
}
