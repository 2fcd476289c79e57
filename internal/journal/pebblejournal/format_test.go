package pebblejournal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/entrydb"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// stored returns a copy of a folder of testdata.
func stored(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "log")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The folder format1 was written before entries named the proposal that they settle. It
// has five proposals; of these, one was fulfilled, one rejected (twice) and one withdrawn.
func TestOpen_Format1(t *testing.T) {
	dir := stored(t, "format1")
	for range 2 { // the second time it has today's format
		j := open(t, Options{Dir: dir})
		if n := len(read(t, j, "lab")); n < 12 {
			t.Errorf("%d entries, want the 12 that were written, or more", n)
		}
		for _, want := range []struct {
			proposal protocol.ID
			by       protocol.ParticipantID
			seq      protocol.Seq
		}{{"fulfilled", "alice", 7}, {"rejected", "alice", 8}, {"withdrawn", "claude", 9}} {
			again := newDraft("again-" + string(want.proposal))
			again.Settles = want.proposal
			r := j.Append(context.Background(), "lab", []journal.Draft{again})[0]
			var settled *journal.SettledError
			if !errors.As(r.Err, &settled) || settled.By != want.by || settled.Seq != want.seq {
				t.Errorf("a second decision on %s: %+v, want it settled by %s at %d", want.proposal, r, want.by, want.seq)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	j := open(t, Options{Dir: dir})
	defer j.Close()
	for _, id := range []protocol.ID{"pending", "other-call"} { // named only by envelopes that settle nothing
		first := newDraft("first-" + string(id))
		first.Settles = id
		if r := j.Append(context.Background(), "lab", []journal.Draft{first})[0]; r.Err != nil {
			t.Errorf("the first decision on %s: %v", id, r.Err)
		}
	}
}

// An upgrade reports how much of the log it has read.
func TestUpgrade_Reports(t *testing.T) {
	db, err := entrydb.Open(entrydb.Options{Dir: stored(t, "format1")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var log testkit.Log
	j := &Journal{db: db, log: slog.New(slog.NewTextHandler(&log, nil))}
	if err := j.upgrade(0); err != nil {
		t.Fatal(err)
	}
	if text := log.String(); !strings.Contains(text, "entries=12 of=12") {
		t.Errorf("want a report of 12 of 12 entries, got:\n%s", text)
	}
}

// An upgrade does not keep the proposals of a space in memory.
func TestUpgrade_Memory(t *testing.T) {
	const proposals, each = 500, 64 << 10
	dir := t.TempDir()
	db, err := entrydb.Open(entrydb.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	b := db.NewBatch()
	for seq := range protocol.Seq(proposals) {
		e := newDraft(fmt.Sprint("p-", seq))
		e.Envelope.Seq, e.Envelope.Kind = seq+1, protocol.KindMCPProposal
		e.Audience = []protocol.ParticipantID{protocol.ParticipantID(strings.Repeat("a", each))} // decoded as one text with the id
		if err := errors.Join(b.Put("lab", &e), b.Commit(false)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db, err = entrydb.Open(entrydb.Options{Dir: dir, ReadOnly: true})
	if err != nil { // it writes nothing in the background
		t.Fatal(err)
	}
	defer db.Close()
	for _, err := range db.Range(t.Context(), "lab", journal.Query{}) { // fills the caches of the store
		if err != nil {
			t.Fatal(err)
		}
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	n, before, after := 0, heap(), uint64(0)
	if _, err := (&Journal{db: db}).settleAll(db.NewBatch(), "lab", func(protocol.Seq) {
		n++
		if n == proposals {
			after = heap()
		}
	}); err != nil {
		t.Fatal(err)
	}
	if n != proposals || after > before+proposals*each/2 {
		t.Errorf("%d bytes more after %d proposals of %d bytes, want less than half of their size", int64(after-before), n, each)
	}
}

// Retention drops the additions of an upgrade.
func TestOpen_Format1Dropped(t *testing.T) {
	j := open(t, Options{Dir: stored(t, "format1"), Retention: journal.Retention{Age: time.Hour}, RetentionEvery: time.Millisecond,
		Clock: func() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }})
	defer j.Close()
	testkit.Eventually(t, "nothing is left", func() bool { n, err := j.db.Size(); return n == 0 && err == nil })
	d := newDraft("first")
	d.Settles = "rejected"
	if r := j.Append(context.Background(), "lab", []journal.Draft{d})[0]; r.Err != nil {
		t.Errorf("the decision was dropped too: %v", r.Err)
	}
}

func TestOpen_NewerFormat(t *testing.T) {
	for _, newer := range []string{"3", "2.1"} {
		t.Run(newer, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "log")
			j := open(t, Options{Dir: dir})
			j.one("lab", "a")
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			db, err := entrydb.Open(entrydb.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			b := db.NewBatch()
			b.SetMeta(formatKey, []byte(newer))
			if err := errors.Join(b.Commit(true), db.Close()); err != nil {
				t.Fatal(err)
			}
			for _, o := range []Options{{Dir: dir}, {Dir: dir, AcceptLoss: true}, {Dir: dir, Restored: true}} {
				j, err := Open(o)
				if err == nil {
					j.Close()
				}
				if !errors.Is(err, entrydb.ErrNewer) || !strings.Contains(err.Error(), "format "+newer+", this build reads up to 2") || !strings.Contains(err.Error(), dir) {
					t.Errorf("%+v: %v, want that a newer meup wrote it, both formats and the folder", o, err)
				}
			}
			if s, err := OpenStored(dir, nil); !errors.Is(err, entrydb.ErrNewer) {
				if err == nil {
					s.Close()
				}
				t.Errorf("a backup: %v, want that a newer meup wrote it", err)
			}
		})
	}
}

// A folder of a later format of Pebble is refused too.
func TestOpen_NewerStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	if err := open(t, Options{Dir: dir}).Close(); err != nil {
		t.Fatal(err)
	}
	markers, err := filepath.Glob(filepath.Join(dir, "marker.format-version.*"))
	if err != nil || len(markers) != 1 {
		t.Fatalf("markers %v, %v, want one", markers, err)
	}
	if err := os.Rename(markers[0], filepath.Join(dir, "marker.format-version.000099.999")); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Dir: dir}, {Dir: dir, AcceptLoss: true}} {
		j, err := Open(o)
		if err == nil {
			j.Close()
		}
		if !errors.Is(err, entrydb.ErrNewer) || !strings.Contains(err.Error(), "nothing was changed") || !strings.Contains(err.Error(), dir) {
			t.Errorf("%+v: %v, want that a newer meup wrote it, and the folder", o, err)
		}
	}
}

// A folder whose store, or the file that names the store's files, is missing is not taken for a new one.
func TestOpen_StoreMissing(t *testing.T) {
	for name, test := range map[string]struct {
		left      []string // patterns of the files that are left
		mustExist bool
		want      string
	}{
		"nothing":     {nil, true, "the log is missing"},
		"lock":        {[]string{"LOCK"}, true, "the log is missing"},
		"mark":        {[]string{"LOCK", markFile}, false, "its store is missing, 1 entries are lost"},
		"no manifest": {[]string{"LOCK", markFile, "*.sst", "*.log", "marker.format*", "OPTIONS*"}, false, "its store is missing, 1 entries are lost"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "log")
			j := open(t, Options{Dir: dir})
			j.one("lab", "a")
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, pattern := range test.left {
				found, err := filepath.Glob(filepath.Join(dir, pattern))
				if err != nil || len(found) == 0 {
					t.Fatalf("%s: %v, %v", pattern, found, err)
				}
				left = append(left, found...)
			}
			list := func() (paths []string) {
				names, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range names {
					paths = append(paths, filepath.Join(dir, n.Name()))
				}
				return paths
			}
			for _, path := range list() {
				if !slices.Contains(left, path) {
					if err := os.Remove(path); err != nil {
						t.Fatal(err)
					}
				}
			}
			before := list()
			o := Options{Dir: dir, MustExist: test.mustExist}
			for range 2 {
				j, err := Open(o)
				if err == nil {
					j.Close()
				}
				if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "--accept-loss") {
					t.Errorf("%v, want %q, the folder and --accept-loss", err, test.want)
				}
			}
			if after := list(); !slices.Equal(after, before) {
				t.Errorf("the folder has %v, want %v", after, before)
			}
			o.AcceptLoss = true
			j = open(t, o)
			j.one("lab", "b")
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			o.AcceptLoss = false
			j = open(t, o)
			defer j.Close()
			// Pebble may find entries in a write-ahead log that is left.
			if list := read(t, j, "lab"); len(list) == 0 || list[len(list)-1].Envelope.ID != "b" {
				t.Errorf("the log has %v, want the entry that was written after the loss", list)
			}
		})
	}
}
