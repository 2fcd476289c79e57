package entrydb

import (
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Pebble's categories for written files; it can repeat these two.
const (
	categoryFlush      = "pebble-memtable-flush"
	categoryCompaction = "pebble-compaction"
)

// failStopFS is the file system of one open store. Until it fails it forwards
// all calls. The first error that Pebble cannot handle makes it fail: the disk
// stays as it was at that moment, as after a power failure, and later writes go
// to memory and are discarded with the failStopFS.
//
// Which errors Pebble receives depends on how it handles them:
//
//   - log, manifest, options, directories: none. Pebble would panic or exit, in
//     part with locks held that a later Close needs. Commits check the
//     failStopFS instead.
//   - a flush: the error. Pebble repeats the flush, now to memory, which wakes
//     commits that wait for a memtable.
//   - a compaction: the error, and the failStopFS does not fail. The compaction
//     is only postponed; the log is complete without it. See
//     [derivedb.Scheduler].
//
// Only the files of the store are treated so. A checkpoint is made outside of its folder:
// there, all errors are returned, and none is a failure of the store.
type failStopFS struct {
	vfs.FS
	dir string // as PathDir returns it

	failed chan struct{} // closed by fail

	// compactAfter is the monotonic time, in nanoseconds since process start, from
	// which on compactions may run.
	compactAfter atomic.Int64

	mu      sync.Mutex
	err     error
	overlay *vfs.MemFS
	reading string // the last file opened for reading
	// wals are the write-ahead logs that are being written, by name.
	wals map[string]*failStopFile
}

func newFailStopFS(fs vfs.FS, dir string) *failStopFS {
	g := &failStopFS{FS: fs, dir: fs.PathJoin(dir), failed: make(chan struct{}), wals: make(map[string]*failStopFile)}
	g.compactAfter.Store(math.MaxInt64)
	return g
}

// compactionPause is the minimum time between a failed compaction and the next
// one. Pebble alone would retry at once.
const compactionPause = time.Second

// epoch is the start of the monotonic time in compactAfter.
var epoch = time.Now()

// allowCompaction allows compactions to start after a pause.
func (g *failStopFS) allowCompaction(pause time.Duration) {
	g.compactAfter.Store(int64(time.Since(epoch) + pause))
}

// allowsCompaction reports whether a compaction may start: not while the store is being
// opened, after the file system has failed, or within compactionPause of a compaction that
// could not write. No commit depends on a compaction, so none ever has to wait for the disk.
func (g *failStopFS) allowsCompaction() bool {
	return int64(time.Since(epoch)) >= g.compactAfter.Load() && g.failure() == nil
}

// fail stops all writes for the given reason; only the first reason is kept.
func (g *failStopFS) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return
	}
	g.err = err
	g.overlay = vfs.NewMem()
	_ = g.overlay.MkdirAll(g.dir, 0o755) // an operation in memory does not fail
	close(g.failed)
}

// failure returns the reason of the failure; nil if the file system has not
// failed.
func (g *failStopFS) failure() error {
	select {
	case <-g.failed:
	default:
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// lastRead returns the last file that was opened for reading.
func (g *failStopFS) lastRead() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.reading
}

// onError handles an error of a file of this category. It returns the error for
// Pebble, or nil if Pebble must not receive it.
func (g *failStopFS) onError(category vfs.DiskWriteCategory, err error) error {
	switch category {
	case categoryCompaction:
		g.allowCompaction(compactionPause)
		return err
	case categoryFlush:
		g.fail(err)
		return err
	}
	g.fail(err)
	return nil
}

// guards reports whether a file is one of the store.
func (g *failStopFS) guards(name string) bool {
	return name == g.dir || g.FS.PathDir(name) == g.dir
}

// guard returns a new file of the store.
func (g *failStopFS) guard(f vfs.File, name string, category vfs.DiskWriteCategory) vfs.File {
	guarded := &failStopFile{File: f, fs: g, category: category}
	if _, ok := isWAL(g, name); ok {
		guarded.wal = name
		g.mu.Lock()
		g.wals[name] = guarded
		g.mu.Unlock()
	}
	return guarded
}

// Create creates a file.
func (g *failStopFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if !g.guards(name) {
		return g.FS.Create(name, category)
	}
	if g.failure() == nil {
		f, err := g.FS.Create(name, category)
		if err == nil {
			return g.guard(f, name, category), nil
		}
		if err := g.onError(category, err); err != nil {
			return nil, err
		}
	}
	return g.createInMemory(name, category)
}

// createInMemory creates a file in memory, except for a compaction, which may
// rewrite the whole store.
func (g *failStopFS) createInMemory(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if category == categoryCompaction {
		return nil, g.failure()
	}
	return g.overlay.Create(name, category)
}

// ReuseForWrite reuses an old log for a new one.
func (g *failStopFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if g.failure() == nil {
		f, err := g.FS.ReuseForWrite(oldname, newname, category)
		if err == nil {
			return g.guard(f, newname, category), nil
		}
		if err := g.onError(category, err); err != nil {
			return nil, err
		}
	}
	return g.createInMemory(newname, category)
}

// Rename renames a file.
func (g *failStopFS) Rename(oldname, newname string) error {
	if !g.guards(newname) {
		return g.FS.Rename(oldname, newname)
	}
	if g.failure() == nil {
		err := g.FS.Rename(oldname, newname)
		if err == nil {
			return nil
		}
		g.fail(err)
	}
	_ = g.overlay.Rename(oldname, newname) // the file on disk keeps its name
	return nil
}

// Remove removes a file; after a failure, only from memory. Pebble receives its
// errors: it leaves the file for the next opening.
func (g *failStopFS) Remove(name string) error {
	if !g.guards(name) || g.failure() == nil {
		return g.FS.Remove(name)
	}
	_ = g.overlay.Remove(name)
	return nil
}

// RemoveAll removes a checkpoint. An open store does not use it for its own files.
func (g *failStopFS) RemoveAll(name string) error {
	if g.guards(name) {
		return os.ErrPermission
	}
	return g.FS.RemoveAll(name)
}

// Link links a table into a checkpoint. A store without ingested files does not use it
// for its own files. The error does not wrap fs.ErrPermission, which file systems without
// links return: Pebble copies the file then.
func (g *failStopFS) Link(oldname, newname string) error {
	if g.guards(newname) {
		return os.ErrPermission
	}
	if err := g.FS.Link(oldname, newname); err != nil {
		return fmt.Errorf("link %s: %v", oldname, err) //nolint:errorlint // see above
	}
	return nil
}

// Open opens a file for reading. Of a write-ahead log that is being written, a
// checkpoint reads the bytes that are written now: it may be a recycled file, of which it would
// otherwise read old bytes, and then new ones that follow the bytes that replace them.
func (g *failStopFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	g.mu.Lock()
	g.reading = name
	live := g.wals[name]
	g.mu.Unlock()
	if live != nil {
		f, err := g.FS.Open(name, opts...)
		if err != nil {
			return nil, err
		}
		return &prefixFile{f, live.written.Load()}, nil
	}
	if g.failure() != nil {
		if f, err := g.overlay.Open(name, opts...); err == nil {
			return f, nil
		}
	}
	return g.FS.Open(name, opts...)
}

// OpenDir opens a directory, to sync it.
func (g *failStopFS) OpenDir(name string) (vfs.File, error) {
	f, err := g.FS.OpenDir(name)
	if err != nil || !g.guards(name) {
		return f, err
	}
	return &failStopFile{File: f, fs: g, category: vfs.WriteCategoryUnspecified}, nil
}

// Stat describes a file.
func (g *failStopFS) Stat(name string) (vfs.FileInfo, error) {
	if g.failure() != nil {
		if info, err := g.overlay.Stat(name); err == nil {
			return info, nil
		}
	}
	return g.FS.Stat(name)
}

// Unwrap returns the underlying file system.
func (g *failStopFS) Unwrap() vfs.FS { return g.FS }

// failStopFile is a file on disk that stops writes when its failStopFS fails.
type failStopFile struct {
	vfs.File
	fs       *failStopFS
	category vfs.DiskWriteCategory
	wal      string       // its name, if it is a write-ahead log
	written  atomic.Int64 // bytes written in sequence
}

// do runs a change of the file. After a failure it skips it, without an error
// except for files that Pebble would read back and find truncated.
func (f *failStopFile) do(change func() error) error {
	if err := f.fs.failure(); err != nil {
		if f.category == categoryFlush || f.category == categoryCompaction {
			return err
		}
		return nil
	}
	if err := change(); err != nil {
		return f.fs.onError(f.category, err)
	}
	return nil
}

func (f *failStopFile) Write(p []byte) (int, error) {
	n, err := f.write(len(p), func() (int, error) { return f.File.Write(p) })
	f.written.Add(int64(n))
	return n, err
}

func (f *failStopFile) WriteAt(p []byte, off int64) (int, error) {
	return f.write(len(p), func() (int, error) { return f.File.WriteAt(p, off) })
}

func (f *failStopFile) write(size int, write func() (int, error)) (n int, err error) {
	err = f.do(func() (err error) {
		n, err = write()
		return err
	})
	if err == nil {
		n = size
	}
	return n, err
}

// Preallocate is optional: not every file system supports it, and Pebble works
// without it.
func (f *failStopFile) Preallocate(offset, length int64) error {
	if f.fs.failure() != nil {
		return nil
	}
	return f.File.Preallocate(offset, length)
}

func (f *failStopFile) Sync() error     { return f.do(f.File.Sync) }
func (f *failStopFile) SyncData() error { return f.do(f.File.SyncData) }

func (f *failStopFile) SyncTo(length int64) (full bool, err error) {
	err = f.do(func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

// Close always closes the underlying file.
func (f *failStopFile) Close() error {
	if f.wal != "" {
		f.fs.mu.Lock()
		delete(f.fs.wals, f.wal)
		f.fs.mu.Unlock()
	}
	err := f.File.Close()
	if err == nil || f.fs.failure() != nil {
		return nil
	}
	return f.fs.onError(f.category, err)
}

// prefixFile reads the first bytes of a file.
type prefixFile struct {
	vfs.File
	left int64
}

func (f *prefixFile) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n, err := f.File.Read(p[:min(int64(len(p)), f.left)])
	f.left -= int64(n)
	return n, err
}
