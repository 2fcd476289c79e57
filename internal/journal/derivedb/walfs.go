package derivedb

import (
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// categoryWAL is Pebble's category for write-ahead logs.
const categoryWAL = "pebble-wal"

// walFS is the file system of a store whose write-ahead log may end early: Pebble would
// end the process if the log failed. From the first error on nothing more is written to
// logs, and no more of them are created, so that the next opening finds the beginning of
// what was committed. The store works as if it had no log until then.
type walFS struct {
	vfs.FS
	failed func(error) // called once
	broken atomic.Bool
}

// hide ends the log if there is an error.
func (w *walFS) hide(err error) {
	if err != nil && w.broken.CompareAndSwap(false, true) {
		w.failed(err)
	}
}

// Create creates a file.
func (w *walFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	create := func() (vfs.File, error) { return w.FS.Create(name, category) }
	if category != categoryWAL {
		return create()
	}
	return w.openLog(create)
}

// ReuseForWrite reuses an old log for a new one.
func (w *walFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return w.openLog(func() (vfs.File, error) { return w.FS.ReuseForWrite(oldname, newname, category) })
}

// openLog opens a log for writing, or, after an error, a file in memory that stays empty.
func (w *walFS) openLog(open func() (vfs.File, error)) (vfs.File, error) {
	if !w.broken.Load() {
		f, err := open()
		if err == nil {
			return &walFile{f, w}, nil
		}
		w.hide(err)
	}
	f, err := vfs.NewMem().Create("log", categoryWAL)
	return &walFile{f, w}, err
}

// OpenDir opens a folder, to sync it. Pebble does so when it creates a log, too. If a table
// is missing after a crash because of an error here, the database is damaged.
func (w *walFS) OpenDir(name string) (vfs.File, error) {
	f, err := w.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &walFolder{f, w}, nil
}

// Unwrap returns the underlying file system.
func (w *walFS) Unwrap() vfs.FS { return w.FS }

// walFolder is a folder. Its errors are hidden.
type walFolder struct {
	vfs.File
	fs *walFS
}

func (f *walFolder) Sync() error {
	f.fs.hide(f.File.Sync())
	return nil
}

// walFile is a log. Its errors are hidden.
type walFile struct {
	vfs.File
	fs *walFS
}

// do changes the file, unless there was an error.
func (f *walFile) do(change func() error) error {
	if !f.fs.broken.Load() {
		f.fs.hide(change())
	}
	return nil
}

func (f *walFile) Write(p []byte) (int, error) {
	return len(p), f.do(func() error {
		_, err := f.File.Write(p)
		return err
	})
}

func (f *walFile) Preallocate(offset, length int64) error {
	if f.fs.broken.Load() {
		return nil
	}
	return f.File.Preallocate(offset, length) // Pebble works without it
}

func (f *walFile) Sync() error     { return f.do(f.File.Sync) }
func (f *walFile) SyncData() error { return f.do(f.File.SyncData) }

func (f *walFile) SyncTo(length int64) (full bool, err error) {
	err = f.do(func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

// Close always closes the file.
func (f *walFile) Close() error {
	f.fs.hide(f.File.Close())
	return nil
}
