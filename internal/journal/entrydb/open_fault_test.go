package entrydb

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// mustReturn fails the test with all stacks if f does not return.
func mustReturn(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(testkit.Patience):
		panic(what + " hangs")
	}
}

// killedStore returns a file system with a store that was killed while level 0
// was full of overlapping tables and the log had entries, so that opening it
// flushes and starts compactions at once.
func killedStore(t *testing.T) (*vfs.MemFS, *history) {
	t.Helper()
	fs := vfs.NewCrashableMem()
	var f faults
	f.fail(func(op errorfs.Op) bool { // keeps level 0 full
		return op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") && strings.Contains(string(debug.Stack()), "compact1")
	})
	d, err := Open(Options{FS: errorfs.Wrap(fs, &f)})
	if err != nil {
		t.Fatal(err)
	}
	var h history
	for range 12 {
		for range 3 {
			if err := h.commit(d); err != nil {
				t.Fatal(err)
			}
		}
		flush(d)
	}
	if err := h.commit(d); err != nil { // in the log alone
		t.Fatal(err)
	}
	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	f.fail(nil)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return crashed, &h
}

// TestOpen_FailingDisk opens a store with pending compactions on a disk that
// rejects writes from the nth one on, or only the nth. Open, Reopen and Close
// return, and no acknowledged batch is lost.
func TestOpen_FailingDisk(t *testing.T) {
	killed, h := killedStore(t)
	for _, once := range []bool{true, false} {
		t.Run(fmt.Sprintf("once=%v", once), func(t *testing.T) {
			for n := int64(0); ; n += stride {
				var f faults
				f.fail(afterWrites(n, once))
				fs := errorfs.Wrap(killed.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0}), &f)
				if !openFailing(t, fs, &f, *h) {
					return
				}
			}
		})
	}
}

// openFailing runs one life of a store on a failing disk and the next one on a
// healthy disk. It reports whether an operation failed.
func openFailing(t *testing.T, fs vfs.FS, f *faults, h history) bool {
	t.Helper()
	var d *DB
	var err error
	mustReturn(t, "Open", func() { d, err = Open(Options{FS: fs}) })
	if err != nil {
		failed := f.count() > 0
		f.fail(nil)
		mustReturn(t, "Open after a failed Open", func() { d, err = Open(Options{FS: fs}) })
		if err != nil {
			t.Fatal(err)
		}
		finish(t, d, h)
		return failed
	}
	mustReturn(t, "Reopen on the failing disk", func() { _ = d.Reopen() })
	failed := f.count() > 0
	f.fail(nil)
	mustReturn(t, "Reopen", func() { err = d.Reopen() })
	if err != nil {
		t.Fatal(err)
	}
	finish(t, d, h)
	return failed
}

func finish(t *testing.T, d *DB, h history) {
	t.Helper()
	h.check(t, d)
	var err error
	mustReturn(t, "Close", func() { err = d.Close() })
	if err != nil {
		t.Error(err)
	}
}

// TestReopen_FlickeringDisk reopens a store repeatedly on a disk whose writes
// fail at random. Every call returns, and no acknowledged batch is lost.
func TestReopen_FlickeringDisk(t *testing.T) {
	killed, before := killedStore(t)
	seeds := testkit.Rand(t)
	for i := range 30 / stride {
		seed := seeds.Uint64()
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var f faults
			fs := errorfs.Wrap(killed.CrashClone(vfs.CrashCloneCfg{}), &f)
			h := slices.Clone(*before)
			d, err := Open(Options{FS: fs})
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			random := rand.New(rand.NewPCG(seed, 1))
			f.fail(func(op errorfs.Op) bool {
				mu.Lock()
				defer mu.Unlock()
				return writes(op) && random.IntN(40) == 0
			})
			for range 20 {
				mustReturn(t, "commit", func() { _ = h.commit(d) }) // h records the result
				mustReturn(t, "flush", func() { flush(d) })
				mustReturn(t, "Reopen on the flickering disk", func() { _ = d.Reopen() })
			}
			f.fail(nil)
			mustReturn(t, "Reopen", func() { err = d.Reopen() })
			if err != nil {
				t.Fatal(err)
			}
			finish(t, d, h)
		})
	}
}
