package authority

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// countedLog counts the entries that are read.
type countedLog struct {
	journal.Journal
	read int
}

func (l *countedLog) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(yield func(*journal.Entry, error) bool) {
		for e, err := range l.Journal.Range(ctx, space, q) {
			l.read++
			if !yield(e, err) {
				return
			}
		}
	}
}

func newCountedLog() *countedLog {
	return &countedLog{Journal: journal.NewMemory(journal.MemoryOptions{})}
}

// later is after the times of all entries.
var later = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

type fataler interface{ Fatal(args ...any) }

func (l *countedLog) add(t fataler, entries ...*journal.Entry) {
	var last protocol.Seq
	for e, err := range l.Journal.Range(context.Background(), "lab", journal.Query{StateOnly: true, Backwards: true, Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		last = e.Envelope.Seq
	}
	for _, e := range entries {
		d := *e
		d.CheckedAtStateSeq = last
		r := l.Append(context.Background(), "lab", []journal.Draft{d})[0]
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		last = r.Seq
	}
}

// load loads the state and returns what was logged about it.
func (l *countedLog) load(t fataler, cfg *Config) (*State, *Stored, string) {
	var out bytes.Buffer
	l.read = 0
	st, stored, err := Load(context.Background(), l, "lab", cfg, slog.New(slog.NewTextHandler(&out, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return st, stored, out.String()
}

// fold folds the whole log.
func (l *countedLog) fold(t fataler, cfg *Config) *State {
	st := NewState(cfg)
	for e, err := range l.Journal.Range(context.Background(), "lab", journal.Query{StateOnly: true}) {
		if err != nil {
			t.Fatal(err)
		}
		_ = st.Fold(e) // an entry that cannot be read has no effect
	}
	return st
}

// wantSame compares two states: what they store, and what they decide.
func wantSame(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, got, want *State, now time.Time) {
	t.Helper()
	if now.Before(want.clock) {
		now = want.clock // of what has expired by it, a snapshot has nothing
	}
	if a, b := got.encode("log", later), want.encode("log", later); !bytes.Equal(a, b) {
		t.Fatalf("the state is\n%q\nwant\n%q", a, b)
	}
	if a, b := describe(got), describe(want); a != b {
		t.Fatalf("the ledger has\n%s\nwant\n%s", a, b)
	}
	for _, id := range drawnIDs {
		if a, b := got.Member(id), want.Member(id); a.Origin != b.Origin || a.Inviter != b.Inviter || a.At != b.At {
			t.Fatalf("%s is %+v, want %+v", id, a, b)
		}
		if got.IsKicked(id) != want.IsKicked(id) || got.IsPaused(id, now) != want.IsPaused(id, now) || !got.SameRights(now, id, want, now) {
			t.Fatalf("%s is not kicked or paused as before, or may do something else: %s, want %s", id, got.Ledger.Display(id, now), want.Ledger.Display(id, now))
		}
	}
	for hash, i := range want.invitations.All() {
		if j, ok := got.Invitation([32]byte([]byte(hash))); ok && j != i || !ok && (i.Expires.IsZero() || now.Before(i.Expires)) {
			t.Fatalf("invitation %+v, %v, want %+v", j, ok, i)
		}
	}
	if got.invitations.Len() > want.invitations.Len() {
		t.Fatalf("%d invitations, want %d", got.invitations.Len(), want.invitations.Len())
	}
}

// describe lists the content of a state's ledger, not by its encoding.
func describe(st *State) string {
	var out strings.Builder
	fmt.Fprintln(&out, st.Seq, st.folded, st.last, st.clock)
	fmt.Fprintln(&out, st.Ledger.Position())
	for id, h := range st.Ledger.Holdings() {
		fmt.Fprintln(&out, id, h.Invited, h.Revoked)
		for _, g := range h.Grants {
			fmt.Fprintln(&out, g.Position, g.ID, g.Grantor, g.Recipient, g.Capabilities, g.At, g.ExpiresAt, g.Reason, g.Invitation)
		}
	}
	fmt.Fprintln(&out, st.Directory.Encode())
	return out.String()
}

var drawnIDs = []protocol.ParticipantID{"alice", "bob", "carol", "dora", "invited:erin"}

// drawEntry draws a state entry that was admitted or that cannot be read.
func drawEntry(t *rapid.T, l *stateLog) *journal.Entry {
	l.at = l.at.Add(rapid.SampledFrom([]time.Duration{0, 0, time.Second, time.Minute, 40 * 24 * time.Hour, -time.Second}).Draw(t, "passes"))
	id := func(name string) string { return string(rapid.SampledFrom(drawnIDs).Draw(t, name)) }
	ttl := rapid.SampledFrom([]string{"", `,"ttl_seconds":1`, `,"ttl_seconds":90`, `,"ttl_seconds":5000000.25`}).Draw(t, "ttl")
	rights := rapid.SampledFrom([]string{`"*"`, `"chat"`, `"mcp.*",{"kind":"mcp.request","payload":{"params":{"name":"/^rm/"}},"deny":true}`, `{ "kind": "x.tool", "to": "bob" }`, `"observe"`}).Draw(t, "rights")
	var e *journal.Entry
	switch rapid.IntRange(0, 12).Draw(t, "kind") {
	case 10:
		e = l.add(protocol.KindAdminParticipantPut, `{"space":"team","participant_id":"`+id("who")+`","capabilities":[`+rights+`]}`)
	case 11:
		e = l.add(protocol.KindAdminTokenIssue, `{"space":"team","participant_id":"`+id("who")+`","token_sha256":"`+fmt.Sprintf("%064x", rapid.IntRange(1, 5).Draw(t, "token"))+`"`+ttl+`}`)
	case 12:
		e = l.add(protocol.KindAdminSpaceRemove, `{"space":"team"}`)
	case 0, 1:
		e = l.add(protocol.KindSpaceInvite, `{"participant_id":"`+id("who")+`","initial_capabilities":[`+rights+`]`+ttl+`}`)
		if rapid.IntRange(0, 3).Draw(t, "no token") == 0 {
			e.Private = nil
		}
	case 2, 3:
		e = l.add(protocol.KindCapabilityGrant, `{"recipient":"`+id("who")+`","capabilities":[`+rights+`],"reason":"r"`+ttl+`}`)
	case 4:
		e = l.add(protocol.KindCapabilityRevoke, `{"recipient":"`+id("who")+`","capabilities":[`+strings.Split(rights, ",")[0]+`]}`)
	case 5:
		e = l.add(protocol.KindCapabilityRevoke, `{"recipient":"`+id("who")+`","grant_id":"e`+fmt.Sprint(rapid.IntRange(1, len(l.entries)+1).Draw(t, "grant"))+`"}`)
	case 6:
		e = l.add(protocol.KindSpaceKick, `{"participant_id":"`+id("who")+`"}`)
	case 7:
		e = l.add(protocol.KindParticipantPause, rapid.SampledFrom([]string{`{}`, `{"timeout_seconds":30}`}).Draw(t, "pause"), protocol.ParticipantID(id("who")))
	case 8:
		e = l.add(protocol.KindParticipantResume, `{}`, protocol.ParticipantID(id("who")))
	default:
		e = l.add(KindSystemMember, `{"participant_id":"`+id("who")+`"}`)
	}
	e.Envelope.From = rapid.SampledFrom(drawnIDs[:3]).Draw(t, "from")
	return e
}

// A state that is loaded at any point, after any snapshots, equals the fold of the whole
// log, also if later snapshots were lost.
func TestLoad_AgreesWithFold(t *testing.T) {
	resumed := 0
	rapid.Check(t, func(rt *rapid.T) {
		l := newStateLog(t)
		guests := ParticipantConfig{}
		l.cfg.Guests = &guests
		log := newCountedLog()
		st, stored, _ := log.load(rt, l.cfg)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0:
				if err := stored.Save(st, l.at); err != nil {
					rt.Fatal(err)
				}
			case 1: // a crash, or a restart
				var reason string
				st, stored, reason = log.load(rt, l.cfg)
				if strings.Contains(reason, "snapshot") {
					rt.Fatal(reason)
				}
				if stored.folded > 0 {
					resumed++
				}
				wantSame(rt, st, log.fold(rt, l.cfg), l.at)
			default:
				e := drawEntry(rt, l)
				if rapid.IntRange(0, 9).Draw(rt, "clock") == 0 { // of another gateway, ahead for once
					e.Envelope.TS = e.Envelope.TS.Add(2 * GuestAge)
				}
				log.add(rt, e)
				for e, err := range log.Range(context.Background(), "lab", journal.Query{After: st.Seq}) {
					if err != nil {
						rt.Fatal(err)
					}
					st, _ = st.Apply(e)
				}
			}
		}
		wantSame(rt, st, log.fold(rt, l.cfg), l.at)
	})
	if resumed < 50 {
		t.Errorf("%d states were resumed from a snapshot", resumed)
	}
}

func TestLoad_ReadsOnlyTheTail(t *testing.T) {
	l, log := newStateLog(t), newCountedLog()
	l.mixed(2000)
	log.add(t, l.entries...)
	st, stored, _ := log.load(t, l.cfg)
	if log.read != 2000 {
		t.Errorf("%d entries were read without a snapshot", log.read)
	}
	if err := stored.Save(st, later); err != nil {
		t.Fatal(err)
	}
	tail := l.entries[len(l.entries):]
	for i := range 5 {
		tail = append(tail, l.invite(10_000+i))
	}
	log.add(t, tail...)
	st, stored, _ = log.load(t, l.cfg)
	if log.read != 6 { // the last one of the snapshot again
		t.Errorf("%d entries were read, want 6", log.read)
	}
	wantSame(t, st, log.fold(t, l.cfg), l.at)
	if err := stored.Save(st, later); err != nil { // 5 entries are not worth it
		t.Fatal(err)
	}
	if log.load(t, l.cfg); log.read != 6 {
		t.Errorf("%d entries were read, want 6: a few entries cost a snapshot of 2,000", log.read)
	}
}

func TestLoad_UnusableSnapshot(t *testing.T) {
	l := newStateLog(t)
	l.mixed(40)
	other := newStateLog(t)
	other.mixed(40)
	for _, e := range other.entries {
		e.Envelope.ID += "x"
	}
	for name, test := range map[string]struct {
		change func(st *State, data []byte, logID string) []byte
		reason string
	}{
		"another version": {func(_ *State, data []byte, _ string) []byte { data[0]++; return data }, "version"},
		"no header":       {func(*State, []byte, string) []byte { return []byte{snapshotVersion} }, "version"},
		"damaged":         {func(_ *State, data []byte, _ string) []byte { data[len(data)/2] ^= 1; return data }, "damaged"},
		"cut":             {func(_ *State, data []byte, _ string) []byte { return data[:len(data)-3] }, "damaged"},
		"cut, with its checksum": {func(_ *State, data []byte, _ string) []byte {
			return withChecksum(data[:len(data)-3])
		}, "damaged"},
		"longer, with its checksum": {func(_ *State, data []byte, _ string) []byte {
			return withChecksum(append(data, 0))
		}, "damaged"},
		"another log": {func(st *State, _ []byte, _ string) []byte { return st.encode("another", later) }, "another log"},
		"ahead of the log": {func(st *State, _ []byte, logID string) []byte {
			next, err := st.Apply(l.add(protocol.KindSpaceKick, `{"participant_id":"guest-1"}`))
			if err != nil {
				t.Fatal(err)
			}
			l.entries = l.entries[:len(l.entries)-1]
			return next.encode(logID, later)
		}, "has no state entry"},
		"other entries": {func(_ *State, _ []byte, logID string) []byte { return other.fold().encode(logID, later) }, "has no state entry"},
	} {
		t.Run(name, func(t *testing.T) {
			log := newCountedLog()
			log.add(t, l.entries...)
			logID, err := log.LogID(t.Context(), "lab")
			if err != nil {
				t.Fatal(err)
			}
			st := log.fold(t, l.cfg)
			data := test.change(st, st.encode(logID, later), logID)
			if err := log.SaveSnapshot("lab", journal.Snapshot{Data: data}); err != nil {
				t.Fatal(err)
			}
			got, stored, reason := log.load(t, l.cfg)
			if !strings.Contains(reason, test.reason) {
				t.Errorf("logged %q, want %q", reason, test.reason)
			}
			wantSame(t, got, st, l.at)
			if err := stored.Save(got, later); err != nil {
				t.Fatal(err)
			}
			got, _, reason = log.load(t, l.cfg)
			if reason != "" || log.read != 1 {
				t.Errorf("logged %q and read %d entries after another snapshot", reason, log.read)
			}
			wantSame(t, got, st, l.at)
		})
	}
}

func withChecksum(data []byte) []byte {
	binary.LittleEndian.PutUint32(data[1:], crc32.Checksum(data[snapshotHeader:], castagnoli))
	return data
}

// failing is a log whose parts can fail. It counts the snapshots that it is to store.
type failing struct {
	journal.Journal
	err, rangeErr error
	saves         int
}

func (l *failing) Snapshot(space string) (journal.Snapshot, error) {
	if l.err != nil {
		return journal.Snapshot{}, l.err
	}
	return l.Journal.Snapshot(space)
}

func (l *failing) SaveSnapshot(space string, s journal.Snapshot) error {
	l.saves++
	if l.err != nil {
		return l.err
	}
	return l.Journal.SaveSnapshot(space, s)
}

func (l *failing) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	if l.rangeErr != nil {
		return func(yield func(*journal.Entry, error) bool) { yield(nil, l.rangeErr) }
	}
	return l.Journal.Range(ctx, space, q)
}

func TestLoad_LogUnavailable(t *testing.T) {
	l, counted := newStateLog(t), newCountedLog()
	l.mixed(40)
	counted.add(t, l.entries...)
	log := &failing{Journal: counted}
	load := func() (*State, *Stored, error) {
		return Load(t.Context(), log, "lab", l.cfg, slog.New(slog.DiscardHandler))
	}
	st, stored, err := load()
	if err != nil {
		t.Fatal(err)
	}
	log.err = journal.ErrUnavailable
	if err := stored.Save(st, later); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("Save: %v", err)
	}
	if _, _, err := load(); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("Load without the snapshot: %v", err)
	}
	log.err = nil
	if err := stored.Save(st, later); err != nil { // what failed is tried again
		t.Fatal(err)
	}
	log.rangeErr = journal.ErrUnavailable // a reason to wait, not to drop the snapshot
	if _, _, err := load(); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("Load without entries: %v", err)
	}
}

// Obsolete entries leave nothing: the snapshot after many is as large as after few.
func TestSnapshot_CompactsObsoleteEntries(t *testing.T) {
	size := func(n int) (all, members int) {
		l := newStateLog(t)
		for i := range n {
			g := l.add(protocol.KindCapabilityGrant, `{"recipient":"bob","capabilities":["x.a"]}`)
			l.add(protocol.KindCapabilityRevoke, `{"recipient":"bob","grant_id":"`+string(g.Envelope.ID)+`"}`)
			l.add(protocol.KindCapabilityGrant, `{"recipient":"carol","capabilities":["x.b"],"ttl_seconds":1}`)
			l.add(protocol.KindCapabilityRevoke, `{"recipient":"carol","capabilities":["x.b"]}`)
			l.add(protocol.KindSpaceInvite, `{"participant_id":"dora","initial_capabilities":["chat"],"ttl_seconds":1}`)
			l.add(protocol.KindParticipantPause, `{"timeout_seconds":1}`, protocol.ParticipantID("erin"))
			l.add(KindSystemMember, fmt.Sprintf(`{"participant_id":"g%d"}`, i))
			l.at = l.at.Add(time.Minute)
		}
		l.at = l.at.Add(GuestAge)
		l.invite(1)
		st := l.fold()
		restored, err := restore(st.encode("log", later), "log", l.cfg)
		if err != nil {
			t.Fatal(err)
		}
		return len(st.encode("log", later)), restored.size()
	}
	few, _ := size(10)
	many, members := size(1000)
	if many > few+20 || members > 5 { // numbers are longer
		t.Errorf("the snapshot has %d bytes after 70 obsolete entries, and %d bytes and %d elements after 7,000", few, many, members)
	}
}

// The state of a fixed log. If it changes, snapshotVersion has to change.
func TestSnapshot_Version(t *testing.T) {
	l := newStateLog(t)
	l.mixed(100)
	l.add(KindSystemMember, `{"participant_id":"g1"}`)
	l.add(protocol.KindSpaceInvite, `{"participant_id":"brief","ttl_seconds":60}`)
	l.add(protocol.KindParticipantPause, `{"timeout_seconds":30}`, "g1")
	l.add(protocol.KindCapabilityGrant, `{"recipient":"g1","capabilities":["x.tool"]}`)
	l.at = l.at.Add(GuestAge)
	l.add(KindSystemMember, `{"participant_id":"g2"}`)
	l.add(protocol.KindAdminSpacePut, `{"space":"team","visibility":"everyone","limits":{"rate":5}}`)
	l.add(protocol.KindAdminParticipantPut, `{"space":"team","participant_id":"dora","capabilities":["chat"]}`)
	l.add(protocol.KindAdminTokenIssue, `{"space":"team","participant_id":"dora","token_sha256":"`+strings.Repeat("ab", 32)+`","ttl_seconds":60}`)
	l.add(protocol.KindAdminTokenRevoke, `{"space":"team","participant_id":"dora","all":true}`)
	l.add(protocol.KindReviewerPromote, `{"participant_id":"rev","reason":"so"}`)
	l.add(protocol.KindReviewerDemote, `{"participant_id":"other"}`)
	l.add(protocol.KindBudgetExtend, `{"participant_id":"a","cost":1.5,"currency":"USD","tokens":1000}`)
	l.add(protocol.KindClaim, `{"paths":["/r/a","/r/b"],"names":["x"],"ttl_seconds":60,"reason":"y"}`)
	l.add(protocol.KindRelease, `{"paths":["/r/b"]}`)
	sum := sha256.Sum256(l.fold().encode("log", later))
	if got := hex.EncodeToString(sum[:8]); snapshotVersion != 5 || got != "c2871102279c5a69" {
		t.Errorf("version %d has the digest %s: change the version if another state is derived from the same log, and then this test", snapshotVersion, got)
	}
}

// A snapshot has the modes of reviewers, with the entry that was promoted.
func TestSnapshot_Modes(t *testing.T) {
	l := newStateLog(t)
	for _, id := range []protocol.ParticipantID{"rev", "stale", "down"} {
		l.cfg.Deciders.Reviewers = append(l.cfg.Deciders.Reviewers, Reviewer{ID: id, Decisions: 5})
	}
	promoted := func(id protocol.ParticipantID, entry string) {
		e := l.add(protocol.KindReviewerPromote, `{"participant_id":"`+string(id)+`","reason":"`+strings.Repeat("so ", 200)+`"}`)
		e.Private = (&ring.Spelling{}).Note(nil, &ring.Reason{Reviewer: entry})
	}
	promoted("rev", l.cfg.Deciders.Reviewers[0].Entry())
	promoted("stale", l.cfg.Deciders.Reviewers[0].Entry())
	promoted("down", l.cfg.Deciders.Reviewers[2].Entry())
	l.add(protocol.KindReviewerDemote, `{"participant_id":"down"}`).Envelope.Correlation = protocol.CorrelateTo("d1")
	st := l.fold()
	restored, err := restore(st.encode("log", later), "log", l.cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []protocol.ParticipantID{"rev", "stale", "down", "none"} {
		on, last := st.Mode(id)
		again, same := restored.Mode(id)
		if last != nil && same.At.Equal(last.At) {
			same.At = last.At // in the same location
		}
		if on != (id == "rev") || again != on || (last == nil) != (id == "none") || last != nil && (*last != *same || len(last.Reason) > 300) {
			t.Errorf("%s: %t %+v, restored %t %+v", id, on, last, again, same)
		}
	}
	if _, last := restored.Mode("down"); last.Undone != "d1" || last.Decides {
		t.Errorf("%+v", last)
	}
	if got := fmt.Sprint(restored.EndedPromotions()); got != "[stale]" {
		t.Error(got)
	}
}

func FuzzRestore(f *testing.F) {
	l := newStateLog(f)
	l.mixed(60)
	l.add(KindSystemMember, `{"participant_id":"g1"}`)
	f.Add(l.fold().encode("log", later)[snapshotHeader:])
	f.Add(NewState(l.cfg).encode("log", later)[snapshotHeader:])
	f.Fuzz(func(t *testing.T, body []byte) {
		data := withChecksum(append([]byte{snapshotVersion, 0, 0, 0, 0}, body...))
		st, err := restore(data, "log", l.cfg)
		if err != nil {
			return
		}
		again := st.encode("log", later)
		st, err = restore(again, "log", l.cfg)
		if err != nil || !bytes.Equal(st.encode("log", later), again) {
			t.Errorf("%q became %q, %v", body, again, err)
		}
	})
}

func BenchmarkRestore(b *testing.B) {
	for _, test := range []struct {
		name string
		add  func(l *stateLog, i int)
	}{
		{"grants", func(l *stateLog, i int) {
			l.add(protocol.KindCapabilityGrant, fmt.Sprintf(`{"recipient":"p%d","capabilities":["x.tool%d"]}`, i, i))
		}},
		{"invited", func(l *stateLog, i int) { l.invite(i) }},
		{"past invited", func(l *stateLog, i int) {
			l.add(protocol.KindSpaceInvite, fmt.Sprintf(`{"participant_id":"guest-%d","initial_capabilities":["chat"],"ttl_seconds":1}`, i))
			l.at = l.at.Add(time.Minute)
		}},
	} {
		b.Run(test.name, func(b *testing.B) {
			l := newStateLog(b)
			for i := range 100_000 {
				test.add(l, i)
			}
			data := l.fold().encode("log", later)
			b.ReportMetric(float64(len(data))/1000, "kB")
			began := testkit.CPUTime(b)
			for b.Loop() {
				if _, err := restore(data, "log", l.cfg); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((testkit.CPUTime(b)-began).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}
