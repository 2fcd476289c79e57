package natsjournal

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/entrydb"
)

// ErrReplicaInUse means that another process uses the folder of the replica.
var ErrReplicaInUse = errors.New("in use by another process")

// errIncomplete is the reason why a replica that is being filled cannot be read.
var errIncomplete = errors.New("the log is being read from NATS")

// replicaFormat is stored in the replica; a replica of another format is compared with the
// streams and then rebuilt. It also changes with the encoding of entries, because digests
// cover that.
const replicaFormat = "5"

const (
	metaFormat = "format"
	metaLog    = "log"
)

// replica is a gateway's local copy of the log that JetStream stores: a database of
// entries that is built by applying the messages of the streams, see
// [replicaStream.Apply].
//
// It is written without sync, each batch together with the [position] of the stream that
// it covers; after a crash the stream resumes from there. The replica can be lost at any
// time: it is rebuilt from the streams.
//
// Only the streams use it until it is complete. Reopen, Rebuild, SetAside, Adopt and Close require that the streams
// have stopped.
type replica struct {
	dir  string
	temp bool // remove dir on close
	lock io.Closer
	log  *slog.Logger

	db      *entrydb.DB    // nil if it could not be opened
	foreign bool           // db has another format
	readers sync.WaitGroup // grows only under mu while the replica is complete

	mu       sync.Mutex
	complete chan struct{} // closed when every stream has caught up once since db was opened
}

// openReplica opens the replica in dir, or a temporary one. A replica that cannot be
// read is deleted; one whose store is of a newer version is kept aside. Err: the
// folder is in use or cannot be written.
func openReplica(dir string, log *slog.Logger) (*replica, error) {
	r := &replica{dir: dir, log: log, complete: make(chan struct{})}
	if dir == "" {
		temp, err := os.MkdirTemp("", "meup-replica-")
		if err != nil {
			return nil, fmt.Errorf("make a folder for the replica: %w", err)
		}
		r.dir, r.temp = temp, true
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the replica's folder: %w", err)
	}
	// Without this lock, the database lock of another gateway would look like
	// damage.
	lock, err := vfs.Default.Lock(filepath.Join(r.dir, "replica.lock"))
	if err != nil {
		return nil, fmt.Errorf("replica in %s: %w: %w", r.dir, ErrReplicaInUse, err)
	}
	r.lock = lock
	_ = os.RemoveAll(r.SecondDir()) // left by a killed process; the next verification tries again
	switch err := r.open(); {
	case errors.Is(err, entrydb.ErrNewer):
		kept, asideErr := r.SetAside()
		if asideErr != nil {
			return nil, errors.Join(asideErr, lock.Close())
		}
		log.Warn("replica is of a newer version: it is kept aside, and another one is made from NATS", "kept", kept, "reason", err)
	case err != nil:
		log.Warn("replica cannot be read and is made again from NATS", "folder", r.dir, "error", err)
		if err := r.Rebuild(); err != nil {
			return nil, errors.Join(err, lock.Close())
		}
	}
	return r, nil
}

// Dir returns the replica's folder.
func (r *replica) Dir() string { return r.dir }

// SecondDir returns the folder of a second replica, which Adopt uses.
func (r *replica) SecondDir() string { return filepath.Join(r.dir, "second") }

func (r *replica) path() string { return filepath.Join(r.dir, "db") }

// open opens the database and checks its format.
func (r *replica) open() error {
	db, err := entrydb.Open(entrydb.Options{Dir: r.path(), Logger: r.log})
	if err != nil {
		return err
	}
	foreign, err := checkFormat(db)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	r.db, r.foreign = db, foreign
	return nil
}

// checkFormat reports whether a database has another format; an empty one gets this one.
func checkFormat(db *entrydb.DB) (foreign bool, err error) {
	format, err := db.Meta(metaFormat)
	if err != nil {
		return false, fmt.Errorf("read the replica's format: %w", err)
	}
	if string(format) == replicaFormat {
		return false, nil
	}
	if len(format) > 0 {
		return true, nil // nothing else in it may be readable
	}
	foreign, err = db.HasEntries()
	if foreign || err != nil {
		return foreign, err
	}
	b := db.NewBatch()
	b.SetMeta(metaFormat, []byte(replicaFormat))
	return false, b.Commit(true)
}

// ForeignFormat reports whether the replica has another format. It serves to find what the
// streams have lost, and nothing may be applied to it.
func (r *replica) ForeignFormat() bool { return r.foreign }

// Name returns the name of the log that the replica is a copy of, if any, and
// whether it has entries.
func (r *replica) Name() (name string, hasEntries bool, err error) {
	data, err := r.db.Meta(metaLog)
	if err != nil {
		return "", false, err
	}
	hasEntries, err = r.db.HasEntries()
	return string(data), hasEntries, err
}

// SetName sets the name of the log.
func (r *replica) SetName(name string) error {
	b := r.db.NewBatch()
	b.SetMeta(metaLog, []byte(name))
	return b.Commit(false)
}

// use returns the database to a reader, which calls readers.Done when it is
// finished. Err: ErrUnavailable until the replica is complete.
func (r *replica) use() (*entrydb.DB, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isComplete() {
		return nil, journal.Unavailable(errIncomplete)
	}
	r.readers.Add(1)
	return r.db, nil
}

// Complete admits readers.
func (r *replica) Complete() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isComplete() {
		close(r.complete)
	}
}

// Completed returns a channel that is closed when the replica is complete.
func (r *replica) Completed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.complete
}

func (r *replica) isComplete() bool {
	select {
	case <-r.complete:
		return true
	default:
		return false
	}
}

// drainReaders admits no more readers and waits for the current ones.
func (r *replica) drainReaders() {
	r.mu.Lock()
	if r.isComplete() {
		r.complete = make(chan struct{})
	}
	r.mu.Unlock()
	r.readers.Wait()
}

// Failed reports whether the database accepts no writes.
func (r *replica) Failed() bool { return r.db == nil || r.db.Err() != nil }

// Reopen opens a database again after a failed write. rebuild means that it is
// damaged.
func (r *replica) Reopen() (rebuild bool, err error) {
	r.drainReaders()
	if r.db == nil {
		err = r.open()
	} else {
		err = r.db.Reopen()
	}
	return pebble.IsCorruptionError(err), err
}

// Rebuild replaces the replica with an empty one.
func (r *replica) Rebuild() error {
	return r.renew(func() error { return os.RemoveAll(r.path()) })
}

// SetAside replaces the replica, which is not a copy of the log on NATS or cannot be compared
// with it, with an empty one. It returns the path at which the former one is kept.
func (r *replica) SetAside() (kept string, err error) {
	return r.setAside(func() error { return nil })
}

// Adopt replaces the database with the one of the closed replica in SecondDir. It returns the
// path at which the former one is kept: NATS may have lost what only it has.
func (r *replica) Adopt() (kept string, err error) {
	return r.setAside(func() error { return os.Rename(filepath.Join(r.SecondDir(), "db"), r.path()) })
}

func (r *replica) setAside(follow func() error) (kept string, err error) {
	kept = r.path() + ".replaced-" + time.Now().UTC().Format("20060102T150405.000Z")
	return kept, r.renew(func() error {
		if r.temp {
			return errors.Join(os.RemoveAll(r.path()), follow())
		}
		return errors.Join(os.Rename(r.path(), kept), follow())
	})
}

// renew opens the database that replace leaves in the place of the former one.
func (r *replica) renew(replace func() error) error {
	r.drainReaders()
	if r.db != nil {
		_ = r.db.Close() // its unwritten data is discarded with it
		r.db = nil
	}
	if err := replace(); err != nil {
		return fmt.Errorf("remove the replica: %w", err)
	}
	if err := r.open(); err != nil {
		return fmt.Errorf("make a replica in %s: %w", r.dir, err)
	}
	return nil
}

// Close closes the database.
func (r *replica) Close() error {
	r.drainReaders()
	var errs []error
	if r.db != nil {
		errs = append(errs, r.db.Close())
	}
	errs = append(errs, r.lock.Close())
	if r.temp {
		errs = append(errs, os.RemoveAll(r.dir))
	}
	return errors.Join(errs...)
}
