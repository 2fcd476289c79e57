package space_test

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
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// gated is a log whose appends wait at a gate, or fail while it is broken.
type gated struct {
	*journal.Memory
	gate chan struct{} // nil: open

	mu     sync.Mutex
	broken bool
}

func (g *gated) Append(ctx context.Context, name string, drafts []journal.Draft) []journal.Result {
	g.mu.Lock()
	gate, broken := g.gate, g.broken
	g.mu.Unlock()
	if gate != nil {
		<-gate
	}
	if broken {
		results := make([]journal.Result, len(drafts))
		for i := range results {
			results[i].Err = fmt.Errorf("append: %w", journal.ErrUnavailable)
		}
		return results
	}
	return g.Memory.Append(ctx, name, drafts)
}

func (g *gated) set(gate chan struct{}, broken bool) {
	g.mu.Lock()
	g.gate, g.broken = gate, broken
	g.mu.Unlock()
}

func openGated(t *testing.T) (*room, *gated) {
	t.Helper()
	log := &gated{Memory: journal.NewMemory(journal.MemoryOptions{})}
	return open(t, rights{"alice": {"*"}, "bob": {"*"}}, func(s *space.Services) { s.Journal = log }), log
}

// No envelope is acknowledged, delivered or in history before it is durable.
func TestPublish_DurableFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := openGated(t)
		bob := r.join(space.JoinOptions{ID: "bob"})
		defer bob.leave()
		gate := make(chan struct{})
		log.set(gate, false)
		said := make(chan admission.Result, 1)
		go func() { said <- r.say("alice", chat("m1"))[0] }()
		synctest.Wait()
		page, refused := r.History(t.Context(), ring.Viewer{ID: "bob"}, space.HistoryQuery{})
		if len(said) > 0 || len(bob.ids()) > 0 || refused != nil || count(t, page) > 0 {
			t.Fatalf("m1 shows: %d outcomes, delivered %v, history %v, %v", len(said), bob.ids(), page, refused)
		}
		close(gate)
		if o := <-said; o.Err != nil || o.Seq == 0 {
			t.Fatalf("outcome %+v", o)
		}
		synctest.Wait()
		if !slices.Equal(bob.ids(), []protocol.ID{"m1"}) {
			t.Errorf("delivered %v", bob.ids())
		}
	})
}

// Draining waits for envelopes that have passed the checks, and for the answers
// to them: everything admitted is delivered before the close.
func TestDrain_DuringAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := openGated(t)
		alice, bob := r.join(space.JoinOptions{ID: "alice", Ack: true}), r.join(space.JoinOptions{ID: "bob"})
		gate := make(chan struct{})
		log.set(gate, false)
		alice.Answering.Store(true)
		said := make(chan admission.Result, 1)
		go func() { said <- r.say("alice", chat("m1"))[0] }()
		synctest.Wait() // m1 waits for the append
		drained := make(chan error, 1)
		go func() { drained <- r.hub.Drain(t.Context()) }()
		time.Sleep(time.Second)
		if o := r.say("bob", chat("m2"))[0]; o.Err == nil || o.Err.Code != protocol.CodeUnavailable {
			t.Errorf("said while draining: %+v", o)
		}
		if alice.Ending() || bob.Ending() {
			t.Error("closed before the append")
		}
		close(gate)
		o := <-said
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		<-bob.done
		if alice.Ending() {
			t.Error("the sender was closed before its acknowledgment")
		}
		alice.SendControl(protocol.KindSystemAck, o.ID, protocol.Ack{Seq: o.Seq})
		alice.Answering.Store(false)
		if err := <-drained; err != nil {
			t.Fatal(err)
		}
		<-alice.done
		for _, m := range []*member{alice, bob} {
			if c := m.closing; !slices.Equal(m.ids(), []protocol.ID{"m1"}) || c == nil || c.Code != protocol.CloseGoingAway {
				t.Errorf("%s: delivered %v, closed with %+v", m.ID, m.ids(), c)
			}
		}
		if acks := alice.frames("system.ack"); len(acks) != 1 {
			t.Errorf("acknowledgments: %v", acks)
		}
	})
}

// A log that hangs does not keep connections from being closed with 1001.
func TestDrain_HungAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := openGated(t)
		bob := r.join(space.JoinOptions{ID: "bob"})
		bob.Answering.Store(true)
		gate := make(chan struct{})
		log.set(gate, false)
		said := make(chan admission.Result, 1)
		go func() { said <- r.say("bob", chat("m1"))[0] }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		if err := r.hub.Drain(ctx); err != nil {
			t.Error(err)
		}
		<-bob.done
		if c := bob.closing; c == nil || c.Code != protocol.CloseGoingAway {
			t.Errorf("closed with %+v", c)
		}
		close(gate)
		<-said
	})
}

// An envelope that the log cannot append is rejected as unavailable, and a retry
// under the same id succeeds.
func TestPublish_UnavailableLog(t *testing.T) {
	r, log := openGated(t)
	bob := r.join(space.JoinOptions{ID: "bob"})
	defer bob.leave()
	log.set(nil, true)
	for _, o := range r.say("alice", chat("m1"), chat("m2"), `{"id": "k", "kind": "space.kick", "payload": {"participant_id": "bob"}}`) {
		if o.Err == nil || o.Err.Code != protocol.CodeUnavailable || o.Seq != 0 {
			t.Errorf("outcome %+v", o)
		}
	}
	if r.Kicked("bob") {
		t.Error("a kick that was not admitted has effect")
	}
	log.set(nil, false)
	for _, id := range []string{"m1", "m2"} {
		r.must("alice", chat(id))
	}
	bob.gets("m2")
	if got := bob.ids(); !slices.Equal(got, []protocol.ID{"m1", "m2"}) {
		t.Errorf("delivered %v", got)
	}
}

// An envelope that was checked against a state that is outdated at its append is
// checked again: a revocation between check and append takes effect.
func TestPublish_RevokedBeforeAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := openGated(t)
		gate := make(chan struct{})
		log.set(gate, false)
		late := make(chan []admission.Result, 1)
		go func() { late <- r.say("bob", chat("b1"), `{"id": "b2", "kind": "x.tool"}`, chat("b3")) }()
		synctest.Wait() // bob's envelopes are checked and wait for the append
		log.set(nil, false)
		r.must("alice", `{"id": "r", "kind": "capability.revoke", "payload": {"recipient": "bob", "capabilities": ["x.tool"]}}`)
		close(gate)
		out := <-late
		if out[0].Err != nil || out[2].Err != nil || out[2].Seq <= out[0].Seq {
			t.Errorf("chats: %+v, %+v", out[0], out[2])
		}
		if out[1].Err == nil || out[1].Err.Code != protocol.CodeCapabilityViolation {
			t.Errorf("what was revoked: %+v", out[1])
		}
		if _, err := r.log.Lookup(t.Context(), "lab", "b2"); !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("it is in the log: %v", err)
		}
	})
}

// A kick applies to its target's envelopes that wait for the append, and to a
// connection that joins at that moment.
func TestPublish_KickedBeforeAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := openGated(t)
		bob := r.join(space.JoinOptions{ID: "bob"})
		gate := make(chan struct{})
		log.set(gate, false)
		late := make(chan []admission.Result, 1)
		go func() { late <- r.say("bob", chat("b1")) }()
		synctest.Wait()
		log.set(nil, false)
		r.must("alice", `{"id": "k", "kind": "space.kick", "payload": {"participant_id": "bob"}}`)
		r.must("alice", chat("after"))
		close(gate)
		if o := (<-late)[0]; o.Err == nil {
			t.Errorf("said behind the kick: %+v", o)
		}
		<-bob.done
		if c := bob.closing; c == nil || c.Code != protocol.CloseKicked || !slices.Equal(bob.ids(), []protocol.ID{"k"}) {
			t.Errorf("closed with %+v, delivered %v", c, bob.ids())
		}
		if _, refused := r.tryJoin(space.JoinOptions{ID: "bob"}); refused == nil || refused.Code != protocol.CodeKicked {
			t.Errorf("came back: %v", refused)
		}
	})
}

// The state of a space is a fold over its log: a hub that opens it again computes
// the same rights, kicks, pauses and invitations.
func TestState_RebuiltFromLog(t *testing.T) {
	log := journal.NewMemory(journal.MemoryOptions{})
	who := rights{"alice": {"*"}, "bob": {"chat"}, "carol": {"chat"}, "dave": {"chat"}}
	service := func(s *space.Services) { s.Journal = log }
	cfg := who.config(t)
	cfg.Guests = &authority.ParticipantConfig{}
	first := openWith(t, cfg, service)
	first.must("alice", `{"id": "g", "kind": "capability.grant", "payload": {"recipient": "bob", "capabilities": ["x.tool"]}}`)
	first.must("alice", `{"id": "p", "to": ["carol"], "kind": "participant.pause"}`)
	first.must("alice", `{"id": "k", "kind": "space.kick", "payload": {"participant_id": "dave"}}`)
	invited := first.say("alice", `{"id": "i", "kind": "space.invite", "payload": {"participant_id": "invited:eve", "initial_capabilities": ["chat"]}}`)[0]
	if invited.Err != nil || invited.Invite.Token != "token-1" {
		t.Fatalf("invitation: %+v", invited)
	}
	guest := first.join(space.JoinOptions{ID: "guest"})
	guest.leave()

	again := openWith(t, cfg, service)
	again.must("bob", `{"kind": "x.tool"}`)
	again.must("invited:eve", chat("e"))
	if o := again.say("carol", chat("c"))[0]; o.Err == nil || o.Err.Code != protocol.CodePaused {
		t.Errorf("carol: %+v", o)
	}
	if o := again.say("dave", chat("d"))[0]; o.Err == nil || o.Err.Code != protocol.CodeKicked {
		t.Errorf("dave: %+v", o)
	}
	if i, ok := again.LookupInvitation([32]byte{1}); !ok || i.Participant != "invited:eve" {
		t.Errorf("invitation: %+v, %v", i, ok)
	}
	if !again.IsKnown("guest") || again.IsKnown("mallory") {
		t.Error("who is known has changed")
	}
}

// Grants, pauses and connections expire, and the members concerned are notified.
func TestHub_Expiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, rights{"alice": {"*", "observe"}, "bob": {"chat"}}, nil)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.hub.Run(ctx, time.Second) })
		defer running.Wait()
		defer stop()
		bob := r.join(space.JoinOptions{ID: "bob", Expires: time.Now().Add(time.Hour)})
		synctest.Wait() // the welcome has arrived
		r.must("alice", `{"id": "g", "kind": "capability.grant", "payload": {"recipient": "bob", "capabilities": ["x.tool", "observe"], "ttl_seconds": 60}}`)
		r.must("alice", `{"id": "p", "to": ["bob"], "kind": "participant.pause", "payload": {"timeout_seconds": 30}}`)
		r.must("alice", `{"id": "t1", "to": ["alice"], "kind": "chat", "payload": {"message": "x"}}`)
		synctest.Wait()
		if n := len(bob.frames("system.welcome")); n != 2 {
			t.Errorf("%d welcomes", n)
		}
		if o := r.say("bob", chat("early"))[0]; o.Err == nil || o.Err.Code != protocol.CodePaused {
			t.Errorf("paused: %+v", o)
		}
		time.Sleep(31 * time.Second)
		r.must("bob", chat("resumed"))
		r.must("bob", `{"id": "x1", "kind": "x.tool"}`)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if n := len(bob.frames("system.welcome")); n != 3 {
			t.Errorf("%d welcomes after the grant has ended", n)
		}
		if o := r.say("bob", `{"id": "x2", "kind": "x.tool"}`)[0]; o.Err == nil || o.Err.Code != protocol.CodeCapabilityViolation {
			t.Errorf("what was granted: %+v", o)
		}
		r.must("alice", `{"id": "t2", "to": ["alice"], "kind": "chat", "payload": {"message": "x"}}`)
		r.must("alice", chat("end"))
		synctest.Wait()
		if got := bob.ids(); !slices.Equal(got, []protocol.ID{"g", "p", "t1", "resumed", "x1", "end"}) {
			t.Errorf("delivered %v", got)
		}
		time.Sleep(time.Hour)
		<-bob.done
		if c := bob.closing; c == nil || c.Code != protocol.CloseTokenExpired {
			t.Errorf("closed with %+v", c)
		}
	})
}
