package space_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

const raceRounds = 300

// A participant that joins while it is kicked ends up disconnected, and nothing
// blocks.
func TestJoin_DuringKick(t *testing.T) {
	for i := range raceRounds {
		r := open(t, rights{"alice": {"*"}, "bob": {"chat"}}, nil)
		var group sync.WaitGroup
		var bob *member
		var refused *protocol.Error
		group.Go(func() { bob, refused = r.tryJoin(space.JoinOptions{ID: "bob"}) })
		group.Go(func() {
			r.must("alice", `{"id": "k", "kind": "space.kick", "payload": {"participant_id": "bob"}}`)
		})
		group.Wait()
		if refused != nil {
			continue
		}
		if err := bob.await(func() bool { return bob.closing != nil }); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		<-bob.done
		if bob.closing.Code != protocol.CloseKicked {
			t.Fatalf("closed with %+v", bob.closing)
		}
	}
}

// A participant that joins while its right to observe is revoked does not keep
// it.
func TestJoin_DuringRevoke(t *testing.T) {
	for i := range raceRounds {
		r := open(t, rights{"alice": {"*", "observe"}, "bob": {"chat", "observe"}}, nil)
		var group sync.WaitGroup
		var bob *member
		group.Go(func() { bob = r.join(space.JoinOptions{ID: "bob"}) })
		group.Go(func() {
			r.must("alice", `{"id": "r", "kind": "capability.revoke", "payload": {"recipient": "bob", "capabilities": ["observe"]}}`)
		})
		group.Wait()
		r.must("alice", `{"id": "secret", "to": ["alice"], "kind": "chat", "payload": {"message": "x"}}`)
		r.must("alice", chat("end"))
		bob.gets("end")
		bob.leave()
		if bob.find("secret") {
			t.Fatalf("round %d: bob sees what he may see no more", i)
		}
	}
}

// A participant that joins while the configuration drops it ends up disconnected,
// like one that is connected. A space that is opened during a reload has the new
// configuration.
func TestJoin_DuringReload(t *testing.T) {
	with := rights{"alice": {"*"}, "bob": {"chat"}}.config(t)
	without := rights{"alice": {"*"}}.config(t)
	for i := range raceRounds {
		r := openWith(t, with, nil)
		var group sync.WaitGroup
		var bob *member
		var refused *protocol.Error
		group.Go(func() { bob, refused = r.tryJoin(space.JoinOptions{ID: "bob"}) })
		group.Go(func() {
			r.hub.Reload(func(name string) (*authority.Config, bool) { return without, name == "lab" })
		})
		group.Wait()
		if refused != nil {
			continue
		}
		if err := bob.await(func() bool { return bob.closing != nil }); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		<-bob.done
		if bob.closing.Code != protocol.CloseTokenExpired {
			t.Fatalf("closed with %+v", bob.closing)
		}
	}
}

// slowOpening is a log that can be blocked while a space is opened.
type slowOpening struct {
	journal.Journal
	asked, answer chan struct{}
}

func (j *slowOpening) Bounds(ctx context.Context, name string) (oldest, newest protocol.Seq, err error) {
	j.asked <- struct{}{}
	<-j.answer
	return j.Journal.Bounds(ctx, name)
}

func TestReload_DuringOpen(t *testing.T) {
	slow := &slowOpening{asked: make(chan struct{}, 1), answer: make(chan struct{})}
	before, after := rights{"alice": {"*"}, "bob": {"chat"}}.config(t), rights{"alice": {"chat"}}.config(t)
	first := openWith(t, before, nil)
	slow.Journal = first.log
	hub := space.NewHub(space.Services{Journal: slow, Validate: noSchema, NewID: ids(), NewToken: tokens()},
		func(name string) (*authority.Config, bool) { return before, name == "lab" })
	var opening sync.WaitGroup
	var s *space.Space
	opening.Go(func() { s, _ = hub.Space(t.Context(), "lab") })
	<-slow.asked
	hub.Reload(func(name string) (*authority.Config, bool) { return after, name == "lab" })
	close(slow.answer)
	opening.Wait()
	if s.IsKnown("bob") {
		t.Error("the space has the configuration of before")
	}
	r := &room{Space: s, t: t, hub: hub, log: slow}
	if o := r.say("alice", `{"kind": "x.tool"}`)[0]; o.Err == nil || o.Err.Code != protocol.CodeCapabilityViolation {
		t.Errorf("rights of before: %+v", o)
	}
}

func noSchema(protocol.Kind, protocol.Value) error { return nil }

// Changing rights, joins, leaves and reads of the space do not deadlock.
func TestJoin_DuringRightsChanges(t *testing.T) {
	r := open(t, rights{"alice": {"*"}, "bob": {"chat"}, "carol": {"chat"}}, nil)
	var group sync.WaitGroup
	for _, who := range []protocol.ParticipantID{"bob", "carol"} {
		group.Go(func() {
			for range raceRounds {
				r.join(space.JoinOptions{ID: who}).leave()
			}
		})
	}
	group.Go(func() {
		for i := range raceRounds {
			r.must("alice", fmt.Sprintf(`{"id": "g%d", "kind": "capability.grant", "payload": {"recipient": "bob", "capabilities": ["x.tool"]}}`, i))
			r.must("alice", fmt.Sprintf(`{"id": "r%d", "kind": "capability.revoke", "payload": {"recipient": "bob", "grant_id": "g%d"}}`, i, i))
		}
	})
	group.Go(func() {
		for range raceRounds {
			r.Participants()
			r.Contexts(ring.Viewer{ID: "alice"}, "")
		}
	})
	group.Wait()
	if present := r.Present(); len(present) > 0 {
		t.Errorf("still there: %v", present)
	}
}

// Presence of a participant that quickly opens and closes several connections is
// announced in order: joins and leaves alternate, and the last one is right.
func TestPresence_Order(t *testing.T) {
	r := open(t, rights{"alice": {"*"}, "bob": {"chat"}}, nil)
	r.run(10 * time.Millisecond)
	alice := r.join(space.JoinOptions{ID: "alice"})
	defer alice.leave()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range raceRounds {
				r.join(space.JoinOptions{ID: "bob"}).leave()
			}
		})
	}
	group.Wait()
	gone := func() bool {
		for _, e := range slices.Backward(alice.got) {
			if presenceAbout(t, e) == "bob" {
				return presenceOf(t, e) == protocol.PresenceLeave
			}
		}
		return false
	}
	r.must("alice", chat("end"))
	alice.gets("end")
	if err := alice.await(gone); err != nil {
		t.Fatal("bob has left, and nobody was told")
	}
	alice.mu.Lock()
	defer alice.mu.Unlock()
	want := protocol.PresenceJoin
	for _, e := range alice.got {
		if e.Kind != protocol.KindSystemPresence {
			continue
		}
		if event := presenceOf(t, e); event != want {
			t.Fatalf("%s, and %s was due", event, want)
		}
		if want == protocol.PresenceJoin {
			want = protocol.PresenceLeave
		} else {
			want = protocol.PresenceJoin
		}
	}
	if want != protocol.PresenceJoin {
		t.Error("bob has left, and nobody was told")
	}
}

// TestReload_ConfigAndRightsTogether reloads between two configurations. Under
// each of them carol may see envelopes that are addressed to bob: by the
// visibility, or by her capabilities. A reader that mixed the two would miss one.
func TestReload_ConfigAndRightsTogether(t *testing.T) {
	byVisibility := rights{"alice": {"*"}, "bob": {"*"}, "carol": {"chat"}}.config(t)
	byVisibility.Everyone = true
	byRights := rights{"alice": {"*"}, "bob": {"*"}, "carol": {"chat", "observe"}}.config(t)
	r := openWith(t, byVisibility, nil)
	carol := r.join(space.JoinOptions{ID: "carol"})
	const secret = `{"to": ["bob"], "kind": "chat", "payload": {"message": "to bob"}}`
	r.must("alice", secret)
	sent := 1
	for range raceRounds / 10 {
		var group sync.WaitGroup
		group.Go(func() {
			for _, cfg := range []*authority.Config{byRights, byVisibility, byRights, byVisibility, byRights, byVisibility} {
				r.hub.Reload(func(name string) (*authority.Config, bool) { return cfg, name == cfg.Name })
			}
		})
		group.Go(func() {
			for range 20 {
				r.must("alice", secret)
				sent++
			}
		})
		group.Go(func() {
			for range 20 {
				page, refused := r.History(t.Context(), ring.Viewer{ID: "carol"}, space.HistoryQuery{Limit: 1})
				if refused != nil {
					t.Error(refused)
				} else if count(t, page) != 1 {
					t.Error("carol does not see an envelope to bob in the history")
				}
			}
		})
		group.Wait()
	}
	r.must("alice", chat("end"))
	carol.gets("end")
	if got := len(carol.ids()) - 1; got != sent {
		t.Errorf("carol was sent %d of %d envelopes to bob", got, sent)
	}
	carol.leave()
}
