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

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// next reads from a cursor until it has reached a Seq.
func next(t *testing.T, c *space.Cursor, upTo protocol.Seq) []protocol.ID {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	var ids []protocol.ID
	for {
		entries, read, err := c.Next(ctx)
		if err != nil {
			t.Fatalf("after %v: %v", ids, err)
		}
		for _, e := range entries {
			ids = append(ids, e.Envelope.ID)
		}
		if read >= upTo {
			return ids
		}
	}
}

// A cursor reads everything from its position on, through the journal after the
// ring has evicted entries, and then follows new ones; it skips hidden and live
// entries.
func TestCursor(t *testing.T) {
	r := open(t, rights{"alice": {"*"}, "bob": {"chat"}}, func(s *space.Services) { s.RingEntries = 8 })
	var want []protocol.ID
	var last protocol.Seq
	say := func(frame string, id protocol.ID) {
		last = r.must("alice", frame)
		want = append(want, id)
	}
	for i := range 700 {
		id := fmt.Sprint("m", i)
		say(chat(id), protocol.ID(id))
	}
	say(`{"id": "private", "to": ["bob"], "kind": "chat", "payload": {"message": "x"}}`, "private")
	c := r.Follow(0)
	defer c.Close()
	if got := next(t, c, last); !slices.Equal(got, want) {
		t.Fatalf("%d of %d envelopes: %v", len(got), len(want), got)
	}
	want = nil
	r.must("alice", `{"id": "live", "kind": "stream.data", "payload": {"stream_id": "s", "data": "x"}}`)
	say(`{"id": "inv", "kind": "space.invite", "payload": {"participant_id": "eve"}}`, "inv")
	last = r.must("alice", chat("end"))
	got := next(t, c, last)
	if len(got) == 0 || got[len(got)-1] != "end" || slices.Contains(got, "live") {
		t.Errorf("then %v", got)
	}
	late := r.Follow(last)
	defer late.Close()
	last = r.must("alice", chat("later"))
	if got := next(t, late, last); !slices.Equal(got, []protocol.ID{"later"}) {
		t.Errorf("from the head on: %v", got)
	}
}

// A cursor ends with its context, and when its idle space is closed.
func TestCursor_End(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, rights{"alice": {"*"}}, nil)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.hub.Run(ctx, time.Second) })
		defer running.Wait()
		defer stop()

		cancelled := r.Follow(0)
		defer cancelled.Close()
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, _, err := cancelled.Next(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a context that ends: %v", err)
		}
		c := r.Follow(0)
		defer c.Close()
		if _, _, err := c.Next(ctx); !errors.Is(err, space.ErrRetired) {
			t.Errorf("a space that is closed: %v", err)
		}
		again, err := r.hub.Space(ctx, "lab")
		if err != nil || again == r.Space {
			t.Errorf("the space was not opened anew: %v", err)
		}
	})
}

// The entries of Range that Visibility allows are the ones that section 1 lets a
// participant see.
func TestSpace_RangeAndVisibility(t *testing.T) {
	r := open(t, rights{"alice": {"*"}, "bob": {"*"}, "carol": {"chat"}, "watcher": {"observe"}}, nil)
	r.must("alice", chat("open"))
	first := r.must("alice", `{"id": "ask", "to": ["bob"], "kind": "mcp.request", "payload": {"method": "ping"}}`)
	last := r.must("bob", `{"id": "answer", "to": ["bob"], "correlationId": "ask", "kind": "mcp.response", "payload": {"result": {}}}`)
	sees := map[protocol.ParticipantID][]protocol.ID{}
	for e, err := range r.Range(t.Context(), first, last) {
		if err != nil {
			t.Fatal(err)
		}
		for _, who := range []protocol.ParticipantID{"alice", "bob", "carol", "watcher"} {
			if r.VisibilityOf(ring.Viewer{ID: who}).Allows(e.Envelope, e.Audience()) {
				sees[who] = append(sees[who], e.Envelope.ID)
			}
		}
	}
	both := []protocol.ID{"ask", "answer"}
	if !slices.Equal(sees["alice"], both) || !slices.Equal(sees["bob"], both) || !slices.Equal(sees["watcher"], both) || sees["carol"] != nil {
		t.Errorf("who sees what: %v", sees)
	}
}

// A writer with frames of its own is woken by Notify.
func TestMember_Notify(t *testing.T) {
	r := open(t, rights{"alice": {"*"}}, nil)
	m, refused := r.Join(t.Context(), space.JoinOptions{ID: "alice", Observe: true, Filter: protocol.Filter{Kinds: []string{"x.never"}}})
	if refused != nil {
		t.Fatal(refused)
	}
	defer r.Leave(m)
	defer m.MarkClosed()
	var d space.Delivery
	if err := m.Next(t.Context(), &d); err != nil || len(d.Control) == 0 {
		t.Fatalf("no welcome: %v", err)
	}
	seq := r.must("alice", chat("m"))
	m.Notify()
	for d.Seq < seq {
		if err := m.Next(t.Context(), &d); err != nil {
			t.Fatal(err)
		}
	}
	if !d.Notified || len(d.Entries) != 0 {
		t.Errorf("delivery %+v", d)
	}
}
