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

// ErrReplicaInUse: another process has the folder of the replica.
var ErrReplicaInUse = errors.New("in use by another process")

// replica is the local copy of the log. It can be wiped and filled again at
// any time; while it is not complete, nobody but the streams may read it.
type replica struct {
	dir  string
	temp bool // remove dir at the end
	lock io.Closer
	log  *slog.Logger

	mu     sync.Mutex
	db     *entrydb.DB
	whole  chan struct{} // closed when every stream has caught up once since db was opened
	users  int
	vacant *sync.Cond // users is 0
}

var errReplaying = errors.New("the log is being read from NATS")

// replicaFormat is stored in the replica; one of another format is made anew.
// It also changes with the encoding of entries: digests cover that.
const replicaFormat = "4"

const metaFormat = "format"

// openReplica opens the replica in dir, or a temporary one. What cannot be
// read is thrown away. Err: the folder is in use or cannot be written.
func openReplica(dir string, log *slog.Logger) (*replica, error) {
	r := &replica{dir: dir, log: log, whole: make(chan struct{})}
	r.vacant = sync.NewCond(&r.mu)
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
	// Without this, the lock of a second gateway would look like damage.
	lock, err := vfs.Default.Lock(filepath.Join(r.dir, "replica.lock"))
	if err != nil {
		return nil, fmt.Errorf("replica in %s: %w: %w", r.dir, ErrReplicaInUse, err)
	}
	r.lock = lock
	_ = os.RemoveAll(r.secondDir()) // of a run that was killed; tried again before the next one
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

// use returns the database to a reader, who calls done when it is finished
// with it. Err: ErrUnavailable while the replica is not complete.
func (r *replica) use() (db *entrydb.DB, done func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.db == nil || !r.isWhole() {
		return nil, nil, unavailable(errReplaying)
	}
	r.users++
	return r.db, r.leave, nil
}

func (r *replica) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users--; r.users == 0 {
		r.vacant.Broadcast()
	}
}

// complete lets readers in.
func (r *replica) complete() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isWhole() {
		close(r.whole)
	}
}

// completed returns a channel that is closed when the replica is complete.
func (r *replica) completed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.whole
}

func (r *replica) isWhole() bool {
	select {
	case <-r.whole:
		return true
	default:
		return false
	}
}

// reset notes that the replica is not complete.
func (r *replica) reset() {
	if r.isWhole() {
		r.whole = make(chan struct{})
	}
}

// withdraw lets no reader in and waits for those that are there. The streams
// must not use the database any more.
func (r *replica) withdraw() *entrydb.DB {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reset()
	for r.users > 0 {
		r.vacant.Wait()
	}
	return r.db
}

// wipe makes an empty database in the place of one that cannot be read.
func (r *replica) wipe() error {
	return r.renew(func() error { return os.RemoveAll(r.path()) })
}

// setAside renames the database, which is good but of a log that NATS does not
// have any more, and makes an empty one. It returns the new name.
func (r *replica) setAside(now time.Time) (string, error) {
	name := r.path() + ".replaced-" + now.UTC().Format("20060102T150405.000Z")
	return name, r.renew(func() error {
		if r.temp {
			return os.RemoveAll(r.path())
		}
		return os.Rename(r.path(), name)
	})
}

// logName returns which log the replica is a copy of, if any, and whether it
// has entries.
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
	if db := r.withdraw(); db != nil {
		_ = db.Close() // it goes away with all that it could not write
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

// reopen opens a database again that could not write.
func (r *replica) reopen() error {
	db := r.withdraw()
	if db == nil {
		return r.open()
	}
	return db.Reopen()
}

// close closes the database.
func (r *replica) close() error {
	var errs []error
	if db := r.withdraw(); db != nil {
		errs = append(errs, db.Close())
	}
	errs = append(errs, r.lock.Close())
	if r.temp {
		errs = append(errs, os.RemoveAll(r.dir))
	}
	return errors.Join(errs...)
}

// position is how far a replica has a stream: all up to a sequence, of the
// stream that was created at that time. A stream that was deleted and made
// again has another.
type position struct {
	created int64 // nanoseconds since 1970; 0: of no stream yet
	seq     uint64
	time    int64 // when the stream took the message seq, nanoseconds since 1970
	// digest is of the entries that the replica has of the stream.
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
