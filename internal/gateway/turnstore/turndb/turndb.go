// Package turndb stores the indexes of turns of many spaces in one Pebble database.
//
//	DB     the database; a derived copy, which is begun again if it is missing, damaged
//	       or of another version
//	Space  the rows of one space: turns.Rows
package turndb

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// version is the version of the rows. A database of another version is begun again.
const version = "1"

// Sizes of the store, which also bound its memory. A crash loses the rows that are not on
// disk, usually less than memTableBytes; they are made again from the log.
const (
	memTableBytes = 4 << 20
	cacheBytes    = 16 << 20
	bloomBits     = 10
	maxOpenTables = 64
	// maxUnwritten bounds what waits to be written to disk, such as a full one.
	maxUnwritten = 8 * memTableBytes
	// closeTimeout bounds how long Close waits for the disk.
	closeTimeout = 3 * time.Second
)

// ErrDamaged: the rows cannot be read. The database has to be opened with Reset.
var ErrDamaged = errors.New("the index of turns is damaged")

// ErrClosed: the database was closed.
var ErrClosed = errors.New("the index of turns is closed")

// Options configures a DB.
type Options struct {
	Dir    string // "": the rows are in memory
	Reset  bool   // remove what is there
	Logger *slog.Logger

	FS vfs.FS // nil: the operating system's. Tests inject failures
}

// DB is a database. Its methods may be called concurrently.
type DB struct {
	damaged atomic.Bool
	access  sync.RWMutex // held for writing while the store is closed
	store   *pebble.DB   // nil: closed

	mu sync.Mutex // guards the numbers of spaces
}

// Open opens a database, or begins an empty one if there is none, or one of another
// version, or one that cannot be read.
func Open(o Options) (*DB, error) {
	if o.FS == nil {
		o.FS = vfs.Default
		if o.Dir == "" {
			o.FS = vfs.NewMem()
		}
	}
	if o.Dir == "" {
		o.Dir = "turns"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if !o.Reset {
		db, err := open(o)
		if err == nil || !errors.Is(err, ErrDamaged) {
			return db, err
		}
		if !errors.Is(err, pebble.ErrDBDoesNotExist) {
			o.Logger.Warn("the index of turns is built again", "reason", err)
		}
	}
	if err := o.FS.RemoveAll(o.Dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the index of turns: %w", err)
	}
	o.Reset = true
	return open(o)
}

func open(o Options) (*DB, error) {
	db := new(DB)
	store, err := pebble.Open(o.Dir, db.storeOptions(o))
	if err != nil {
		if errors.Is(err, pebble.ErrDBDoesNotExist) || pebble.IsCorruptionError(err) || errors.Is(err, os.ErrNotExist) {
			err = errors.Join(ErrDamaged, err)
		}
		return nil, fmt.Errorf("open the index of turns: %w", err)
	}
	db.store = store
	found, err := db.get(store, []byte{keyVersion})
	switch {
	case err == nil && found == nil:
		err = store.Set([]byte{keyVersion}, []byte(version), pebble.NoSync)
	case err == nil && string(found) != version:
		err = fmt.Errorf("%w: it has version %q, this program has %q", ErrDamaged, found, version)
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return db, nil
}

func (db *DB) storeOptions(o Options) *pebble.Options {
	opts := &pebble.Options{
		FS: o.FS, CacheSize: cacheBytes, MemTableSize: memTableBytes, MaxOpenFiles: maxOpenTables,
		DisableWAL: true, FormatMajorVersion: pebble.FormatNewest,
		// A write never waits for the disk; see Full.
		MemTableStopWritesThreshold: math.MaxInt32, L0StopWritesThreshold: math.MaxInt32,
		CompactionConcurrencyRange: func() (int, int) { return 1, 1 },
		Logger:                     storeLogger{db, o.Logger},
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBits)
	}
	opts.EventListener = &pebble.EventListener{
		DataCorruption:  func(pebble.DataCorruptionInfo) { db.damaged.Store(true) },
		BackgroundError: func(err error) { o.Logger.Debug("index of turns: background work will be tried again", "error", err) },
	}
	return opts
}

// storeLogger turns Pebble's fatal messages, which would end the process, into a
// damaged database.
type storeLogger struct {
	db  *DB
	log *slog.Logger
}

func (l storeLogger) Infof(string, ...any) {}

func (l storeLogger) Errorf(format string, args ...any) {
	l.log.Warn("index of turns: " + fmt.Sprintf(format, args...))
}

func (l storeLogger) Fatalf(format string, args ...any) {
	l.db.damaged.Store(true)
	l.Errorf(format, args...)
}

// Close writes committed rows to disk and closes the database. The rows of its spaces
// answer with ErrClosed from then on.
func (db *DB) Close() error {
	db.access.Lock()
	defer db.access.Unlock()
	if db.store == nil {
		return nil
	}
	flushed, err := db.store.AsyncFlush()
	if err == nil {
		timeout := time.NewTimer(closeTimeout)
		defer timeout.Stop()
		select {
		case <-flushed:
		case <-timeout.C:
		}
	}
	err = errors.Join(err, db.store.Close())
	db.store = nil
	return err
}

// Damaged reports whether rows could not be read.
func (db *DB) Damaged() bool { return db.damaged.Load() }

// MarkDamaged makes the next opening begin again: rows were read that make no sense.
func (db *DB) MarkDamaged() { db.damaged.Store(true) }

// Full reports that so much waits for the disk that nothing should be committed now.
func (db *DB) Full() bool {
	db.access.RLock()
	defer db.access.RUnlock()
	return db.store != nil && db.store.Metrics().MemTable.Size > maxUnwritten
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

// with calls f with the store while it is open.
func (db *DB) with(f func(*pebble.DB) error) error {
	db.access.RLock()
	defer db.access.RUnlock()
	if db.store == nil {
		return ErrClosed
	}
	if db.damaged.Load() {
		return ErrDamaged
	}
	if err := f(db.store); err != nil {
		return db.failed(err)
	}
	return nil
}

// failed marks an error of the store.
func (db *DB) failed(err error) error {
	if pebble.IsCorruptionError(err) || db.damaged.Load() {
		db.damaged.Store(true)
		return errors.Join(ErrDamaged, err)
	}
	return fmt.Errorf("index of turns: %w", err)
}

// get returns a copy of a row; nil: there is none.
func (db *DB) get(from pebble.Reader, key []byte) ([]byte, error) {
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

// Keys of the database.
//
//	v              version
//	n              the last number of a space
//	s NAME         log and number of a space, as JSON
//	r NUMBER ...   the rows of a space
const (
	keyVersion = 'v'
	keyNumber  = 'n'
	keySpace   = 's'
	keyRows    = 'r'
)

// position is the row of a space.
type position struct {
	Log    string `json:"log"`
	Number uint32 `json:"number"`
}

func rowsKey(number uint32) []byte { return binary.BigEndian.AppendUint32([]byte{keyRows}, number) }

// Space returns the rows of a space. The ones of another log are dropped, and with
// reset all. One user at a time may have the rows of a space.
func (db *DB) Space(name, log string, reset bool) (*Space, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	s := &Space{db: db}
	return s, db.with(func(store *pebble.DB) error {
		key := append([]byte{keySpace}, name...)
		row, err := db.get(store, key)
		if err != nil {
			return err
		}
		var p position
		if row != nil {
			if err := json.Unmarshal(row, &p); err != nil {
				db.damaged.Store(true)
				return err
			}
		}
		if p.Log != log || reset {
			if p, err = db.begin(store, key, p, log); err != nil {
				return err
			}
		}
		s.prefix = rowsKey(p.Number)
		s.batch = store.NewIndexedBatch()
		return nil
	})
}

// begin drops the rows of a space and gives it another number.
func (db *DB) begin(store *pebble.DB, key []byte, before position, log string) (position, error) {
	last, err := db.get(store, []byte{keyNumber})
	if err != nil {
		return before, err
	}
	n, _ := binary.Uvarint(last)
	p := position{Log: log, Number: uint32(n + 1)}
	row, err := json.Marshal(p)
	if err != nil {
		return before, err
	}
	b := store.NewBatch()
	defer func() { _ = b.Close() }()
	if before.Log != "" {
		err = b.DeleteRange(rowsKey(before.Number), rowsKey(before.Number+1), nil)
	}
	err = errors.Join(err, b.Set([]byte{keyNumber}, binary.AppendUvarint(nil, n+1), nil), b.Set(key, row, nil))
	if err == nil {
		err = b.Commit(pebble.NoSync)
	}
	return p, err
}
