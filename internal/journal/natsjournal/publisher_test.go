package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

var (
	errRefused = errors.New("refused")
	errLate    = errors.New("late")
)

// fakeStream is a stream whose test decides what happens to each message.
type fakeStream struct {
	away chan error // what CanSend returns; nil: it returns nil

	mu   sync.Mutex
	sent []*sent
}

type sent struct {
	pendingMessage
	refuse chan bool // ends Send: refused, or stored
}

func (s *fakeStream) CanSend() error {
	if s.away != nil {
		return <-s.away
	}
	return nil
}

func (s *fakeStream) Send(ctx context.Context, m pendingMessage) (maybe bool, err error) {
	a := &sent{m, make(chan bool)}
	s.mu.Lock()
	s.sent = append(s.sent, a)
	s.mu.Unlock()
	select {
	case refused := <-a.refuse:
		if refused {
			return false, errRefused
		}
		return true, nil
	case <-ctx.Done():
		return true, ctx.Err()
	}
}

func (s *fakeStream) Limit() int     { return 20_000 }
func (s *fakeStream) Overdue() error { return errLate }

// harness is a publisher in fake time.
type harness struct {
	*publisher
	t      *testing.T
	stream fakeStream
}

func run(t *testing.T, test func(t *testing.T, h *harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := &harness{t: t}
		h.publisher = newPublisher(ctx, publisherOptions{Stream: &h.stream, Prefix: "gateway.", Timeout: time.Minute})
		test(t, h)
		synctest.Wait()
		if len(h.queues)+len(h.inflight)+len(h.slots) > 0 {
			t.Errorf("%d queues, %d blocks and %d slots are left", len(h.queues), len(h.inflight), len(h.slots))
		}
		cancel()
		h.Wait()
	})
}

// append starts a call of Append for drafts of about 400 bytes and waits until
// it blocks.
func (h *harness) append(ctx context.Context, space string, n int, state bool) (results chan []journal.Result) {
	drafts := make([]journal.Draft, n)
	indexes := make([]int, n)
	for i := range drafts {
		drafts[i] = journal.Draft{State: state, Envelope: protocol.Envelope{
			ID: protocol.ID(fmt.Sprint(i)), From: "alice", Kind: protocol.KindChat, Payload: make([]byte, 400),
		}}
		indexes[i] = i
	}
	results = make(chan []journal.Result, 1)
	go func() {
		list := make([]journal.Result, n)
		h.Append(ctx, space, drafts, indexes, list)
		results <- list
	}()
	synctest.Wait()
	return results
}

// store lets the stream store message i and applies it. It returns its size in
// drafts.
func (h *harness) store(i int) int {
	h.t.Helper()
	m := h.stream.sent[i]
	m.refuse <- false
	b, err := decodeBlock(m.Data)
	if err != nil {
		h.t.Fatal(err)
	}
	n := len(slices.Concat(b.Calls...))
	h.Applied("other."+m.ID, nil)
	h.Applied(m.ID, make([]journal.Result, n))
	h.Applied(m.ID, nil) // again, for example by a rebuilt replica
	synctest.Wait()
	return n
}

func (h *harness) storeAll() {
	for i := 0; i < len(h.stream.sent); i++ {
		h.store(i)
	}
}

func TestGroupCommit(t *testing.T) {
	run(t, func(t *testing.T, h *harness) {
		for range maxSpaceBlocks {
			h.append(t.Context(), "a", 1, false)
		}
		// These requests wait and share a block, up to the bounds.
		for range 3 {
			h.append(t.Context(), "a", 10, false)
		}
		h.append(t.Context(), "a", 1, true) // alone
		h.append(t.Context(), "a", 20, false)
		h.append(t.Context(), "a", 4, false) // does not fit into the block
		h.append(t.Context(), "b", 1, false) // another space does not wait
		if n := len(h.stream.sent); n != maxSpaceBlocks+1 {
			t.Fatalf("%d blocks under way", n)
		}
		var got []string
		for i := 0; i < len(h.stream.sent); i++ {
			got = append(got, fmt.Sprint(h.store(i), h.stream.sent[i].State))
		}
		want := []string{"1 false", "1 false", "1 false", "20 false", "10 false", "1 true", "20 false", "4 false"}
		if !slices.Equal(got, want) {
			t.Errorf("blocks %q, want %q", got, want)
		}
	})
}

func TestPublisher_BlocksInFlight(t *testing.T) {
	run(t, func(t *testing.T, h *harness) {
		for i := range 3 * maxStreamBlocks {
			h.append(t.Context(), fmt.Sprint(i), 1, false)
		}
		if n := len(h.stream.sent); n != maxStreamBlocks {
			t.Errorf("%d blocks under way", n)
		}
		h.storeAll()
		if n := len(h.stream.sent); n != 3*maxStreamBlocks {
			t.Errorf("%d blocks", n)
		}
	})
}

// A call that is given up withdraws its drafts if they cannot have reached the
// stream, and leaves no state.
func TestPublisher_GivenUp(t *testing.T) {
	outcome := func(t *testing.T, results chan []journal.Result, want error) {
		t.Helper()
		synctest.Wait()
		select {
		case r := <-results:
			if !errors.Is(r[0].Err, want) {
				t.Errorf("%v, want %v", r[0].Err, want)
			}
		default:
			t.Fatal("the call waits")
		}
	}
	t.Run("queued", func(t *testing.T) {
		run(t, func(t *testing.T, h *harness) {
			ctx, cancel := context.WithCancel(t.Context())
			for range maxSpaceBlocks {
				h.append(t.Context(), "a", 1, false)
			}
			gone := h.append(ctx, "a", 1, false)
			h.append(t.Context(), "a", 2, false)
			cancel()
			outcome(t, gone, journal.ErrUnavailable)
			h.store(0)
			h.store(1)
			if n := h.store(2); n != 2 || len(h.stream.sent) != 3 {
				t.Errorf("%d blocks, the last with %d drafts", len(h.stream.sent), n)
			}
		})
	})
	t.Run("many spaces", func(t *testing.T) {
		run(t, func(t *testing.T, h *harness) {
			ctx, cancel := context.WithCancel(t.Context())
			for i := range 1000 {
				h.append(ctx, fmt.Sprint(i), 1, false)
			}
			cancel()
			synctest.Wait()
			h.storeAll()
			if n := len(h.stream.sent); n != maxStreamBlocks {
				t.Errorf("%d blocks for requests that were given up", n-maxStreamBlocks)
			}
		})
	})
	t.Run("being sent", func(t *testing.T) {
		run(t, func(t *testing.T, h *harness) {
			ctx, cancel := context.WithCancel(t.Context())
			r := h.append(ctx, "a", 1, false)
			cancel()
			outcome(t, r, journal.ErrOutcomeUnknown)
			h.storeAll()
		})
	})
	t.Run("not connected", func(t *testing.T) {
		run(t, func(t *testing.T, h *harness) {
			h.stream.away = make(chan error)
			r := h.append(t.Context(), "a", 1, false)
			<-time.After(time.Minute + time.Second) // while it is about to be sent
			outcome(t, r, journal.ErrUnavailable)
			h.stream.away <- errRefused
			synctest.Wait()
			if n := len(h.stream.sent); n != 0 {
				t.Errorf("%d blocks are sent", n)
			}
		})
	})
	t.Run("refused", func(t *testing.T) {
		run(t, func(t *testing.T, h *harness) {
			ctx, cancel := context.WithCancel(t.Context())
			r := h.append(ctx, "a", 1, false)
			h.stream.sent[0].refuse <- true
			synctest.Wait()
			cancel()
			outcome(t, r, journal.ErrUnavailable)
			<-time.After(time.Second)
			synctest.Wait()
			if n := len(h.stream.sent); n != 1 {
				t.Errorf("a block without requests is sent: %d", n)
			}
		})
	})
	t.Run("one of a refused block", func(t *testing.T) {
		run(t, func(t *testing.T, h *harness) {
			ctx, cancel := context.WithCancel(t.Context())
			for range maxSpaceBlocks {
				h.append(t.Context(), "a", 1, false)
			}
			gone, kept := h.append(ctx, "a", 1, false), h.append(t.Context(), "a", 2, false)
			h.store(0)
			h.stream.sent[2].refuse <- true
			synctest.Wait()
			cancel()
			outcome(t, gone, journal.ErrUnavailable)
			<-time.After(time.Second)
			synctest.Wait()
			h.store(1)
			if n := h.store(3); n != 2 {
				t.Errorf("%d drafts are sent again", n)
			}
			outcome(t, kept, nil)
		})
	})
}

func TestPublisher_Timeout(t *testing.T) {
	for name, stored := range map[string]bool{"never answered": false, "never applied": true} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, h *harness) {
				r := h.append(t.Context(), "a", 1, false)
				if stored {
					h.stream.sent[0].refuse <- false
				}
				if err := (<-r)[0].Err; !errors.Is(err, journal.ErrOutcomeUnknown) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// A call of several blocks ends with a stale draft or an unknown outcome.
func TestAppend_SeveralBlocks(t *testing.T) {
	run(t, func(t *testing.T, h *harness) {
		stale := h.append(t.Context(), "a", 3, true)
		m := h.stream.sent[0]
		m.refuse <- false
		h.Applied(m.ID, []journal.Result{{Err: journal.ErrStale}})
		for i, r := range <-stale {
			if !errors.Is(r.Err, journal.ErrStale) {
				t.Errorf("draft %d: %v", i, r.Err)
			}
		}
		unknown := <-h.append(t.Context(), "a", 2, true)
		if !errors.Is(unknown[0].Err, journal.ErrOutcomeUnknown) || !errors.Is(unknown[1].Err, journal.ErrUnavailable) || !errors.Is(unknown[1].Err, errLate) {
			t.Errorf("%v", unknown)
		}
		large := make(chan []journal.Result, 1)
		go func() {
			drafts := []journal.Draft{{Private: noise(30_000)}, {Private: make([]byte, 30_000)}}
			results := make([]journal.Result, len(drafts))
			h.Append(t.Context(), "a", drafts, []int{0, 1}, results)
			large <- results
		}()
		synctest.Wait()
		h.store(len(h.stream.sent) - 1)
		if r := <-large; !errors.Is(r[0].Err, journal.ErrTooLarge) || r[1].Err != nil {
			t.Errorf("%v", r)
		}
	})
}

// noise returns bytes that cannot be compressed.
func noise(n int) []byte {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x)
	}
	return b
}
