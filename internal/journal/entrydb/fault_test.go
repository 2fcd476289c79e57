package entrydb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// faults makes operations of a file system fail.
type faults struct {
	mu     sync.Mutex
	hit    func(errorfs.Op) bool // nil: healthy
	struck []errorfs.Op
}

func (f *faults) String() string { return "faults" }

func (f *faults) MaybeError(op errorfs.Op) error {
	f.mu.Lock()
	hit := f.hit
	f.mu.Unlock()
	if hit == nil || !hit(op) {
		return nil
	}
	f.mu.Lock()
	f.struck = append(f.struck, op)
	f.mu.Unlock()
	return syscall.ENOSPC
}

// fail makes these operations fail; nil makes none fail.
func (f *faults) fail(hit func(errorfs.Op) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hit, f.struck = hit, nil
}

func (f *faults) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.struck)
}

func writes(op errorfs.Op) bool { return op.Kind.ReadOrWrite() == errorfs.OpIsWrite }

// afterWrites lets n writing operations succeed; then it fails one, or all.
func afterWrites(n int64, once bool) func(errorfs.Op) bool {
	var seen atomic.Int64
	return func(op errorfs.Op) bool {
		if !writes(op) {
			return false
		}
		i := seen.Add(1) - 1
		return i == n || i > n && !once
	}
}

// flush makes Pebble rotate its log and write a table, which it does by itself
// only with more data than a test should write.
func flush(d *DB) {
	s, err := d.acquire()
	if err != nil {
		return
	}
	defer d.release(s)
	_ = s.pdb.Flush() // the failStopFS records the error
}

// history is the list of commit results: whether the batch with that number,
// two entries in two spaces, was acknowledged.
type history []bool

func (h *history) commit(d *DB) error {
	b := d.NewBatch()
	n := protocol.Seq(len(*h) + 1)
	for _, space := range []string{"a", "b"} {
		if err := b.Put(space, entry(n, within("x/y"))); err != nil {
			return err
		}
	}
	b.SetMeta("position", fmt.Appendf(nil, "%d", n))
	err := b.Commit(true)
	*h = append(*h, err == nil)
	return err
}

// work commits and flushes.
func (h *history) work(d *DB) {
	for range 3 {
		for range 3 {
			_ = h.commit(d) // h records the result
		}
		flush(d)
	}
}

// check looks up every batch: acknowledged ones must exist, the others as a
// whole or not at all.
func (h history) check(t *testing.T, d *DB) {
	t.Helper()
	last := ""
	for i, acknowledged := range h {
		seq := protocol.Seq(i + 1)
		var found [4]bool
		for k, space := range []string{"a", "b"} {
			var err error
			found[2*k], err = d.Has(space, seq)
			if err != nil {
				t.Fatal(err)
			}
			ref, err := d.ref(space, idKey(nil, space, entry(seq).Envelope.ID))
			if err != nil {
				t.Fatal(err)
			}
			found[2*k+1] = ref.Seq > 0
		}
		if found != [4]bool{} && found != [4]bool{true, true, true, true} {
			t.Errorf("batch %d is there in parts: %v", seq, found)
		}
		if acknowledged && !found[0] {
			t.Errorf("batch %d was acknowledged and is lost", seq)
		}
		if found[0] {
			last = seq.String()
		}
	}
	if meta, err := d.Meta("position"); string(meta) != last || err != nil {
		t.Errorf("position is %q, %v; the last batch is %q", meta, err, last)
	}
}

// stride is the distance of the writes that fail in turn.
var stride = func() int64 {
	if testkit.Race {
		return 10
	}
	return 1
}()

// TestCommit_FailingWrite makes each single write of a store's life fail, alone
// and together with all later ones. In all cases: no panic, no exit, no
// acknowledged batch lost, no batch in part, and the database works again when
// the disk does.
func TestCommit_FailingWrite(t *testing.T) {
	for _, once := range []bool{true, false} {
		t.Run(fmt.Sprintf("once=%v", once), func(t *testing.T) {
			n := int64(0)
			for ; faultRun(t, n, once); n += stride {
				if t.Failed() {
					t.Fatalf("with write %d", n)
				}
			}
			if n < 50 {
				t.Errorf("only %d writes were tried", n)
			}
		})
	}
}

// faultRun fails the nth write. It reports whether that write happened.
func faultRun(t *testing.T, n int64, once bool) bool {
	var f faults
	fs := errorfs.Wrap(vfs.NewMem(), &f)
	f.fail(afterWrites(n, once))
	var h history
	d, err := Open(Options{FS: fs})
	if err == nil {
		h.work(d)
	}
	struck := f.count() > 0
	f.fail(nil)
	if err != nil {
		d, err = Open(Options{FS: fs})
		if err != nil {
			t.Fatalf("open after a failed open: %v", err)
		}
	}
	if err := d.Reopen(); err != nil {
		t.Fatalf("reopen: %v", err)
	}
	h.check(t, d)
	if err := h.commit(d); err != nil {
		t.Errorf("commit after reopen: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	d, err = Open(Options{FS: fs})
	if err != nil {
		t.Fatalf("open at the end: %v", err)
	}
	h.check(t, d)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	return struck
}

func TestFullDisk(t *testing.T) {
	var f faults
	d := open(t, Options{FS: errorfs.Wrap(vfs.NewMem(), &f)})
	put(t, d, "lab", entry(1), entry(2))
	failed := d.Failed()

	f.fail(writes)
	b := d.NewBatch()
	if err := b.Put("lab", entry(3)); err != nil {
		t.Fatal(err)
	}
	err := b.Commit(true)
	if !errors.Is(err, journal.ErrUnavailable) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("commit: %v", err)
	}
	<-failed
	if err := d.Err(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Err = %v", err)
	}
	flush(d)
	if err := d.Reopen(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Reopen = %v", err)
	}
	wantSeqs(t, d, "lab", journal.Query{Before: 3}, 1, 2)
	if _, err := d.Lookup("lab", "id-1"); err != nil {
		t.Errorf("Lookup = %v", err)
	}

	f.fail(nil)
	if err := d.Reopen(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-d.Failed():
		t.Error("Failed is closed after Reopen")
	default:
	}
	put(t, d, "lab", entry(4))
	wantSeqs(t, d, "lab", journal.Query{After: 3}, 4)
}

func TestFileSystemWithoutPreallocation(t *testing.T) {
	var f faults
	f.fail(func(op errorfs.Op) bool { return op.Kind == errorfs.OpFilePreallocate })
	d := open(t, Options{Dir: t.TempDir(), FS: errorfs.Wrap(vfs.Default, &f)})
	put(t, d, "lab", entry(1))
	flush(d)
	if err := d.Err(); err != nil || f.count() == 0 {
		t.Errorf("Err = %v after %d refusals", err, f.count())
	}
}

// A compaction without disk space is postponed; the log continues to work.
func TestCompaction_Fails(t *testing.T) {
	var f faults
	d := open(t, Options{FS: errorfs.Wrap(vfs.NewMem(), &f)})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var seqs []protocol.Seq
	write := func() {
		seq := protocol.Seq(len(seqs) + 1)
		put(t, d, "lab", entry(seq))
		seqs = append(seqs, seq)
		flush(d)
	}
	s, err := d.acquire()
	if err != nil {
		t.Fatal(err)
	}
	// The data may have been compacted in the background before the requested
	// compaction: then nothing fails, and more is written.
	for range 20 {
		f.fail(nil)
		write()
		write()
		f.fail(func(op errorfs.Op) bool {
			hit := op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst")
			if hit {
				cancel()
			}
			return hit
		})
		err = s.pdb.Compact(ctx, []byte{0}, []byte{0xff}, false)
		if err != nil {
			break
		}
	}
	d.release(s)
	if err == nil || ctx.Err() == nil {
		t.Errorf("no compaction failed: %v", err)
	}
	if err := d.Err(); err != nil {
		t.Errorf("Err = %v", err)
	}
	f.fail(nil)
	write()
	wantSeqs(t, d, "lab", journal.Query{}, seqs...)
}

// A commit that waits for a memtable must not wait forever when the flush that
// would free the memtable fails.
func TestFlush_Fails(t *testing.T) {
	testkit.OneGoroutine(t) // it writes 64 MiB
	var f faults
	stalled := make(chan struct{})
	d := open(t, Options{
		FS:     errorfs.Wrap(vfs.NewMem(), &f),
		Logger: slog.New(onWarning(func() { close(stalled) })),
	})
	f.fail(func(op errorfs.Op) bool {
		if op.Kind != errorfs.OpCreate || !strings.HasSuffix(op.Path, ".sst") {
			return false
		}
		<-stalled
		return true
	})
	big := entry(1)
	big.Envelope.Payload = make([]byte, 1<<20)
	var err error
	for seq := protocol.Seq(1); err == nil && seq < 3*memTableCount*memTableBytes>>20; seq++ {
		big.Envelope.Seq, big.Envelope.ID = seq, entry(seq).Envelope.ID
		b := d.NewBatch()
		if err := b.Put("lab", big); err != nil {
			t.Fatal(err)
		}
		err = b.Commit(true)
	}
	if !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("commits ended with %v", err)
	}
	f.fail(nil)
	if err := d.Reopen(); err != nil {
		t.Error(err)
	}
}

// onWarning returns a log handler that calls f with the first record.
func onWarning(f func()) slog.Handler { return &firstRecord{Handler: slog.DiscardHandler, f: f} }

type firstRecord struct {
	slog.Handler
	once sync.Once
	f    func()
}

func (h *firstRecord) Enabled(context.Context, slog.Level) bool { return true }

func (h *firstRecord) Handle(context.Context, slog.Record) error {
	h.once.Do(h.f)
	return nil
}
