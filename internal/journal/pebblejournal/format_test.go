package pebblejournal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/entrydb"
	"github.com/meup-protocol/meup/internal/testkit"
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
	b.SetMeta(formatKey, []byte("3"))
	if err := errors.Join(b.Commit(true), db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Dir: dir}, {Dir: dir, AcceptLoss: true}, {Dir: dir, Restored: true}} {
		j, err := Open(o)
		if err == nil {
			j.Close()
		}
		if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "format 3, this build reads up to 2") || !strings.Contains(err.Error(), dir) {
			t.Errorf("%+v: %v, want that a newer meup wrote it, both formats and the folder", o, err)
		}
	}
	if s, err := OpenStored(dir, nil); !errors.Is(err, ErrNewer) {
		if err == nil {
			s.Close()
		}
		t.Errorf("a backup: %v, want that a newer meup wrote it", err)
	}
}
