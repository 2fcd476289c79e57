package entrydb

import (
	"github.com/cockroachdb/pebble/v2/vfs"
)

// gateFile is a file on disk behind a gate.
type gateFile struct {
	vfs.File
	gate     *gate
	category vfs.DiskWriteCategory
}

// do runs what changes the file. Behind a frozen gate it is skipped: silently,
// except for files that Pebble would read back and find cut off.
func (f *gateFile) do(change func() error) error {
	if err := f.gate.failure(); err != nil {
		if f.category == categoryFlush || f.category == categoryCompaction {
			return err
		}
		return nil
	}
	if err := change(); err != nil {
		return f.gate.denied(f.category, err)
	}
	return nil
}

func (f *gateFile) Write(p []byte) (n int, err error) {
	err = f.do(func() (err error) {
		n, err = f.File.Write(p)
		return err
	})
	if err == nil {
		n = len(p)
	}
	return n, err
}

func (f *gateFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.do(func() (err error) {
		n, err = f.File.WriteAt(p, off)
		return err
	})
	if err == nil {
		n = len(p)
	}
	return n, err
}

// Preallocate is a favour: not every file system knows it, and Pebble goes on
// without it.
func (f *gateFile) Preallocate(offset, length int64) error {
	if f.gate.failure() != nil {
		return nil
	}
	return f.File.Preallocate(offset, length)
}

func (f *gateFile) Sync() error     { return f.do(f.File.Sync) }
func (f *gateFile) SyncData() error { return f.do(f.File.SyncData) }

func (f *gateFile) SyncTo(length int64) (full bool, err error) {
	err = f.do(func() (err error) {
		full, err = f.File.SyncTo(length)
		return err
	})
	return full, err
}

// Close always closes the file below.
func (f *gateFile) Close() error {
	err := f.File.Close()
	if err == nil || f.gate.failure() != nil {
		return nil
	}
	return f.gate.denied(f.category, err)
}
