package space_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// readLog counts the state entries that are read, and can refuse appends.
type readLog struct {
	journal.Journal
	state   atomic.Int64
	refuses atomic.Bool
}

func (l *readLog) Range(ctx context.Context, name string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(yield func(*journal.Entry, error) bool) {
		for e, err := range l.Journal.Range(ctx, name, q) {
			if q.StateOnly {
				l.state.Add(1)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (l *readLog) Append(ctx context.Context, name string, drafts []journal.Draft) []journal.Result {
	if !l.refuses.Load() {
		return l.Journal.Append(ctx, name, drafts)
	}
	out := make([]journal.Result, len(drafts))
	for i := range out {
		out[i].Err = journal.ErrUnavailable
	}
	return out
}

// saveSnapshots stores the states of the open spaces, as at the end of a gateway.
func (r *room) saveSnapshots() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r.hub.SaveSnapshots(ctx, time.Hour)
}

// A space is opened from its snapshot and the entries after it, with all rights.
func TestOpen_FromSnapshot(t *testing.T) {
	log := &readLog{Journal: journal.NewMemory(journal.MemoryOptions{})}
	who := rights{"alice": {"*"}, "bob": {"chat"}}
	start := func() *room { return open(t, who, func(s *space.Services) { s.Journal = log }) }
	r := start()
	for i := range 300 {
		r.must("alice", fmt.Sprintf(`{"id": "g%d", "kind": "capability.grant", "payload": {"recipient": "bob", "capabilities": ["x.tool%d"]}}`, i, i))
		if i >= 10 {
			r.must("alice", fmt.Sprintf(`{"kind": "capability.revoke", "payload": {"recipient": "bob", "grant_id": "g%d"}}`, i))
		}
	}
	r.saveSnapshots()
	r.must("alice", `{"kind": "capability.revoke", "payload": {"recipient": "bob", "grant_id": "g9"}}`)
	log.state.Store(0)
	r = start()
	if n := log.state.Load(); n != 2 { // the last one of the snapshot again
		t.Errorf("%d state entries were read, want 2", n)
	}
	for kind, want := range map[string]protocol.Code{"x.tool1": "", "x.tool9": protocol.CodeCapabilityViolation, "x.tool77": protocol.CodeCapabilityViolation} {
		if o := r.say("bob", `{"kind": "`+kind+`"}`)[0]; code(o.Err) != want {
			t.Errorf("%s: %v", kind, o.Err)
		}
	}
}

// The log that takes the place of another one has no snapshot of it.
func TestOpen_ReplacedLogHasNoSnapshot(t *testing.T) {
	r, log := openSwapped(t)
	r.must("alice", `{"kind": "space.kick", "payload": {"participant_id": "bob"}}`)
	r.saveSnapshots()
	log.replace()
	again, err := r.hub.Space(t.Context(), "lab")
	if err != nil {
		t.Fatal(err)
	}
	if again.Kicked("bob") {
		t.Error("a kick in the former log has an effect")
	}
}

// A guest is recorded when it comes the first time, and again after a third of the time
// after which it would be forgotten, while it is connected or after a request. A known
// guest does not wait for the log.
func TestJoin_GuestIsRecordedAgain(t *testing.T) {
	log := &readLog{Journal: journal.NewMemory(journal.MemoryOptions{})}
	var now atomic.Int64 // nanoseconds; also read by connections
	now.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	pass := func(d time.Duration) { now.Add(int64(d)) }
	cfg := rights{"alice": {"*"}}.config(t)
	cfg.Guests = &authority.ParticipantConfig{}
	r := openWith(t, cfg, func(s *space.Services) {
		s.Journal, s.Clock = log, func() time.Time { return time.Unix(0, now.Load()) }
	})
	records := func() (n int) {
		for e, err := range log.Range(t.Context(), "lab", journal.Query{StateOnly: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Envelope.Kind == authority.KindSystemMember {
				n++
			}
		}
		return n
	}
	visit := func(after time.Duration, want int) {
		t.Helper()
		pass(after)
		m, refused := r.tryJoin(space.JoinOptions{ID: "gina"})
		if refused != nil {
			t.Fatal(refused)
		}
		m.leave()
		if n := records(); n != want {
			t.Errorf("%d records, want %d", n, want)
		}
	}
	visit(0, 1)
	round := func(want int) {
		t.Helper()
		r.hub.RecordGuests(t.Context())
		if n := records(); n != want {
			t.Errorf("%d records after a round, want %d", n, want)
		}
	}
	visit(authority.GuestAge/3-1, 1)
	round(1)
	visit(1, 1)
	round(2)
	round(2)
	pass(authority.GuestAge / 3)
	if o := r.say("gina", chat("request"))[0]; code(o.Err) != protocol.CodeCapabilityViolation {
		t.Error(o.Err)
	}
	round(3)
	stays := r.join(space.JoinOptions{ID: "gina"})
	pass(authority.GuestAge / 3)
	log.refuses.Store(true)
	round(3)
	visit(0, 3)
	log.refuses.Store(false)
	round(4)
	for range 6 { // it stays connected for longer than a guest is known
		pass(authority.GuestAge / 3)
		r.hub.RecordGuests(t.Context())
	}
	r.must("alice", `{"kind": "participant.resume", "to": ["alice"]}`) // the clock of the log
	r.must("alice", `{"kind": "chat", "to": ["gina"], "payload": {"message": "x"}}`)
	stays.leave()
	pass(authority.GuestAge / 3)
	log.refuses.Store(true)
	visit(0, 10)
	if _, refused := r.tryJoin(space.JoinOptions{ID: "new"}); code(refused) != protocol.CodeUnavailable {
		t.Errorf("a new guest: %v", refused)
	}
	log.refuses.Store(false)
	pass(authority.GuestAge)
	r.must("alice", `{"kind": "participant.resume", "to": ["alice"]}`) // the clock of the log
	if o := r.say("alice", `{"kind": "chat", "to": ["gina"], "payload": {"message": "x"}}`)[0]; code(o.Err) != protocol.CodeUnknownParticipant {
		t.Errorf("to a guest that was forgotten: %v", o.Err)
	}
	visit(0, 11)
	r.must("alice", `{"kind": "chat", "to": ["gina"], "payload": {"message": "x"}}`)
}

// A space whose state cannot be read is not opened, and is tried again.
func TestOpen_SnapshotUnavailable(t *testing.T) {
	log := &unreadableSnapshot{Journal: journal.NewMemory(journal.MemoryOptions{})}
	hub := space.NewHub(space.Services{Journal: log, NewID: ids(), NewToken: tokens()}, func(string) (*authority.Config, bool) {
		return rights{"alice": {"*"}}.config(t), true
	})
	log.fails.Store(true)
	if _, err := hub.Space(t.Context(), "lab"); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("opened: %v", err)
	}
	log.fails.Store(false)
	if _, err := hub.Space(t.Context(), "lab"); err != nil {
		t.Error(err)
	}
}

type unreadableSnapshot struct {
	journal.Journal
	fails atomic.Bool
}

func (l *unreadableSnapshot) Snapshot(name string) (journal.Snapshot, error) {
	if l.fails.Load() {
		return journal.Snapshot{}, journal.ErrUnavailable
	}
	return l.Journal.Snapshot(name)
}

func (l *unreadableSnapshot) SaveSnapshot(name string, s journal.Snapshot) error {
	if l.fails.Load() {
		return journal.ErrUnavailable
	}
	return l.Journal.SaveSnapshot(name, s)
}

// A state that cannot be stored is reported once.
func TestSaveSnapshots_Unavailable(t *testing.T) {
	log := &unreadableSnapshot{Journal: journal.NewMemory(journal.MemoryOptions{})}
	var out bytes.Buffer
	r := open(t, rights{"alice": {"*"}}, func(s *space.Services) {
		s.Journal, s.Logger = log, slog.New(slog.NewTextHandler(&out, nil))
	})
	r.must("alice", `{"kind": "participant.resume", "to": ["alice"]}`)
	log.fails.Store(true)
	for range 3 {
		r.saveSnapshots()
	}
	if n := strings.Count(out.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, out.String())
	}
}
