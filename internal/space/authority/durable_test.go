package authority

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/memory"
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

// After a power cut, of whatever was not synced, the snapshot is one of the log that is
// left.
func TestLoad_PowerCut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l, fs := newStateLog(t), vfs.NewCrashableMem()
		log := openPebble(rt, fs)
		defer func() { _ = log.Close() }()
		st, stored, _ := log.load(rt, l.cfg)
		for range rapid.IntRange(1, 3).Draw(rt, "lives") {
			for range rapid.IntRange(1, 12).Draw(rt, "entries") {
				log.add(rt, drawEntry(rt, l))
				for e, err := range log.Range(context.Background(), "lab", journal.Query{After: st.Seq}) {
					if err != nil {
						rt.Fatal(err)
					}
					st, _ = st.Apply(e)
				}
				if rapid.Bool().Draw(rt, "save") {
					if err := stored.Save(st); err != nil {
						rt.Fatal(err)
					}
				}
			}
			fs = fs.CrashClone(vfs.CrashCloneCfg{
				UnsyncedDataPercent: rapid.SampledFrom([]int{0, 50, 100}).Draw(rt, "unsynced"), RNG: rand.New(rand.NewPCG(1, 1)),
			})
			_ = log.Close()
			log = openPebble(rt, fs)
			var reason string
			if st, stored, reason = log.load(rt, l.cfg); strings.Contains(reason, "snapshot") {
				rt.Fatal(reason)
			}
			wantSame(rt, st, log.fold(rt, l.cfg), l.at)
		}
	})
}

// Retention drops everything but state entries, so what they gave holds, and they can
// still be read after a snapshot has made them needless.
func TestLoad_Retention(t *testing.T) {
	l := newStateLog(t)
	l.mixed(40)
	log := &countedLog{Journal: memory.New(memory.Options{Retention: journal.Retention{Bytes: 1}})}
	log.add(t, l.entries...)
	st, stored, _ := log.load(t, l.cfg)
	if err := stored.Save(st); err != nil {
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
		if err := x.Load(t.Context(), log, slog.New(slog.DiscardHandler)); err != nil || !x.Loaded() {
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
