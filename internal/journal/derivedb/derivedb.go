// Package derivedb keeps data that is derived from the log, such as an index, in a Pebble
// database.
//
// The data can be derived again. So a write does not wait for the disk, and a database that
// is missing, damaged or of another version is begun again. Its write-ahead log
// bounds what has to be derived again after a crash; where the log
// cannot be written, the database goes on without it. Only a write that fills a memtable
// waits, for the log of that one to be synced.
//
// Keys of a database are a class, which is one byte, and a text or a number:
//
//	v              version of the rows
//	n              the last number of a space
//	s NAME         the row of a space, as JSON
//	C NUMBER ...   rows of a space, of the classes that its user defines
package derivedb

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Sizes of the store, which also bound its memory.
const (
	cacheBytes    = 16 << 20
	maxOpenTables = 64
	// maxUnwritten bounds how much waits to be written to disk, in full memtables.
	maxUnwritten = 8
	// syncInterval is the least time between two syncs of a log, which compete with those
	// of the spaces' logs. A commit waits so long to be written, unless a block is full.
	syncInterval = 100 * time.Millisecond
	// closeTimeout bounds how long Close waits for the disk. Rows that are not written
	// then are derived again.
	closeTimeout = 3 * time.Second
)

// ErrDamaged: rows cannot be read. The database has to be opened with Reset.
var ErrDamaged = errors.New("the index is damaged")

// errVersion: the rows, or the store, are of another version.
var errVersion = errors.New("the index is of another version")

// ErrClosed: the database was closed.
var ErrClosed = errors.New("the index is closed")

// IsNewer reports whether err is the error of a database in a format of Pebble that this
// build does not know. Pebble has no value for it.
func IsNewer(err error) bool {
	return strings.Contains(err.Error(), "written in unknown format major version")
}

// Schema describes the rows of a database.
type Schema struct {
	Name    string // in texts, such as "search index"
	Version string // a database of another version is begun again
	// MemTableBytes is the size of a memtable: what the next Open reads of the log, and what a crash
	// loses if the log could not be written.
	MemTableBytes uint64
	Tune          func(*pebble.Options) // sets further options
}

// Options configures a DB.
type Options struct {
	Dir    string // "": the rows are in memory
	Reset  bool   // remove an existing database
	Logger *slog.Logger

	FS vfs.FS // nil: the operating system's. Tests inject failures
}

// DB is a database. Its methods may be called concurrently.
type DB struct {
	schema  Schema
	log     *slog.Logger
	damaged atomic.Bool
	walFS   *walFS
	retries *retryFS

	access sync.RWMutex // held for writing while the store is closed
	store  *pebble.DB   // nil: closed

	numbers sync.Mutex // guards the numbers of spaces
}

// Open opens a database, or begins an empty one if there is none, or one of another
// version, or one that cannot be read.
func Open(s Schema, o Options) (*DB, error) {
	if o.FS == nil {
		o.FS = vfs.Default
		if o.Dir == "" {
			o.FS = vfs.NewMem()
		}
	}
	if o.Dir == "" {
		o.Dir = "derived"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if !o.Reset {
		db, err := open(s, o)
		if err == nil || !errors.Is(err, ErrDamaged) && !errors.Is(err, errVersion) {
			return db, err
		}
		o.Logger.Warn("the "+s.Name+" is built again", "reason", err)
	}
	if err := o.FS.RemoveAll(o.Dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the %s: %w", s.Name, err)
	}
	return open(s, o)
}

var keyVersion = []byte("v")

func open(s Schema, o Options) (*DB, error) {
	db := &DB{schema: s, log: o.Logger, retries: &retryFS{FS: o.FS}}
	db.retries.onStop = func(err error) {
		db.damaged.Store(true)
		o.Logger.Warn("the tables of the "+s.Name+" cannot be recorded", "error", err)
	}
	o.FS = db.retries
	var opened atomic.Bool
	compactions := NewScheduler(opened.Load)
	db.walFS = &walFS{FS: o.FS, failed: func(err error) {
		o.Logger.Warn("the log of the "+s.Name+" cannot be written; until the next start, more of it may be lost in a crash", "error", err)
	}}
	store, err := pebble.Open(o.Dir, db.storeOptions(db.walFS, compactions))
	if err != nil {
		compactions.Unregister()
	}
	if cause := db.retries.stopped.Load(); cause != nil { // what is on disk can be opened later
		if err == nil {
			err = store.Close()
		}
		return nil, errors.Join(fmt.Errorf("open: record the tables of the %s: %w", s.Name, *cause), err)
	}
	if err != nil {
		if IsNewer(err) {
			err = fmt.Errorf("%w: %w", errVersion, err)
		}
		return nil, fmt.Errorf("open: %w", db.Failed(err))
	}
	opened.Store(true)
	found, err := Get(store, keyVersion)
	switch {
	case err == nil && found == nil:
		err = begin(store, s.Version)
	case err == nil && string(found) != s.Version:
		err = fmt.Errorf("%w: it has version %q, this program has %q", errVersion, found, s.Version)
	}
	if err != nil {
		return nil, errors.Join(db.Failed(err), store.Close())
	}
	db.store = store
	return db, nil
}

// begin writes the version, which is the first row of a database. Rows without one are what a log had that
// followed on lost tables.
func begin(store *pebble.DB, version string) error {
	rows, err := store.NewIter(nil)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // its error is that of rows
	if rows.First() {
		return fmt.Errorf("%w: its beginning is missing", ErrDamaged)
	}
	if err := rows.Error(); err != nil {
		return err
	}
	return store.Set(keyVersion, []byte(version), pebble.NoSync)
}

func (db *DB) storeOptions(fs vfs.FS, s *Scheduler) *pebble.Options {
	opts := &pebble.Options{
		FS: fs, CacheSize: cacheBytes, MemTableSize: db.schema.MemTableBytes, MaxOpenFiles: maxOpenTables,
		FormatMajorVersion: pebble.FormatNewest,
		// A write never waits for the disk; see Full.
		MemTableStopWritesThreshold: math.MaxInt32, L0StopWritesThreshold: math.MaxInt32,
		CompactionConcurrencyRange: func() (int, int) { return 1, 1 },
		Logger:                     storeLogger{db},
	}
	opts.WALMinSyncInterval = func() time.Duration { return syncInterval }
	opts.Experimental.CompactionScheduler = s
	opts.EventListener = &pebble.EventListener{
		DataCorruption: func(pebble.DataCorruptionInfo) { db.damaged.Store(true) },
		BackgroundError: func(err error) {
			db.retries.failed.Store(time.Now().UnixNano())
			db.log.Debug("background work will be tried again", "error", db.Failed(err))
		},
	}
	if db.schema.Tune != nil {
		db.schema.Tune(opts)
	}
	return opts
}

// storeLogger turns Pebble's fatal messages, which would end the process, into a
// damaged database.
type storeLogger struct{ *DB }

func (l storeLogger) Infof(string, ...any) {}

func (l storeLogger) Errorf(format string, args ...any) {
	l.log.Warn(l.schema.Name + ": " + fmt.Sprintf(format, args...))
}

// Fatalf reports the first failure alone: the others follow from it.
func (l storeLogger) Fatalf(format string, args ...any) {
	if !l.damaged.Swap(true) {
		l.Errorf(format, args...)
	}
}

// Close writes committed rows to disk, unless the database is damaged, and closes it. With
// returns ErrClosed from then on.
func (db *DB) Close() error {
	db.access.Lock()
	defer db.access.Unlock()
	if db.store == nil {
		return nil
	}
	var err error
	if !db.damaged.Load() {
		var flushed <-chan struct{}
		flushed, err = db.store.AsyncFlush()
		if err == nil {
			timeout := time.NewTimer(closeTimeout)
			defer timeout.Stop()
			select {
			case <-flushed:
			case <-timeout.C:
			}
		}
	}
	err = errors.Join(err, db.store.Close())
	db.store = nil
	return err
}

// Commit commits a batch, which must not be used again. The log is written and synced in the background, in
// the order of the commits, at most every 100 ms. What others commit by With, without a sync, is written when a
// block of the log is full, so a kill costs the last 32 kB of it.
func (db *DB) Commit(b *pebble.Batch) error {
	return db.With(func(store *pebble.DB) error { return store.ApplyNoSyncWait(b, pebble.Sync) })
}

// StartFlush starts to write committed rows to disk, unless the log has them, which it does until it fails. It does not
// wait for the disk.
func (db *DB) StartFlush() error {
	return db.With(func(store *pebble.DB) error {
		if !db.walFS.broken.Load() {
			return nil
		}
		_, err := store.AsyncFlush()
		return err
	})
}

// Damaged reports whether rows could not be read.
func (db *DB) Damaged() bool { return db.damaged.Load() }

// Full reports that so much waits for the disk that nothing should be committed now.
func (db *DB) Full() bool {
	db.access.RLock()
	defer db.access.RUnlock()
	return db.store != nil && db.store.Metrics().MemTable.Size > maxUnwritten*db.schema.MemTableBytes
}

// Size returns the size on disk, in bytes.
func (db *DB) Size() uint64 {
	db.access.RLock()
	defer db.access.RUnlock()
	if db.store == nil {
		return 0
	}
	return db.store.Metrics().DiskSpaceUsage()
}

// Store returns the store, for a user that closes the database after its last access.
// Others use With.
func (db *DB) Store() *pebble.DB { return db.store }

// With calls f with the store while it is open, and marks its error. f must not call
// With.
func (db *DB) With(f func(*pebble.DB) error) error {
	db.access.RLock()
	defer db.access.RUnlock()
	if db.store == nil {
		return ErrClosed
	}
	if db.damaged.Load() {
		return ErrDamaged
	}
	if err := f(db.store); err != nil {
		return db.Failed(err)
	}
	return nil
}

// Failed marks an error of the store: it is ErrDamaged if the error is, or comes from a
// damaged or missing file. The database is damaged from then on.
func (db *DB) Failed(err error) error {
	damaged := errors.Is(err, ErrDamaged)
	if !damaged && (pebble.IsCorruptionError(err) || errors.Is(err, os.ErrNotExist) || db.damaged.Load()) {
		damaged, err = true, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if damaged {
		db.damaged.Store(true)
	}
	return fmt.Errorf("%s: %w", db.schema.Name, err)
}

// Get returns a copy of a row; nil: there is none.
func Get(from pebble.Reader, key []byte) ([]byte, error) {
	v, closer, err := from.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = closer.Close() }()
	return append([]byte{}, v...), nil
}
