package derivedb

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// retryInterval is the least time from a failure of background work to its next attempt.
const retryInterval = 250 * time.Millisecond

// retryFS is the file system of a store whose background work is tried again after a
// pause: on a full disk, Pebble would write the same memtable over and over.
type retryFS struct {
	vfs.FS
	failed atomic.Int64 // when background work last failed, in ns; 0: never
}

// Create creates a file. Pebble holds no lock while it creates a table.
func (r *retryFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if failed := r.failed.Load(); failed > 0 && strings.HasSuffix(name, ".sst") {
		time.Sleep(time.Until(time.Unix(0, failed).Add(retryInterval)))
	}
	return r.FS.Create(name, category)
}

// Unwrap returns the underlying file system.
func (r *retryFS) Unwrap() vfs.FS { return r.FS }
