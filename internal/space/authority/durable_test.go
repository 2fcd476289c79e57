package authority

import (
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/pebblejournal"
	"github.com/meup-protocol/meup/protocol"
)

func openPebble(t fataler, fs vfs.FS) *countedLog {
	j, err := pebblejournal.Open(pebblejournal.Options{Dir: "log", FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	return &countedLog{Journal: j}
}

// After a power cut that loses all unsynced data, the snapshot belongs to the log that
// is left.
func TestLoad_PowerCut(t *testing.T) {
	resumed := 0
	for seed := range 8 {
		random := rand.New(rand.NewPCG(uint64(seed), 1))
		l, fs := newStateLog(t), vfs.NewCrashableMem()
		rapid.Custom(func(rt *rapid.T) *journal.Entry {
			for range 40 {
				drawEntry(rt, l)
			}
			return nil
		}).Example(seed)
		log := openPebble(t, fs)
		st, stored, _ := log.load(t, l.cfg)
		for i, e := range l.entries {
			log.add(t, e)
			for e, err := range log.Range(t.Context(), "lab", journal.Query{After: st.Seq}) {
				if err != nil {
					t.Fatal(err)
				}
				st, _ = st.Apply(e)
			}
			if random.IntN(3) == 0 {
				if err := stored.Save(st, later); err != nil {
					t.Fatal(err)
				}
			}
			if i%10 != 9 {
				continue
			}
			fs = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[random.IntN(3)], RNG: random})
			_ = log.Close()
			log = openPebble(t, fs)
			var reason string
			st, stored, reason = log.load(t, l.cfg)
			if strings.Contains(reason, "snapshot") {
				t.Fatal(reason)
			}
			if stored.folded > 0 {
				resumed++
			}
			wantSame(t, st, log.fold(t, l.cfg), l.at)
		}
		_ = log.Close()
	}
	if resumed < 4 {
		t.Errorf("%d states were resumed from a snapshot", resumed)
	}
}

// Retention drops everything but state entries, so what they gave holds, and they can
// still be read after a snapshot has made them needless.
func TestLoad_Retention(t *testing.T) {
	l := newStateLog(t)
	l.mixed(40)
	log := &countedLog{Journal: journal.NewMemory(journal.MemoryOptions{Retention: journal.Retention{Bytes: 1}})}
	log.add(t, l.entries...)
	st, stored, _ := log.load(t, l.cfg)
	if err := stored.Save(st, later); err != nil {
		t.Fatal(err)
	}
	chat := journal.Draft{CheckedAtStateSeq: st.Seq, Envelope: protocol.Envelope{ID: "c", From: "alice", TS: l.at, Kind: protocol.KindChat, Payload: []byte(`{"message":"x"}`)}}
	if r := log.Append(t.Context(), "lab", []journal.Draft{chat})[0]; r.Err != nil {
		t.Fatal(r.Err)
	}
	if oldest, newest, err := log.Bounds(t.Context(), "lab"); err != nil || oldest <= newest {
		t.Fatalf("the log begins at %d and ends at %d, %v", oldest, newest, err)
	}
	got, _, reason := log.load(t, l.cfg)
	if reason != "" || log.read != 1 {
		t.Errorf("read %d entries: %s", log.read, reason)
	}
	wantSame(t, got, st, l.at)
	for _, e := range l.entries {
		if _, err := log.Lookup(t.Context(), "lab", e.Envelope.ID); err != nil {
			t.Errorf("entry %s: %v", e.Envelope.ID, err)
		}
	}
}

// The tokens of invitations are found in snapshots and in what follows them, and
// loading them stores the snapshots of spaces that were never opened.
func TestInvitations_LoadFromSnapshots(t *testing.T) {
	l, log := newStateLog(t), newCountedLog()
	for i := range 100 {
		l.invite(i)
	}
	log.add(t, l.entries...)
	load := func() *Invitations {
		t.Helper()
		x := new(Invitations)
		log.read = 0
		if err := x.Load(t.Context(), log, later, slog.New(slog.DiscardHandler)); err != nil || !x.Loaded() {
			t.Fatal(err)
		}
		for n := 1; n <= len(l.entries); n++ {
			if space, _, ok, err := x.Lookup(hashOf(n)); space != "lab" || !ok || err != nil {
				t.Fatalf("invitation %d: %q, %v, %v", n, space, ok, err)
			}
		}
		return x
	}
	load()
	if load(); log.read != 1 {
		t.Errorf("%d entries were read the second time", log.read)
	}
	last := len(l.entries)
	l.invite(200)
	log.add(t, l.entries[last:]...)
	if load(); log.read != 2 {
		t.Errorf("%d entries were read after one more", log.read)
	}
}
