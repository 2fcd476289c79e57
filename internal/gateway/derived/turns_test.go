package derived

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/capability"
	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/schemas"
)

// house is a hub over a log in memory, with alice and bob in every space.
type house struct {
	t   testing.TB
	hub *space.Hub
	ids int
}

func newHouse(t testing.TB, log journal.Journal) *house {
	t.Helper()
	all, err := capability.ParseJSON([]byte(`"*"`))
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t}
	everything := authority.ParticipantConfig{Capabilities: []*capability.Capability{all}}
	h.hub = space.NewHub(space.Services{
		Journal: log, Validate: schemas.Payload, RingEntries: 16, NewToken: func() (string, [32]byte) { return "x", [32]byte{1} },
		NewID: func() protocol.ID { h.ids++; return protocol.ID(fmt.Sprint("made-", h.ids)) },
	}, func(name string) (*authority.Config, bool) {
		return &authority.Config{Name: name, Participants: map[protocol.ParticipantID]authority.ParticipantConfig{"alice": everything, "bob": everything}}, true
	})
	return h
}

func (h *house) space(name string) *space.Space {
	h.t.Helper()
	s, err := h.hub.Space(context.Background(), name)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// say publishes frames; it ends the test when one is rejected.
func (h *house) say(name string, who protocol.ParticipantID, frames ...string) {
	h.t.Helper()
	s := h.space(name)
	sender, refused := s.Sender(context.Background(), ring.Viewer{ID: who})
	if refused != nil {
		h.t.Fatal(refused)
	}
	for _, f := range frames {
		in, bad := protocol.Decode([]byte(f), protocol.DialectMEUP01, protocol.DefaultContextDepth)
		if r := sender.Publish(context.Background(), []admission.Decoded{{In: in, Err: bad}})[0]; r.Err != nil {
			h.t.Fatalf("%s: %v", f, r.Err)
		}
	}
}

// turn publishes a question, a call for it, and an answer.
func (h *house) turn(name string, n int, answers string) {
	h.t.Helper()
	correlation := ""
	if answers != "" {
		correlation = fmt.Sprintf(`"correlationId": %q,`, answers)
	}
	h.say(name, "alice", fmt.Sprintf(`{"id": "q%d", %s "kind": "chat", "payload": {"message": "question %d"}}`, n, correlation, n))
	h.say(name, "bob",
		fmt.Sprintf(`{"id": "c%d", "correlationId": "q%d", "kind": "reasoning.start", "payload": {"message": "x"}}`, n, n),
		fmt.Sprintf(`{"id": "r%d", "context": "c%d", "kind": "mcp.request", "payload": {"method": "tools/call", "params": {"name": "look"}}}`, n, n),
		fmt.Sprintf(`{"id": "a%d", "context": "c%d", "correlationId": "r%d", "kind": "mcp.response", "payload": {"result": {}}}`, n, n, n),
		fmt.Sprintf(`{"id": "m%d", "correlationId": "q%d", "kind": "chat", "payload": {"message": "answer %d"}}`, n, n, n))
}

// history asks for a page of a thread.
func history(ctx context.Context, k *TurnStore, s *space.Space, who protocol.ParticipantID, thread protocol.ID, limit int) (*turns.History, error) {
	v, err := k.View(ctx, s, ring.Viewer{ID: who})
	if err != nil {
		return nil, err
	}
	return v.History(ctx, thread, limit, 0, v.Viewer)
}

func view(t *testing.T, k *TurnStore, s *space.Space, who protocol.ParticipantID) *TurnView {
	t.Helper()
	v, err := k.View(t.Context(), s, ring.Viewer{ID: who})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func listen(t *testing.T, k *TurnStore, s *space.Space, after protocol.Seq, wake func()) *TurnListener {
	t.Helper()
	l, err := k.Listen(s, ring.Viewer{ID: "alice"}, after, wake)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Who has just written finds it, and a log that was there before is read.
func TestReadsItsOwnWrites(t *testing.T) {
	h := newHouse(t, journal.NewMemory(journal.MemoryOptions{}))
	k := NewTurnStore(TurnOptions{})
	defer k.Close()
	previous := ""
	for n := range 60 {
		h.turn("lab", n, previous)
		previous = fmt.Sprint("m", n)
		if n < 10 {
			continue // there is a log before anybody asks
		}
		got, err := history(t.Context(), k, h.space("lab"), "alice", "q0", 1)
		if err != nil || len(got.Turns) != 1 || got.Turns[0].TurnNumber != n+1 || got.Turns[0].Response == nil || *got.Turns[0].Response != fmt.Sprint("answer ", n) {
			t.Fatalf("turn %d: %+v, %v", n+1, got, err)
		}
	}
	number := 0
	bob := view(t, k, h.space("lab"), "bob")
	for turn, err := range bob.All(t.Context(), "q0", bob.Viewer) {
		number++
		if err != nil || turn.TurnNumber != number {
			t.Fatalf("turn %d: %+v, %v", number, turn, err)
		}
	}
	if number != 60 {
		t.Errorf("%d turns", number)
	}
	for turn, err := range bob.All(t.Context(), "q0", bob.Viewer) {
		if err != nil || turn.TurnNumber != 1 {
			t.Errorf("%+v, %v", turn, err)
		}
		break // a reader that stops receives no more
	}
	for turn, err := range bob.All(t.Context(), "nothing", bob.Viewer) {
		if turn != nil || !errors.Is(err, turns.ErrUnknown) {
			t.Errorf("%+v, %v", turn, err)
		}
	}
}

// With more spaces than the bound, the least recently used are read again on
// demand.
func TestForgetsSpaces(t *testing.T) {
	h := newHouse(t, journal.NewMemory(journal.MemoryOptions{}))
	var seconds atomic.Int64
	k := NewTurnStore(TurnOptions{Spaces: 2, Clock: func() time.Time { return time.Unix(seconds.Add(1), 0) }})
	defer k.Close()
	for range 2 {
		for _, name := range []string{"one", "two", "three", "four"} {
			h.space(name)
			if got, err := history(t.Context(), k, h.space(name), "alice", "q0", 1); err == nil || !errors.Is(err, turns.ErrUnknown) {
				t.Fatalf("an empty space: %+v, %v", got, err)
			}
		}
	}
	for _, name := range []string{"one", "two", "three", "four"} {
		h.turn(name, 0, "")
	}
	listener := listen(t, k, h.space("one"), 0, func() {})
	defer listener.Close()
	for range 3 {
		for _, name := range []string{"two", "three", "four"} {
			if got, err := history(t.Context(), k, h.space(name), "alice", "q0", 0); err != nil || len(got.Turns) != 1 {
				t.Fatalf("%s: %+v, %v", name, got, err)
			}
		}
	}
	h.turn("one", 1, "")
	if _, err := history(t.Context(), k, h.space("one"), "alice", "q1", 0); err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(listener.UpTo(t.Context(), h.space("one").Head())); len(got) != 2 {
		t.Errorf("whoever listens was told %v", got)
	}
}

// An idle space that was closed and opened again is followed from the last
// applied entry.
func TestSpaceOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, journal.NewMemory(journal.MemoryOptions{}))
		k := NewTurnStore(TurnOptions{})
		defer k.Close()
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { h.hub.Run(ctx, time.Second) })
		defer running.Wait()
		defer stop()

		h.turn("lab", 0, "")
		before := h.space("lab")
		if _, err := history(ctx, k, before, "alice", "q0", 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // in fake time
		if _, err := history(ctx, k, before, "alice", "q0", 0); err != nil {
			t.Errorf("of the closed space: %v", err)
		}
		h.turn("lab", 1, "m0")
		got, err := history(ctx, k, h.space("lab"), "alice", "q0", 0)
		if err != nil || len(got.Turns) != 2 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// A log that begins anew under the same name has turns of its own.
func TestAnotherLog(t *testing.T) {
	first := newHouse(t, journal.NewMemory(journal.MemoryOptions{}))
	k := NewTurnStore(TurnOptions{})
	defer k.Close()
	for n := range 5 {
		first.turn("lab", n, "")
	}
	if _, err := history(t.Context(), k, first.space("lab"), "alice", "q4", 0); err != nil {
		t.Fatal(err)
	}
	second := newHouse(t, journal.NewMemory(journal.MemoryOptions{}))
	second.turn("lab", 7, "")
	if _, err := history(t.Context(), k, second.space("lab"), "alice", "q7", 0); err != nil {
		t.Error(err)
	}
	if got, err := history(t.Context(), k, second.space("lab"), "alice", "q4", 0); !errors.Is(err, turns.ErrUnknown) {
		t.Errorf("of the log before: %+v, %v", got, err)
	}
}

// A pending request gets ErrTurnsClosed when the store is closed.
func TestClosed(t *testing.T) {
	h := newHouse(t, journal.NewMemory(journal.MemoryOptions{}))
	k := NewTurnStore(TurnOptions{})
	listener := listen(t, k, h.space("lab"), 0, func() {})
	defer listener.Close()
	k.Close()
	if _, err := k.View(t.Context(), h.space("lab"), ring.Viewer{ID: "alice"}); !errors.Is(err, ErrTurnsClosed) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for got := range listener.UpTo(ctx, 1) {
		t.Errorf("%v", got)
	}
	if _, err := k.Listen(h.space("lab"), ring.Viewer{ID: "alice"}, 0, func() {}); !errors.Is(err, ErrTurnsClosed) {
		t.Error(err)
	}
}

// Concurrent requests, writes and listeners: each listener receives every step
// once and in order.
func TestTogether(t *testing.T) {
	h := newHouse(t, journal.NewMemory(journal.MemoryOptions{}))
	k := NewTurnStore(TurnOptions{})
	defer k.Close()
	h.turn("lab", 0, "")
	s := h.space("lab")
	if _, err := history(t.Context(), k, s, "alice", "q0", 0); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		woken := make(chan struct{}, 1)
		l := listen(t, k, s, s.Head(), func() {
			select {
			case woken <- struct{}{}:
			default:
			}
		})
		all.Go(func() {
			defer l.Close()
			var last protocol.Seq
			for told := 0; told < 50; {
				select {
				case <-woken:
				case <-t.Context().Done():
					return
				}
				for u := range l.UpTo(t.Context(), s.Head()) {
					if u.Seq <= last || u.Name != turns.ReasoningUpdate {
						t.Errorf("told of %s at %d behind %d", u.Name, u.Seq, last)
					}
					last, told = u.Seq, told+1
				}
			}
		})
	}
	for n := 1; n <= 50; n++ {
		h.turn("lab", n, "")
	}
	all.Wait()
}

// TestStore_MakesRoom: a space that made room for another one is there again for
// the next question.
func TestStore_MakesRoom(t *testing.T) {
	h := newHouse(t, journal.NewMemory(journal.MemoryOptions{}))
	k := NewTurnStore(TurnOptions{Spaces: 1})
	defer k.Close()
	h.turn("one", 0, "")
	for range 3 {
		view(t, k, h.space("two"), "alice")
		if got, err := history(t.Context(), k, h.space("one"), "alice", "q0", 0); err != nil || len(got.Turns) != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
	}
}

// upper is a masker whose rules can change.
type upper struct{ on atomic.Bool }

func (m *upper) Text(text string) string {
	if m.on.Load() {
		return strings.ToUpper(text)
	}
	return text
}

func (m *upper) Parameters(protocol.Value) json.RawMessage { return nil }

// job publishes the reasoning of an agent without a question.
func (h *house) job(name, id string) {
	h.t.Helper()
	h.say(name, "bob",
		fmt.Sprintf(`{"id": %q, "kind": "reasoning.start", "payload": {"message": "x"}}`, id),
		fmt.Sprintf(`{"id": "%s-r", "context": %q, "kind": "mcp.request", "payload": {"method": "tools/call", "params": {"name": "sweep"}}}`, id, id),
		fmt.Sprintf(`{"id": "%s-a", "context": %q, "correlationId": "%s-r", "kind": "mcp.response", "payload": {"result": {}}}`, id, id, id))
}

// TestListener_AfterReload: a stream that resumes after a reload gets the steps of
// turns and of jobs that it missed, masked by the rules of now; so does one that
// resumes after a restart.
func TestListener_AfterReload(t *testing.T) {
	h := newHouse(t, journal.NewMemory(journal.MemoryOptions{}))
	mask := new(upper)
	k := NewTurnStore(TurnOptions{Mask: mask})
	defer k.Close()
	h.turn("lab", 0, "")
	h.job("lab", "j0")
	s := h.space("lab")
	updates := func(k *TurnStore) (list []string) {
		if _, err := history(t.Context(), k, s, "alice", "q0", 0); err != nil {
			t.Fatal(err)
		}
		l := listen(t, k, s, 0, func() {})
		defer l.Close()
		for u := range l.UpTo(t.Context(), s.Head()) {
			list = append(list, fmt.Sprintf("%d %s %s", u.Seq, u.Name, u.Data))
		}
		return list
	}
	before := updates(k)
	if len(before) != 2 || !strings.Contains(before[0], turns.ReasoningUpdate) || !strings.Contains(before[1], turns.JobReasoning) {
		t.Fatalf("before: %q", before)
	}
	mask.on.Store(true)
	k.Remask()
	after := updates(k)
	for i := range before {
		before[i] = strings.NewReplacer(`"look"`, `"LOOK"`, `"sweep"`, `"SWEEP"`).Replace(before[i])
	}
	if !slices.Equal(before, after) {
		t.Errorf("after the reload:\n%q\nwant\n%q", after, before)
	}
	restarted := NewTurnStore(TurnOptions{Mask: mask})
	defer restarted.Close()
	if again := updates(restarted); !slices.Equal(again, after) {
		t.Errorf("after a restart:\n%q\nwant\n%q", again, after)
	}
}

// TestCacheShare: the cached contents of all spaces together are bounded.
func TestCacheShare(t *testing.T) {
	for n := 1; n <= defaultSpaces; n++ {
		if share := cacheShare(n); share > turns.DefaultCacheBytes || n*share > cacheBytes || share < cacheBytes/defaultSpaces {
			t.Errorf("%d spaces have %d bytes each", n, share)
		}
	}
}
