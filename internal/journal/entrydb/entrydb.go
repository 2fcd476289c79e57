package entrydb

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/meup-protocol/meup/internal/journal"
)

// Options say where a database is. The zero value is one in memory.
type Options struct {
	// Dir is the database's folder, made if it is absent. Empty: the database
	// is in memory and gone when it is closed.
	Dir string
	// FS holds the folder; nil is the file system of the machine, or a new one
	// in memory if Dir is empty.
	FS vfs.FS
	// CutDamage opens a database whose write-ahead log is damaged before its
	// end. What follows the damage is lost; the damaged files are kept in a
	// folder beside it.
	CutDamage bool
	// Logger is told of what an operator must look at; nil: nobody.
	Logger *slog.Logger
}

// DB is an open database. All methods may be called concurrently.
type DB struct {
	dir string
	fs  vfs.FS
	log *slog.Logger

	reopening sync.Mutex // held by Reopen and Close: one of them at a time

	mu     sync.Mutex
	cur    *store // nil while none is open
	err    error  // why cur is nil
	closed bool
}

// store is one opening of the database; [DB.Reopen] makes another.
type store struct {
	pdb  *pebble.DB
	gate *gate

	// Guarded by DB.mu.
	users   int
	leaving bool
	drained chan struct{} // closed when the last user has gone after leaving
}

var errClosed = errors.New("the log is closed")

// memoryDir is the folder of a database that has no other.
const memoryDir = "log"

// Open opens the database, making it if there is none. The error names the
// folder, and the file where one is damaged; it says so when another process
// has the database open.
func Open(o Options) (*DB, error) {
	d := &DB{dir: o.Dir, fs: o.FS, log: o.Logger}
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
		s, err = d.openCut(damage.path)
	}
	if err != nil {
		return nil, err
	}
	d.cur = s
	return d, nil
}

// FS returns the file system that holds the database's folder.
func (d *DB) FS() vfs.FS { return d.fs }

// Dir returns the database's folder.
func (d *DB) Dir() string { return d.dir }

// openStore opens Pebble behind a gate of its own.
func (d *DB) openStore() (s *store, err error) {
	g := newGate(d.fs, d.dir)
	compactions := newCompactionScheduler(g)
	defer func() {
		if err != nil {
			compactions.Unregister()
			err = fmt.Errorf("open log in %s: %w", d.dir, err)
		}
	}()
	pdb, err := openPebble(d.dir, pebbleOptions(g, compactions, d.log))
	if err != nil {
		return nil, explain(first(g.failure(), err), g)
	}
	if failure := g.failure(); failure != nil {
		_ = pdb.Close() // it has nothing on disk to lose
		return nil, failure
	}
	g.allowCompaction(0)
	return &store{pdb: pdb, gate: g, drained: make(chan struct{})}, nil
}

// openPebble opens a store. Pebble panics on some damage; here that is an
// error like any other.
func openPebble(dir string, o *pebble.Options) (pdb *pebble.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			pdb, err = nil, fmt.Errorf("the store is damaged: %v", r)
		}
	}()
	return pebble.Open(dir, o)
}

// ErrInUse: the store is open already, usually in a gateway that runs.
var ErrInUse = errors.New("another process has it open")

// explain puts what an operator can do something about into words. Pebble does
// not always say which file it was reading; while it opens, it reads one after
// the other.
func explain(err error, g *gate) error {
	switch {
	case pebble.IsCorruptionError(err):
		if _, ok := isWAL(g, g.lastRead()); ok {
			return &damagedWAL{g.lastRead(), err}
		}
		return fmt.Errorf("the store is damaged, look at %s: %w", g.lastRead(), err)
	case isLocked(err):
		return fmt.Errorf("%w: %w", ErrInUse, err)
	}
	return err
}

// isLocked recognises the error of the lock file. Pebble has no value for it:
// on disk it is the system's, in one process a text.
func isLocked(err error) bool {
	text := err.Error()
	return strings.Contains(text, "resource temporarily unavailable") ||
		strings.Contains(text, "lock held by current process")
}

// acquire returns the store that is open and keeps it open until release is
// called. Err: ErrUnavailable.
func (d *DB) acquire() (*store, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cur == nil {
		return nil, unavailable(d.err)
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

// detach takes the open store away from new users for the given reason and
// waits until those that have it are done. It returns nil if none is open.
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

// Close waits for what is under way and closes the database.
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
	if s.gate.failure() == nil {
		// Tables are checked block by block, the end of a log is not: there,
		// damage cannot be told from a write that a crash cut off.
		_ = s.pdb.Flush() // if it fails, the log has everything
	}
	err := s.pdb.Close()
	if s.gate.failure() != nil {
		return nil // reported when it happened; what closing adds is noise
	}
	if err != nil {
		return fmt.Errorf("close log in %s: %w", d.dir, err)
	}
	return nil
}

// unavailable makes an error that wraps ErrUnavailable and gives the reason.
func unavailable(reason error) error {
	return fmt.Errorf("%w: %w", journal.ErrUnavailable, reason)
}
