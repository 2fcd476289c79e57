package space_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

// joinPolled joins a member without a goroutine; woken has a token for each call of its writer.
func (r *room) joinPolled(o space.JoinOptions) (m *space.Member, woken chan struct{}) {
	r.t.Helper()
	m, refused := r.Join(context.Background(), o)
	if refused != nil {
		r.t.Fatal(refused)
	}
	woken = make(chan struct{}, 100)
	m.OnWake(func() { woken <- struct{}{} })
	r.t.Cleanup(func() { m.MarkClosed(); r.Leave(m) })
	return m, woken
}

func TestPoll_WakesOnceForEachSleep(t *testing.T) {
	r := open(t, rights{"alice": {"*"}, "bob": {"*"}}, nil)
	bob, woken := r.joinPolled(space.JoinOptions{ID: "bob"})
	var d space.Delivery
	poll := func(want space.Polled) {
		t.Helper()
		if got := bob.Poll(t.Context(), &d, false); got != want {
			t.Fatalf("poll: %v with %d entries and %q, want %v", got, len(d.Entries), d.Control, want)
		}
	}
	wakes := func(want int) {
		t.Helper()
		if len(woken) != want {
			t.Fatalf("woken %d times, want %d", len(woken), want)
		}
		for range want {
			<-woken
		}
	}
	poll(space.Ready) // the welcome
	if !bob.Sleep() {
		t.Fatal("it does not sleep after everything was delivered")
	}
	for i := range 3 {
		r.must("alice", fmt.Sprintf(`{"id":"a%d","kind":"chat","payload":{"message":"x"}}`, i))
	}
	wakes(1)
	poll(space.Ready)
	if len(d.Entries) != 3 {
		t.Errorf("%d entries together", len(d.Entries))
	}
	r.must("alice", `{"id":"meanwhile","kind":"chat","payload":{"message":"x"}}`)
	wakes(0)
	if bob.Sleep() {
		t.Error("it sleeps with an entry that came meanwhile")
	}
	poll(space.Ready)
	bob.Ping()
	if bob.Sleep() {
		t.Error("it sleeps with a ping to send")
	}
	poll(space.Ready)
	poll(space.Asleep)
	bob.Ping()
	wakes(1)
	poll(space.Ready)
	bob.Close(space.Closing{Code: protocol.CloseNormal})
	if bob.Sleep() {
		t.Error("it sleeps with a close to send")
	}
	poll(space.Ready)
	if d.Close == nil {
		t.Error("no close")
	}
}

// More entries than a delivery has, and a close after them.
func TestPoll_DoesNotSleepWithTheRest(t *testing.T) {
	r := open(t, rights{"alice": {"*"}, "bob": {"*"}}, nil)
	bob, _ := r.joinPolled(space.JoinOptions{ID: "bob"})
	const count = 600
	for i := range count {
		r.must("alice", fmt.Sprintf(`{"id":"a%d","kind":"chat","payload":{"message":"x"}}`, i))
	}
	bob.Close(space.Closing{Code: protocol.CloseNormal})
	var d space.Delivery
	entries := 0
	for d.Close == nil {
		if got := bob.Poll(t.Context(), &d, false); got != space.Ready {
			t.Fatalf("poll: %v after %d entries", got, entries)
		}
		entries += len(d.Entries)
		if d.Close == nil && bob.Sleep() {
			t.Fatalf("it sleeps after %d entries", entries)
		}
	}
	if entries != count {
		t.Errorf("%d entries before the close", entries)
	}
}

// The journal is read only if the caller may wait for it. A read that failed is tried again by a wake.
func TestPoll_NeedsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := openUnreadable(t)
		log.broken.Store(true)
		bob, woken := r.joinPolled(space.JoinOptions{ID: "bob", Since: new(protocol.Seq)})
		var d space.Delivery
		if got := bob.Poll(t.Context(), &d, false); got != space.Ready || len(d.Control) == 0 {
			t.Fatalf("poll: %v, without the welcome", got)
		}
		if bob.Sleep() {
			t.Error("it sleeps without the entries in the journal")
		}
		before := log.reads.Load()
		if got := bob.Poll(t.Context(), &d, false); got != space.NeedsRead || log.reads.Load() != before {
			t.Errorf("poll: %v with %d reads", got, log.reads.Load()-before)
		}
		if got := bob.Poll(t.Context(), &d, true); got != space.Asleep {
			t.Errorf("poll: %v with a log that cannot be read", got)
		}
		log.broken.Store(false)
		time.Sleep(time.Second)
		synctest.Wait()
		if len(woken) != 1 {
			t.Fatalf("woken %d times to read again", len(woken))
		}
		if got := bob.Poll(t.Context(), &d, false); got != space.NeedsRead {
			t.Errorf("poll: %v", got)
		}
		if got := bob.Poll(t.Context(), &d, true); got != space.Ready || len(d.Entries) == 0 {
			t.Errorf("poll: %v with %d entries", got, len(d.Entries))
		}
	})
}

// Wakes that come while the member is going to sleep are not lost, and never make two writers.
func TestPoll_NoWakeIsLost(t *testing.T) {
	r := open(t, rights{"alice": {"*"}, "bob": {"*"}}, nil)
	bob, woken := r.joinPolled(space.JoinOptions{ID: "bob"})
	const count = 2000
	go func() { // ends with the last envelope
		for i := range count {
			r.must("alice", fmt.Sprintf(`{"id":"a%d","kind":"chat","payload":{"message":"x"}}`, i))
		}
	}()
	var d space.Delivery
	for got := 0; got < count; {
		switch bob.Poll(t.Context(), &d, false) {
		case space.Ready:
			for _, e := range d.Entries {
				if want := fmt.Sprint("a", got); string(e.Envelope.ID) != want {
					t.Fatalf("got %s, want %s", e.Envelope.ID, want)
				}
				got++
			}
			if got == count || !bob.Sleep() {
				continue
			}
		case space.NeedsRead:
			t.Fatal("the ring has lost entries")
		case space.Asleep:
		}
		<-woken
		if len(woken) > 0 {
			t.Fatal("woken twice for one sleep")
		}
	}
}

// A close waits for the entries before it that are in the journal.
func TestPoll_CloseAfterTheJournal(t *testing.T) {
	for name, c := range map[string]struct {
		closing  space.Closing
		entries  int
		filtered bool
	}{
		"all entries": {closing: space.Closing{Code: protocol.CloseNormal}, entries: 20},
		"up to one":   {closing: space.Closing{Code: protocol.CloseKicked, UpTo: 20}, entries: 20},
		"now":         {closing: space.Closing{Code: protocol.CloseIdle, Now: true}},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, rights{"alice": {"*"}, "bob": {"*"}}, func(s *space.Services) {
				s.Journal, s.RingEntries = journal.NewMemory(journal.MemoryOptions{}), 4
			})
			bob, _ := r.joinPolled(space.JoinOptions{ID: "bob"})
			var d space.Delivery
			if got := bob.Poll(t.Context(), &d, false); got != space.Ready || !bob.Sleep() {
				t.Fatalf("poll: %v, without the welcome", got)
			}
			for i := range 20 { // more than the ring has
				r.must("alice", chat(fmt.Sprint("c", i)))
			}
			bob.Close(c.closing)
			entries := 0
			for mayRead := false; ; {
				got := bob.Poll(t.Context(), &d, mayRead)
				entries += len(d.Entries)
				if got == space.Ready && d.Close != nil {
					break
				}
				if got == space.Asleep || bob.Sleep() {
					t.Fatalf("it sleeps with a close to send, after %d entries", entries)
				}
				mayRead = mayRead || got == space.NeedsRead
			}
			if entries != c.entries {
				t.Errorf("%d entries before the close, want %d", entries, c.entries)
			}
		})
	}
}

// A writer of many members is not held up by the entries that one of them does not see.
func TestPoll_LooksAtABoundedNumberOfEntries(t *testing.T) {
	r := open(t, rights{"alice": {"*"}, "bob": {"*"}}, nil)
	bob, woken := r.joinPolled(space.JoinOptions{ID: "bob", Filter: protocol.Filter{From: []protocol.ParticipantID{"carol"}}})
	var d space.Delivery
	if got := bob.Poll(t.Context(), &d, false); got != space.Ready || !bob.Sleep() {
		t.Fatalf("poll: %v, without the welcome", got)
	}
	for i := range 600 {
		r.must("alice", chat(fmt.Sprint("c", i)))
	}
	r.must("alice", `{"id":"seen","kind":"chat","to":["bob"],"payload":{"message":"x"}}`)
	bob.Close(space.Closing{Code: protocol.CloseNormal})
	if len(woken) != 1 {
		t.Fatalf("woken %d times", len(woken))
	}
	for range 2 {
		if got := bob.Poll(t.Context(), &d, false); got != space.Ready || !d.Empty() || bob.Sleep() {
			t.Fatalf("poll: %v with %d entries and close %v", got, len(d.Entries), d.Close)
		}
	}
	if got := bob.Poll(t.Context(), &d, false); got != space.Ready || len(d.Entries) != 1 || d.Close != nil || bob.Sleep() {
		t.Fatalf("poll: %v with %d entries and close %v", got, len(d.Entries), d.Close)
	}
	if got := bob.Poll(t.Context(), &d, false); got != space.Ready || d.Close == nil {
		t.Errorf("poll: %v without the close", got)
	}
}

// A filter that can take milliseconds for an entry is not matched by a writer of many members.
func TestPoll_SlowFilter(t *testing.T) {
	for name, kinds := range map[string][]string{
		"expression":    {"/^chat$/"},
		"many patterns": {"a*", "b*", "c*", "d*", "e*", "f*", "g*", "h*", "i*", "j*", "k*", "l*", "m*", "n*", "o*", "p*", "chat"},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, rights{"alice": {"*"}, "bob": {"*"}}, nil)
			bob, woken := r.joinPolled(space.JoinOptions{ID: "bob", Filter: protocol.Filter{Kinds: kinds}})
			var d space.Delivery
			if got := bob.Poll(t.Context(), &d, true); got != space.Ready || !bob.Sleep() {
				t.Fatalf("poll: %v, without the welcome", got)
			}
			r.must("alice", chat("c"))
			if len(woken) != 1 {
				t.Fatalf("woken %d times", len(woken))
			}
			if got := bob.Poll(t.Context(), &d, false); got != space.NeedsRead || !d.Empty() {
				t.Errorf("poll: %v with %d entries", got, len(d.Entries))
			}
			if got := bob.Poll(t.Context(), &d, true); got != space.Ready || len(d.Entries) != 1 || !bob.Sleep() {
				t.Errorf("poll: %v with %d entries", got, len(d.Entries))
			}
			bob.Ping()
			if got := bob.Poll(t.Context(), &d, false); got != space.NeedsRead || bob.Sleep() {
				t.Errorf("poll: %v, and it sleeps with a ping to send", got)
			}
		})
	}
}
