package natsjournal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/meup-protocol/meup/internal/journal/entrydb"
)

// ErrReplicaInUse means that another process uses the folder of the replica.
var ErrReplicaInUse = errors.New("in use by another process")

// replica is the local copy of the log. It can be wiped and rebuilt at any
// time; until it is complete, only the streams may read it.
type replica struct {
	dir  string
	temp bool // remove dir on close
	lock io.Closer
	log  *slog.Logger

	mu     sync.Mutex
	db     *entrydb.DB
	filled chan struct{} // closed when every stream has caught up once since db was opened
	users  int
	idle   *sync.Cond // signaled when users is 0
}

var errReplaying = errors.New("the log is being read from NATS")

// replicaFormat is stored in the replica; a replica of another format is
// rebuilt. It also changes with the encoding of entries, because digests cover
// that.
const replicaFormat = "4"

const metaFormat = "format"

// openReplica opens the replica in dir, or a temporary one. A replica that
// cannot be read is deleted. Err: the folder is in use or cannot be written.
func openReplica(dir string, log *slog.Logger) (*replica, error) {
	r := &replica{dir: dir, log: log, filled: make(chan struct{})}
	r.idle = sync.NewCond(&r.mu)
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
	_ = os.RemoveAll(r.secondDir()) // left by a killed process; the next verification tries again
	if err := r.open(); err != nil {
		log.Warn("replica cannot be read and is made again from NATS", "folder", r.dir, "error", err)
		if err := r.wipe(); err != nil {
			return nil, errors.Join(err, lock.Close())
		}
	}
	return r, nil
}

func (r *replica) path() string { return filepath.Join(r.dir, "db") }

// open opens the database and checks its format.
func (r *replica) open() error {
	db, err := entrydb.Open(entrydb.Options{Dir: r.path(), Logger: r.log})
	if err != nil {
		return err
	}
	if err := checkFormat(db); err != nil {
		return errors.Join(err, db.Close())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.db = db
	r.reset()
	return nil
}

func checkFormat(db *entrydb.DB) error {
	format, err := db.Meta(metaFormat)
	if err != nil {
		return fmt.Errorf("read the replica's format: %w", err)
	}
	if string(format) == replicaFormat {
		return nil
	}
	spaces, err := db.Spaces()
	if err != nil {
		return fmt.Errorf("read the replica's spaces: %w", err)
	}
	if len(format) > 0 || len(spaces) > 0 {
		return fmt.Errorf("replica has format %q", format)
	}
	b := db.NewBatch()
	b.SetMeta(metaFormat, []byte(replicaFormat))
	return b.Commit(true)
}

// use returns the database to a reader, which calls done when it is finished.
// Err: ErrUnavailable until the replica is complete.
func (r *replica) use() (db *entrydb.DB, done func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.db == nil || !r.isFilled() {
		return nil, nil, unavailable(errReplaying)
	}
	r.users++
	return r.db, r.release, nil
}

func (r *replica) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users--; r.users == 0 {
		r.idle.Broadcast()
	}
}

// complete admits readers.
func (r *replica) complete() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isFilled() {
		close(r.filled)
	}
}

// completed returns a channel that is closed when the replica is complete.
func (r *replica) completed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.filled
}

func (r *replica) isFilled() bool {
	select {
	case <-r.filled:
		return true
	default:
		return false
	}
}

// reset marks the replica as incomplete.
func (r *replica) reset() {
	if r.isFilled() {
		r.filled = make(chan struct{})
	}
}

// drainReaders admits no more readers and waits for the current ones. The
// streams must have stopped using the database.
func (r *replica) drainReaders() *entrydb.DB {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reset()
	for r.users > 0 {
		r.idle.Wait()
	}
	return r.db
}

// wipe replaces a database that cannot be read with an empty one.
func (r *replica) wipe() error {
	return r.renew(func() error { return os.RemoveAll(r.path()) })
}

// setAside renames the database, which is intact but a copy of a log that NATS
// no longer has, and creates an empty one. It returns the new name.
func (r *replica) setAside(now time.Time) (string, error) {
	name := r.path() + ".replaced-" + now.UTC().Format("20060102T150405.000Z")
	return name, r.renew(func() error {
		if r.temp {
			return os.RemoveAll(r.path())
		}
		return os.Rename(r.path(), name)
	})
}

// logName returns the name of the log that the replica is a copy of, if any,
// and whether it has entries.
func (r *replica) logName() (name string, hasEntries bool, err error) {
	data, err := r.db.Meta(metaLog)
	if err != nil {
		return "", false, err
	}
	spaces, err := r.db.Spaces()
	return string(data), len(spaces) > 0, err
}

func (r *replica) setLogName(name string) error {
	b := r.db.NewBatch()
	b.SetMeta(metaLog, []byte(name))
	return b.Commit(false)
}

func (r *replica) renew(remove func() error) error {
	if db := r.drainReaders(); db != nil {
		_ = db.Close() // its unwritten data is discarded with it
	}
	r.mu.Lock()
	r.db = nil
	r.mu.Unlock()
	if err := remove(); err != nil {
		return fmt.Errorf("remove the replica: %w", err)
	}
	if err := r.open(); err != nil {
		return fmt.Errorf("make a replica in %s: %w", r.dir, err)
	}
	return nil
}

// reopen opens a database again after a failed write.
func (r *replica) reopen() error {
	db := r.drainReaders()
	if db == nil {
		return r.open()
	}
	return db.Reopen()
}

// close closes the database.
func (r *replica) close() error {
	var errs []error
	if db := r.drainReaders(); db != nil {
		errs = append(errs, db.Close())
	}
	errs = append(errs, r.lock.Close())
	if r.temp {
		errs = append(errs, os.RemoveAll(r.dir))
	}
	return errors.Join(errs...)
}

// position is how far the replica covers a stream: up to seq, of the stream
// created at that time. A stream that was deleted and recreated has another
// creation time.
type position struct {
	created int64 // nanoseconds since 1970; 0: no stream yet
	seq     uint64
	time    int64 // when the stream stored message seq, nanoseconds since 1970
	// digest covers the replica's entries of the stream.
	digest digest
}

func metaPosition(stream string) string { return "position/" + stream }

func (p position) encode() []byte {
	b := binary.AppendVarint(nil, p.created)
	b = binary.AppendUvarint(b, p.seq)
	return p.digest.append(binary.AppendVarint(b, p.time))
}

func decodePosition(b []byte) (position, error) {
	if len(b) == 0 {
		return position{}, nil
	}
	created, n := binary.Varint(b)
	if n <= 0 {
		return position{}, errors.New("position cannot be read")
	}
	seq, m := binary.Uvarint(b[n:])
	if m <= 0 {
		return position{}, errors.New("position cannot be read")
	}
	at, k := binary.Varint(b[n+m:])
	if k <= 0 || len(b) != n+m+k+digestBytes {
		return position{}, errors.New("position cannot be read")
	}
	return position{created: created, seq: seq, time: at, digest: decodeDigest(b[n+m+k:])}, nil
}
