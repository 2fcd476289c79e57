// Package entrydb stores the entries of many spaces in one Pebble database: the
// whole log of a gateway with an embedded journal, or the local replica of a
// remote log.
//
// It stores each entry under its given Seq. The journals give the order; [Batch.Decide]
// has their rules for a draft: stale, a retry, a used id, a settled proposal. It adds indexes:
// by Seq, by id, by context, state entries alone. All of them, and any meta
// value, are written in one atomic [Batch].
//
// # Failure
//
// When a write to its write-ahead log fails, Pebble ends the process, or panics
// with its locks held. A gateway has to survive a full disk, so the database
// runs on a file system (see [failStopFS]) that treats the first such error as
// a power failure: from then on nothing more reaches the disk, and later writes
// of Pebble go to memory. Every commit in progress returns
// [journal.ErrUnavailable]. Whether it succeeded is known only after
// [DB.Reopen], which opens the store again as after a crash. Until then the
// database is read-only.
//
// # Keys
//
// Every key begins with a byte for its table. A space and a context are written
// as their length and their bytes, so that none is a prefix of another; a Seq
// is eight bytes, big endian.
//
//	e space seq          → the encoded entry
//	i space id           → seq
//	c space context seq  → nothing; a row for each path that the entry is within
//	s space seq          → nothing; state entries only
//	p space proposal     → seq of the entry that settles the proposal
//	t space              → seq: everything below was dropped, except state entries
//	f space              → a snapshot of what was folded from the entries
//	b space seq          → what was folded from the entries below seq that were dropped
//	m name               → a value that a journal stores next to its entries
//	z                    → size in bytes of the rows of all entries
package entrydb

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/derivedb"
)

// Options configures a database. The zero value is a database in memory.
type Options struct {
	// Dir is the database's folder, which is created if it does not exist. Empty:
	// the database is in memory and lost when it is closed.
	Dir string
	// FS has the folder; nil is the file system of the machine, or a new one in
	// memory if Dir is empty.
	FS vfs.FS
	// CutDamage opens a database whose write-ahead log is damaged before its end.
	// The data after the damage is lost; the damaged files are kept in a folder
	// next to it.
	CutDamage bool
	// ReadOnly opens an existing database without a change of its files. Commits are
	// rejected.
	ReadOnly bool
	// Logger receives warnings and errors for operators; nil: discarded.
	Logger *slog.Logger
}

// DB is an open database. All methods may be called concurrently.
type DB struct {
	dir      string
	fs       vfs.FS
	log      *slog.Logger
	readOnly bool

	reopening sync.Mutex // held by Reopen and Close, so that only one runs at a time

	mu     sync.Mutex
	cur    *store // nil while no store is open
	err    error  // why cur is nil
	closed bool
}

// store is one opening of the database; [DB.Reopen] makes another.
type store struct {
	pdb *pebble.DB
	fs  *failStopFS

	// Guarded by DB.mu.
	users   int
	leaving bool
	drained chan struct{} // closed when the last user has left after detach
}

var errClosed = errors.New("the log is closed")

// memoryDir is the folder of a database without Options.Dir.
const memoryDir = "log"

// Open opens the database and creates it if it does not exist. The error names
// the folder, and the file if one is damaged; it wraps ErrInUse if another
// process has the database open.
func Open(o Options) (*DB, error) {
	d := &DB{dir: o.Dir, fs: o.FS, log: o.Logger, readOnly: o.ReadOnly}
	if d.fs == nil {
		d.fs = vfs.Default
		if o.Dir == "" {
			d.fs = vfs.NewMem()
		}
	}
	if d.dir == "" {
		d.dir = memoryDir
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	s, err := d.openStore()
	if damage := new(damagedWAL); o.CutDamage && errors.As(err, &damage) {
		kept, cutErr := cutWAL(d.fs, damage.path)
		if cutErr != nil {
			return nil, fmt.Errorf("cut the damaged write-ahead log %s: %w", damage.path, cutErr)
		}
		d.log.Warn("log store: a damaged write-ahead log was cut where the damage begins", "file", damage.path, "kept", kept)
		s, err = d.openStore()
	}
	if err != nil {
		return nil, err
	}
	d.cur = s
	return d, nil
}

// Exists reports whether a folder has a database. It changes nothing.
func Exists(fs vfs.FS, dir string) (bool, error) {
	if _, err := fs.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	found, err := pebble.Peek(dir, fs)
	if err != nil {
		return false, fmt.Errorf("open log in %s: %w", dir, describeFormat(err))
	}
	return found.Exists, nil
}

// FS returns the file system of the database's folder.
func (d *DB) FS() vfs.FS { return d.fs }

// Dir returns the database's folder.
func (d *DB) Dir() string { return d.dir }

// openStore opens Pebble on a failStopFS of its own.
func (d *DB) openStore() (s *store, err error) {
	g := newFailStopFS(d.fs, d.dir)
	compactions := derivedb.NewScheduler(g.allowsCompaction)
	defer func() {
		if err != nil {
			compactions.Unregister()
			err = fmt.Errorf("open log in %s: %w", d.dir, err)
		}
	}()
	options := pebbleOptions(g, compactions, d.log)
	options.ReadOnly = d.readOnly
	pdb, err := openPebble(d.dir, options)
	if err != nil {
		return nil, describeOpenError(cmp.Or(g.failure(), err), g)
	}
	if failure := g.failure(); failure != nil {
		_ = pdb.Close() // nothing of it is on disk
		return nil, failure
	}
	g.allowCompaction(0)
	return &store{pdb: pdb, fs: g, drained: make(chan struct{})}, nil
}

// openPebble opens a store. Pebble panics on some damage; openPebble turns that
// into an error.
func openPebble(dir string, o *pebble.Options) (pdb *pebble.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			pdb, err = nil, fmt.Errorf("the store is damaged: %v", r)
		}
	}()
	return pebble.Open(dir, o)
}

// ErrNewer means that a later version of the gateway wrote the folder.
var ErrNewer = errors.New("this folder was written by a newer meup")

// describeFormat marks the error of a format of Pebble that this build does not know.
func describeFormat(err error) error {
	if derivedb.IsNewer(err) {
		return fmt.Errorf("%w (%w, this build reads up to %d); nothing was changed. Start that version, or restore a backup of this one",
			ErrNewer, err, pebble.FormatNewest)
	}
	return err
}

// ErrInUse means that the store is open already, usually in a running gateway.
var ErrInUse = errors.New("another process has it open")

// describeOpenError turns errors that an operator can act on into descriptive ones.
// Pebble does not always name the file that it read; while it opens, it reads
// one file after the other, so the last one opened is the cause.
func describeOpenError(err error, g *failStopFS) error {
	switch {
	case pebble.IsCorruptionError(err):
		if _, ok := isWAL(g, g.lastRead()); ok {
			return &damagedWAL{g.lastRead(), err}
		}
		return fmt.Errorf("the store is damaged, look at %s: %w", g.lastRead(), err)
	case isLocked(err):
		return fmt.Errorf("%w: %w", ErrInUse, err)
	}
	return describeFormat(err)
}

// isLocked reports whether err is the error of the lock file. Pebble has no
// value for it: on disk it is the system's error, within one process only a
// text.
func isLocked(err error) bool {
	text := err.Error()
	return strings.Contains(text, "resource temporarily unavailable") ||
		strings.Contains(text, "being used by another process") || // Windows
		strings.Contains(text, "lock held by current process")
}

// acquire returns the open store and keeps it open until release is called.
// Err: ErrUnavailable.
func (d *DB) acquire() (*store, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cur == nil {
		return nil, journal.Unavailable(d.err)
	}
	d.cur.users++
	return d.cur, nil
}

func (d *DB) release(s *store) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.users--
	if s.leaving && s.users == 0 {
		close(s.drained)
	}
}

// detach makes the open store unavailable to new users, with the given reason,
// and waits for its current users. It returns nil if no store is open.
func (d *DB) detach(reason error) *store {
	d.mu.Lock()
	s := d.cur
	d.cur, d.err = nil, reason
	if s == nil {
		d.mu.Unlock()
		return nil
	}
	s.leaving = true
	if s.users == 0 {
		close(s.drained)
	}
	d.mu.Unlock()
	<-s.drained
	return s
}

// Close waits for calls in progress and closes the database.
func (d *DB) Close() error {
	d.reopening.Lock()
	defer d.reopening.Unlock()
	d.mu.Lock()
	again := d.closed
	d.closed = true
	d.mu.Unlock()
	if again {
		return nil
	}
	s := d.detach(errClosed)
	if s == nil {
		return nil
	}
	if s.fs.failure() == nil && !d.readOnly {
		// Tables have a checksum for each block, the end of a log has none: damage
		// there looks like a write that a crash interrupted.
		_ = s.pdb.Flush() // if it fails, the log has all entries
	}
	err := s.pdb.Close()
	if s.fs.failure() != nil {
		return nil // reported when it happened; an error from closing adds nothing
	}
	if err != nil {
		return fmt.Errorf("close log in %s: %w", d.dir, err)
	}
	return nil
}
