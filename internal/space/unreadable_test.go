package space_test

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// unreadable is a log whose entries cannot be read while broken.
type unreadable struct {
	journal.Journal
	broken atomic.Bool
	reads  atomic.Int64
}

func (j *unreadable) Range(ctx context.Context, name string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	j.reads.Add(1)
	if j.broken.Load() {
		return func(yield func(*journal.Entry, error) bool) { yield(nil, journal.ErrUnavailable) }
	}
	return j.Journal.Range(ctx, name, q)
}

func openUnreadable(t *testing.T) (*room, *unreadable) {
	t.Helper()
	log := &unreadable{Journal: journal.NewMemory(journal.MemoryOptions{})}
	r := open(t, rights{"alice": {"*"}, "bob": {"*"}}, func(s *space.Services) {
		s.Journal, s.RingEntries = log, 4
	})
	for i := range 20 {
		r.must("alice", chat(fmt.Sprint("c", i)))
	}
	return r, log
}

func TestMember_ControlFramesWhileLogUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := openUnreadable(t)
		log.broken.Store(true)
		bob := r.join(space.JoinOptions{ID: "bob", Since: new(protocol.Seq)})
		defer bob.leave()
		synctest.Wait()
		if n := len(bob.frames("system.welcome")); n != 1 {
			t.Fatalf("%d welcomes, want 1", n)
		}
		bob.SendControl(protocol.KindSystemAck, "x", protocol.Ack{Seq: 1})
		synctest.Wait()
		if n := len(bob.frames("system.ack")); n != 1 {
			t.Fatalf("%d acks, want 1", n)
		}
		log.broken.Store(false)
		time.Sleep(time.Second)
		synctest.Wait()
		if got := bob.ids(); len(got) != 20 || got[0] != "c0" {
			t.Errorf("got %v after the log could be read again", got)
		}
	})
}

func TestMember_ClosedWhenLogStaysUnreadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := openUnreadable(t)
		log.broken.Store(true)
		bob := r.join(space.JoinOptions{ID: "bob", Since: new(protocol.Seq)})
		time.Sleep(25 * time.Second)
		synctest.Wait()
		bob.mu.Lock()
		early := bob.closing
		bob.mu.Unlock()
		if early != nil {
			t.Fatalf("closed early: %+v", early)
		}
		if n := log.reads.Load(); n > 200 {
			t.Errorf("%d reads of the log in 25 s", n)
		}
		time.Sleep(10 * time.Second)
		<-bob.done
		if bob.closing == nil || bob.closing.Code != protocol.CloseGoingAway {
			t.Errorf("closed with %+v, want 1001", bob.closing)
		}
	})
}

// A client that sends all the time always has pending acks; it still catches up.
func TestMember_CatchesUpWithControlFrames(t *testing.T) {
	r, _ := openUnreadable(t)
	joined, refused := r.Join(t.Context(), space.JoinOptions{ID: "bob", Since: new(protocol.Seq)})
	if refused != nil {
		t.Fatal(refused)
	}
	defer r.Leave(joined)
	defer joined.MarkClosed()
	var d space.Delivery
	entries := 0
	for round := 0; entries < 20; round++ {
		joined.SendControl(protocol.KindSystemAck, "x", protocol.Ack{Seq: 1})
		if err := joined.Next(t.Context(), &d); err != nil || round > 100 {
			t.Fatalf("%d entries after %d rounds: %v", entries, round, err)
		}
		entries += len(d.Entries)
		if len(d.Entries) == 0 && len(d.Control) == 0 {
			t.Fatal("an empty delivery")
		}
	}
}

// The cost of a wrong token does not depend on how many spaces are open, and it
// reads no log.
func TestHub_WrongTokenReadsNothing(t *testing.T) {
	log := &unreadable{Journal: journal.NewMemory(journal.MemoryOptions{})}
	hub := space.NewHub(space.Services{Journal: log, Validate: noSchema, NewID: ids(), NewToken: tokens()},
		func(name string) (*authority.Config, bool) { return &authority.Config{Name: name}, true })
	for i := range 200 {
		if _, err := hub.Space(t.Context(), fmt.Sprint("s", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := hub.LoadInvitations(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := log.reads.Load()
	if n := testing.AllocsPerRun(100, func() { _, _, _, _ = hub.InvitedTo([32]byte{1}) }); n > 0 {
		t.Errorf("%v allocations for a wrong token", n)
	}
	if n := log.reads.Load() - before; n > 0 {
		t.Errorf("%d reads of the log", n)
	}
}
