package entrydb

import (
	"github.com/cockroachdb/pebble/v2/vfs"
)

// failStopFile is a file on disk that stops writes when its failStopFS fails.
type failStopFile struct {
	vfs.File
	fs       *failStopFS
	category vfs.DiskWriteCategory
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

func (f *failStopFile) Write(p []byte) (n int, err error) {
	err = f.do(func() (err error) {
		n, err = f.File.Write(p)
		return err
	})
	if err == nil {
		n = len(p)
	}
	return n, err
}

func (f *failStopFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.do(func() (err error) {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	if err == nil {
		n = len(p)
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
	err := f.File.Close()
	if err == nil || f.fs.failure() != nil {
		return nil
	}
	return f.fs.onError(f.category, err)
}
