package entrydb

import (
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Pebble names what a file is written for; these two it can do again.
const (
	categoryFlush      = "pebble-memtable-flush"
	categoryCompaction = "pebble-compaction"
)

// gate is the file system under one opening of a store. While it is open it
// passes everything on. The first error that Pebble cannot live with freezes
// it: the disk stays as it was at that moment, like at a power cut, and what
// is written afterwards goes to memory and is thrown away with the gate.
//
// What Pebble is told of an error depends on what it does about it:
//
//   - log, manifest, options, directories: nothing. It would panic or exit,
//     some of that with locks held that a later Close needs. Whoever commits
//     asks the gate instead.
//   - a flush: the truth. It runs again, now to memory, and so wakes up
//     commits that wait for a memtable to become free.
//   - a compaction: the error, and the gate stays open. The compaction is only
//     postponed; the log is complete without it. See [compactionScheduler].
type gate struct {
	vfs.FS
	dir string

	frozen chan struct{} // closed by freeze

	// compactAfter is the monotonic time in nanoseconds since process start from which on
	// compactions may run.
	compactAfter atomic.Int64

	mu      sync.Mutex
	err     error
	overlay *vfs.MemFS
	reading string // the file opened for reading last
}

func newGate(fs vfs.FS, dir string) *gate {
	g := &gate{FS: fs, dir: dir, frozen: make(chan struct{})}
	g.compactAfter.Store(math.MaxInt64)
	return g
}

// epoch makes durations of monotonic time.
var epoch = time.Now()

// allowCompaction lets compactions start after a pause.
func (g *gate) allowCompaction(pause time.Duration) {
	g.compactAfter.Store(int64(time.Since(epoch) + pause))
}

func (g *gate) allowsCompaction() bool {
	return int64(time.Since(epoch)) >= g.compactAfter.Load() && g.failure() == nil
}

// freeze stops all writing for the given reason; the first reason counts.
func (g *gate) freeze(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return
	}
	g.err = err
	g.overlay = vfs.NewMem()
	_ = g.overlay.MkdirAll(g.dir, 0o755) // memory does not fail
	close(g.frozen)
}

// failure returns why the gate is frozen, nil while it is not.
func (g *gate) failure() error {
	select {
	case <-g.frozen:
	default:
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// lastRead returns the file that was opened for reading last.
func (g *gate) lastRead() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reading
}

// denied returns what Pebble is told of an error that a file of this category
// met: the error, or nil when it must not know.
func (g *gate) denied(category vfs.DiskWriteCategory, err error) error {
	switch category {
	case categoryCompaction:
		g.allowCompaction(compactionPause)
		return err
	case categoryFlush:
		g.freeze(err)
		return err
	}
	g.freeze(err)
	return nil
}

// Create makes a file.
func (g *gate) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if g.failure() == nil {
		f, err := g.FS.Create(name, category)
		if err == nil {
			return &gateFile{f, g, category}, nil
		}
		if err := g.denied(category, err); err != nil {
			return nil, err
		}
	}
	return g.createFrozen(name, category)
}

// createFrozen makes a file in memory, but none for a compaction, which may
// rewrite the whole store.
func (g *gate) createFrozen(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if category == categoryCompaction {
		return nil, g.failure()
	}
	return g.overlay.Create(name, category)
}

// ReuseForWrite takes an old log for a new one.
func (g *gate) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if g.failure() == nil {
		f, err := g.FS.ReuseForWrite(oldname, newname, category)
		if err == nil {
			return &gateFile{f, g, category}, nil
		}
		if err := g.denied(category, err); err != nil {
			return nil, err
		}
	}
	return g.createFrozen(newname, category)
}

// Rename renames a file.
func (g *gate) Rename(oldname, newname string) error {
	if g.failure() == nil {
		err := g.FS.Rename(oldname, newname)
		if err == nil {
			return nil
		}
		g.freeze(err)
	}
	_ = g.overlay.Rename(oldname, newname) // what is on disk keeps its name
	return nil
}

// Remove removes a file; once frozen, only from memory. An error is Pebble's
// to know: it leaves the file for the next opening.
func (g *gate) Remove(name string) error {
	if g.failure() == nil {
		return g.FS.Remove(name)
	}
	_ = g.overlay.Remove(name)
	return nil
}

// RemoveAll is not used by an open store.
func (g *gate) RemoveAll(string) error { return os.ErrPermission }

// Link is not used by a store that takes in no foreign files.
func (g *gate) Link(string, string) error { return os.ErrPermission }

// Open opens a file for reading.
func (g *gate) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	g.mu.Lock()
	g.reading = name
	g.mu.Unlock()
	if g.failure() != nil {
		if f, err := g.overlay.Open(name, opts...); err == nil {
			return f, nil
		}
	}
	return g.FS.Open(name, opts...)
}

// OpenDir opens a directory, to sync it.
func (g *gate) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &gateFile{f, g, vfs.WriteCategoryUnspecified}, nil
}

// Stat describes a file.
func (g *gate) Stat(name string) (vfs.FileInfo, error) {
	if g.failure() != nil {
		if info, err := g.overlay.Stat(name); err == nil {
			return info, nil
		}
	}
	return g.FS.Stat(name)
}

// Unwrap returns the file system below.
func (g *gate) Unwrap() vfs.FS { return g.FS }
