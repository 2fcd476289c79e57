package entrydb

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// A checkpoint has everything committed before it, and a prefix of the later commits.
func TestCheckpoint_DuringCommits(t *testing.T) {
	dir := t.TempDir()
	d := open(t, Options{Dir: filepath.Join(dir, "log")})
	var committed atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan error, 1)
	// The logs are recycled, so that most bytes of a new one are old.
	long := json.RawMessage(`{"message":"` + strings.Repeat("x", 500) + `"}`)
	go func() { // ends with stop
		b := d.NewBatch()
		for seq := protocol.Seq(1); ; seq++ {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			e := entry(seq, func(e *journal.Entry) { e.Envelope.Payload = long })
			if err := errors.Join(b.Put("lab", e), b.Commit(true)); err != nil {
				stopped <- err
				return
			}
			committed.Store(uint64(seq))
			if seq%200 == 0 {
				flush(d) // rotates the write-ahead log
			}
		}
	}()
	for i := range 10 {
		before := committed.Load()
		testkit.Eventually(t, "commits go on", func() bool { return committed.Load() >= before+50 || len(stopped) > 0 })
		before = committed.Load()
		to := filepath.Join(dir, fmt.Sprint("copy-", i))
		if err := d.Checkpoint(to); err != nil {
			t.Fatal(err)
		}
		after := committed.Load()
		copied, err := Open(Options{Dir: to, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		found := seqs(t, copied, "lab", journal.Query{})
		if n := uint64(len(found)); n < before || n > after+1 || found[n-1] != protocol.Seq(n) {
			t.Errorf("the copy has %d entries up to %d; %d were committed before it, %d after it", n, found[n-1], before, after)
		}
		if err := errors.Join(copied.Close(), os.RemoveAll(to)); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// Of a log that is being written, a checkpoint copies the bytes that are written when it
// opens the file, also if the file is recycled and has old bytes after that.
func TestFailStopFS_ReadsWrittenPartOfLiveWAL(t *testing.T) {
	fs := vfs.NewMem()
	if err := fs.MkdirAll("log", 0o700); err != nil {
		t.Fatal(err)
	}
	g := newFailStopFS(fs, "log/")
	old, err := g.Create("log/000004.log", "pebble-wal")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Write([]byte("the old content of the file")); err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	live, err := g.ReuseForWrite("log/000004.log", "log/000005.log", "pebble-wal")
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if _, err := live.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	readAll := func(f vfs.File) string {
		t.Helper()
		text, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	write("first ")
	f, err := g.Open("log/000005.log")
	if err != nil {
		t.Fatal(err)
	}
	write("second ")
	if got := readAll(f); got != "first " {
		t.Errorf("while it is written: %q", got)
	}
	if err := live.Close(); err != nil {
		t.Fatal(err)
	}
	f, err = g.Open("log/000005.log")
	if err != nil {
		t.Fatal(err)
	}
	if got := readAll(f); !strings.HasPrefix(got, "first second ") || len(got) != len("the old content of the file") {
		t.Errorf("afterwards: %q", got)
	}
}

// withoutLinks is a file system that has no hard links.
type withoutLinks struct{ vfs.FS }

func (withoutLinks) Link(string, string) error { return os.ErrPermission }

func TestCheckpoint_WithoutLinks(t *testing.T) {
	fs := withoutLinks{vfs.NewMem()}
	d := open(t, Options{Dir: "data/log", FS: fs})
	put(t, d, "lab", entry(1), entry(2))
	flush(d)
	if err := d.Checkpoint("data/copy"); err != nil {
		t.Fatal(err)
	}
	wantSeqs(t, open(t, Options{Dir: "data/copy", FS: fs, ReadOnly: true}), "lab", journal.Query{}, 1, 2)
}

// A checkpoint that cannot be written leaves nothing, and the database goes on.
func TestCheckpoint_FullDisk(t *testing.T) {
	bad, mem := new(faults), vfs.NewMem()
	d := open(t, Options{Dir: "data/log", FS: errorfs.Wrap(mem, bad)})
	put(t, d, "lab", entry(1))
	flush(d)
	for failing := int64(0); ; failing++ {
		after := afterWrites(failing, true)
		bad.fail(func(op errorfs.Op) bool { return strings.HasPrefix(op.Path, "data/copy") && after(op) })
		err := d.Checkpoint("data/copy")
		struck := bad.count() > 0
		bad.fail(nil)
		if d.Err() != nil {
			t.Fatalf("write %d: the database has failed: %v", failing, d.Err())
		}
		if !struck {
			if err != nil || failing < 5 {
				t.Errorf("after %d writes: %v", failing, err)
			}
			break
		}
		_, there := mem.Stat("data/copy")
		if err == nil { // some are optional
			if err := mem.RemoveAll("data/copy"); err != nil {
				t.Fatal(err)
			}
		} else if there == nil {
			t.Errorf("write %d: a part of the copy is left", failing)
		}
	}
	put(t, d, "lab", entry(2))
	wantSeqs(t, d, "lab", journal.Query{}, 1, 2)
}

func TestCheckpoint_FailedDatabase(t *testing.T) {
	bad, mem := new(faults), vfs.NewMem()
	d := open(t, Options{Dir: "data/log", FS: errorfs.Wrap(mem, bad)})
	put(t, d, "lab", entry(1))
	bad.fail(writes)
	b := d.NewBatch()
	if err := errors.Join(b.Put("lab", entry(2)), b.Commit(true)); err == nil {
		t.Fatal("the disk is full, and a commit succeeds")
	}
	bad.fail(nil)
	if err := d.Checkpoint("data/copy"); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if _, err := mem.Stat("data/copy"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the copy: %v", err)
	}
}

func TestOpen_ReadOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	d := open(t, Options{Dir: dir})
	put(t, d, "lab", entry(1))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	files := func() (list []string) {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprint(e.Name(), info.Size(), info.ModTime()))
		}
		return slices.DeleteFunc(list, func(s string) bool { return strings.HasPrefix(s, "LOCK") })
	}
	before := files()
	r := open(t, Options{Dir: dir, ReadOnly: true})
	wantSeqs(t, r, "lab", journal.Query{}, 1)
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrInUse) {
		t.Errorf("opened twice: %v", err)
	}
	if _, err := Lock(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("locked: %v", err)
	}
	b := r.NewBatch()
	if err := errors.Join(b.Put("lab", entry(2)), b.Commit(true)); err == nil {
		t.Error("a commit succeeds")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if after := files(); !slices.Equal(before, after) {
		t.Errorf("changed:\n%q\n%q", before, after)
	}
	if _, err := Open(Options{Dir: filepath.Join(dir, "missing"), ReadOnly: true}); err == nil {
		t.Error("a folder that does not exist is opened")
	}
	lock, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrInUse) {
		t.Errorf("opened while locked: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
}
