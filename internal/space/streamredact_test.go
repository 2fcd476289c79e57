package space_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// hoarder holds back everything and reports a large size.
type hoarder struct{ text string }

const hoard = 16 << 10

func (hoarder) Applies(protocol.Kind) bool { return false }

func (hoarder) Envelope(context.Context, protocol.Kind, protocol.Value, protocol.Value) (ring.Redaction, error) {
	return ring.Redaction{}, nil
}

func (hoarder) Stream() ring.Redactor { return &hoarder{} }

func (h *hoarder) Data(_ context.Context, payload, _ protocol.Value) (ring.Redaction, bool, error) {
	h.text += payload.Get("data").Text()
	return ring.Redaction{Work: 1}, true, nil
}

func (h *hoarder) Rest() (string, []string) { return h.text, nil }

func (h *hoarder) Size() int {
	if h.text == "" {
		return 0
	}
	return hoard
}

func hoarding(t *testing.T) *room {
	t.Helper()
	return open(t, rights{"alice": {"*"}, "bob": {"*"}, "carol": {"*"}}, func(s *space.Services) { s.Safety = hoarder{} })
}

func data(stream, context, text string) string {
	if context == "" {
		return fmt.Sprintf(`{"kind": "stream.data", "payload": {"stream_id": %q, "data": %q}}`, stream, text)
	}
	return fmt.Sprintf(`{"kind": "stream.data", "context": %q, "payload": {"stream_id": %q, "data": %q}}`, context, stream, text)
}

func TestStreamTexts_AreBoundedForEachWriter(t *testing.T) {
	r := hoarding(t)
	alice := r.join(space.JoinOptions{ID: "alice"})
	admitted := 0
	for i := range 200 {
		if o := r.say("alice", data(fmt.Sprint("s", i), "c", "x"))[0]; o.Err == nil {
			admitted++
		} else if code(o.Err) != protocol.CodeRateLimited || o.Err.Limit != "stream_bytes" {
			t.Fatal(o.Err)
		}
	}
	if bytes := admitted * hoard; bytes < 512<<10 || bytes > 2<<20 {
		t.Errorf("%d bytes are kept", bytes)
	}
	if o := r.say("bob", data("b", "c", "x"))[0]; o.Err != nil {
		t.Errorf("another writer: %v", o.Err)
	}
	if o := r.say("alice", `{"kind": "stream.close", "payload": {"stream_id": "s0"}}`, `{"kind": "stream.close", "payload": {"stream_id": "s1"}}`, data("new", "c", "x"))[2]; o.Err != nil {
		t.Errorf("after a close: %v", o.Err)
	}
	alice.leave()
	for i := range 10 {
		if o := r.say("alice", data(fmt.Sprint("t", i), "c", "x"))[0]; o.Err != nil {
			t.Errorf("after the writer has left: %v", o.Err)
		}
	}
}

// A stream of reasoning stays inspected when a writer leaves that did not open
// it, regardless of how much else is written. The held-back data is delivered in
// order.
func TestStreamTexts_StayInspected(t *testing.T) {
	r := hoarding(t)
	defer r.join(space.JoinOptions{ID: "alice"}).leave()
	carol := r.join(space.JoinOptions{ID: "carol"})
	r.must("alice", `{"kind": "stream.open", "context": "c", "payload": {"stream_id": "s"}}`)
	r.must("alice", data("s", "", "held"))
	for i := range 5000 {
		r.must("carol", data(fmt.Sprint("other", i), "c", ""))
	}
	carol.leave()
	bob := r.join(space.JoinOptions{ID: "bob"})
	defer bob.leave()
	r.must("alice", data("s", "", " back"))
	r.must("alice", `{"id": "end", "kind": "stream.close", "payload": {"stream_id": "s"}}`)
	bob.gets("end")
	var got []string
	bob.mu.Lock()
	for _, e := range bob.got {
		if e.Kind == protocol.KindStreamData {
			got = append(got, string(e.From)+string(e.Payload))
		}
	}
	bob.mu.Unlock()
	if len(got) != 1 || got[0] != `alice{"stream_id":"s","data":"held back"}` {
		t.Errorf("%v", got)
	}
}

// Text that is held back for one audience is not delivered to another one, to which
// the next chunk is addressed.
func TestStreamTexts_AudienceChanges(t *testing.T) {
	r := hoarding(t)
	defer r.join(space.JoinOptions{ID: "alice"}).leave()
	bob, carol := r.join(space.JoinOptions{ID: "bob"}), r.join(space.JoinOptions{ID: "carol"})
	defer bob.leave()
	defer carol.leave()
	chunk := func(to, text string) string {
		return fmt.Sprintf(`{"kind": "stream.data", "context": "c", "to": [%q], "payload": {"stream_id": "s", "data": %q}}`, to, text)
	}
	r.must("alice", chunk("bob", "for bob"))
	r.must("alice", chunk("carol", "for carol"))
	r.must("alice", `{"kind": "stream.close", "context": "c", "payload": {"stream_id": "s"}}`)
	r.must("alice", `{"id": "end", "kind": "chat", "payload": {"message": "end"}}`)
	for m, want := range map[*member]string{bob: `{"stream_id":"s","data":"for bob"}`, carol: `{"stream_id":"s","data":"for carol"}`} {
		m.gets("end")
		var got []string
		m.mu.Lock()
		for _, e := range m.got {
			if e.Kind == protocol.KindStreamData {
				got = append(got, string(e.Payload))
			}
		}
		m.mu.Unlock()
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s received %v, want %s", m.ID, got, want)
		}
	}
}

// The bytes that a retired space held back no longer count for the others.
func TestStreamTexts_OfRetiredSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		who := rights{"last": {"*"}}
		const writers = 40
		for i := range writers {
			who[protocol.ParticipantID(fmt.Sprint("writer-", i))] = []string{"*"}
		}
		r := open(t, who, func(s *space.Services) { s.Safety = hoarder{} })
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.hub.Run(ctx, time.Second) })
		defer running.Wait()
		defer stop()
		refused := func(who protocol.ParticipantID, stream string) bool {
			return code(r.say(who, data(stream, "c", "x"))[0].Err) == protocol.CodeRateLimited
		}
		for i := range writers * 64 {
			refused(protocol.ParticipantID(fmt.Sprint("writer-", i%writers)), fmt.Sprint("s", i))
		}
		if !refused("last", "l") {
			t.Fatal("the bound of all spaces is not reached")
		}
		c := r.Follow(0)
		defer c.Close()
		for {
			if _, _, err := c.Next(ctx); errors.Is(err, space.ErrRetired) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		again, err := r.hub.Space(ctx, "lab")
		if err != nil {
			t.Fatal(err)
		}
		r.Space = again
		if refused("last", "l") {
			t.Error("text is refused after the space was retired")
		}
	})
}

// chatty inspects chats.
type chatty struct{ hoarder }

func (chatty) Applies(kind protocol.Kind) bool { return kind == protocol.KindChat }

// A stream outside of contexts may be an answer that grows: it is inspected if chats are.
func TestStreamTexts_AnswerIsInspectedAsChat(t *testing.T) {
	r := open(t, rights{"alice": {"*"}, "bob": {"*"}}, func(s *space.Services) { s.Safety = chatty{} })
	defer r.join(space.JoinOptions{ID: "alice"}).leave()
	bob := r.join(space.JoinOptions{ID: "bob"})
	defer bob.leave()
	r.must("alice", `{"kind": "stream.open", "payload": {"stream_id": "s"}}`)
	r.must("alice", data("s", "", "held"))
	r.must("alice", `{"id": "end", "kind": "chat", "payload": {"message": "x"}}`)
	bob.gets("end")
	bob.mu.Lock()
	defer bob.mu.Unlock()
	for _, e := range bob.got {
		if e.Kind == protocol.KindStreamData {
			t.Errorf("%s was delivered without an inspection", e.Payload)
		}
	}
}
