package derivedb

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// retryInterval is the least time from a failure of background work to its next attempt.
const retryInterval = 250 * time.Millisecond

// retryFS is the file system of a store. Background work that failed is tried again after a
// pause: on a full disk, Pebble would write the same memtable over and over.
//
// The list of tables, Pebble's MANIFEST, is not tried again: its writer keeps the first error,
// and Pebble, whose fatal messages do not end the process here, would flush for ever, also in
// Open. So Pebble does not receive the error. The list stays the one that it was, and so does
// what it needs: nothing is removed from then on, and no marker names another list. The store is
// to be closed.
type retryFS struct {
	vfs.FS
	failed  atomic.Int64          // when background work last failed, in ns; 0: never
	stopped atomic.Pointer[error] // why the list of tables could not be written; nil: it was
	onStop  func(error)
}

// Create creates a file. Pebble holds no lock while it creates a table or a list of them.
func (r *retryFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	list := strings.HasPrefix(r.PathBase(name), "MANIFEST-")
	if r.stopped.Load() != nil && strings.HasPrefix(r.PathBase(name), "marker.") {
		return vfs.NewMem().Create(r.PathBase(name), category)
	}
	if failed := r.failed.Load(); failed > 0 && (list || strings.HasSuffix(name, ".sst")) {
		time.Sleep(time.Until(time.Unix(0, failed).Add(retryInterval)))
	}
	f, err := r.FS.Create(name, category)
	if err != nil || !list {
		return f, err
	}
	return &listFile{f, r}, nil
}

// Remove removes a file.
func (r *retryFS) Remove(name string) error {
	if r.stopped.Load() != nil {
		return nil
	}
	return r.FS.Remove(name)
}

// ReuseForWrite uses an old log for a new one.
func (r *retryFS) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if r.stopped.Load() != nil {
		return r.FS.Create(name, category)
	}
	return r.FS.ReuseForWrite(old, name, category)
}

// Unwrap returns the underlying file system.
func (r *retryFS) Unwrap() vfs.FS { return r.FS }

// listFile is a list of tables.
type listFile struct {
	vfs.File
	fs *retryFS
}

func (f *listFile) do(write func() error) {
	if f.fs.stopped.Load() != nil {
		return
	}
	if err := write(); err != nil && f.fs.stopped.CompareAndSwap(nil, &err) {
		f.fs.onStop(err)
	}
}

// Write writes to the file.
func (f *listFile) Write(p []byte) (int, error) {
	f.do(func() error {
		_, err := f.File.Write(p)
		return err
	})
	return len(p), nil
}

// Sync syncs the file.
func (f *listFile) Sync() error {
	f.do(f.File.Sync)
	return nil
}

// SyncData syncs the content of the file.
func (f *listFile) SyncData() error {
	f.do(f.File.SyncData)
	return nil
}
