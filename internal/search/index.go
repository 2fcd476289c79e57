package search

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
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/meup-protocol/meup/protocol"
)

// version is the version of the format and of the tokens. An index of another
// version is built again.
const version = "1"

// Sizes of the store, which also bound its memory.
const (
	memTableBytes = 8 << 20
	cacheBytes    = 16 << 20
	blockBytes    = 16 << 10
	maxOpenTables = 64
	// maxUnwritten bounds what waits to be written to disk, such as a full one.
	maxUnwritten = 8 * memTableBytes
	// closeTimeout bounds how long Close waits for the disk. What is not written then
	// is indexed again.
	closeTimeout = 3 * time.Second
)

// ErrFull: the index cannot be written to disk now. What was applied is kept.
var ErrFull = errors.New("the search index cannot be written to disk")

var noSync = pebble.NoSync

// ErrDamaged: the index cannot be read. It has to be opened again with Reset.
var ErrDamaged = errors.New("the search index is damaged")

// Options configures an Index.
type Options struct {
	Dir    string // "": the index is in memory
	Reset  bool   // remove what is there
	Logger *slog.Logger

	fs vfs.FS // nil: the operating system's. Tests inject failures
}

// Index is a full-text index. Its methods may be called concurrently; the entries
// of one space are applied by one goroutine.
type Index struct {
	db      *pebble.DB
	slots   chan struct{} // of searches
	damaged atomic.Bool

	mu sync.Mutex // guards numbers of spaces
}

// Open opens an index, or begins an empty one if there is none, or one of another
// version, or one that cannot be read.
func Open(o Options) (*Index, error) {
	if o.fs == nil {
		o.fs = vfs.Default
		if o.Dir == "" {
			o.fs = vfs.NewMem()
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if !o.Reset {
		x, err := open(o)
		if err == nil || !errors.Is(err, ErrDamaged) {
			return x, err
		}
		o.Logger.Warn("the search index is built again", "reason", err)
	}
	if err := o.fs.RemoveAll(o.dir()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the search index: %w", err)
	}
	return open(o)
}

func (o *Options) dir() string {
	if o.Dir == "" {
		return "search"
	}
	return o.Dir
}

func open(o Options) (*Index, error) {
	x := &Index{slots: make(chan struct{}, maxSearches)}
	db, err := pebble.Open(o.dir(), x.storeOptions(o))
	if err != nil {
		if errors.Is(err, pebble.ErrDBDoesNotExist) || pebble.IsCorruptionError(err) {
			err = errors.Join(ErrDamaged, err)
		}
		return nil, fmt.Errorf("open the search index: %w", err)
	}
	x.db = db
	found, err := x.get([]byte{keyVersion})
	switch {
	case err == nil && found == nil:
		err = db.Set([]byte{keyVersion}, []byte(version), noSync)
	case err == nil && string(found) != version:
		err = fmt.Errorf("%w: it has version %q, this program has %q", ErrDamaged, found, version)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return x, nil
}

func (x *Index) storeOptions(o Options) *pebble.Options {
	opts := &pebble.Options{
		FS: o.fs, CacheSize: cacheBytes, MemTableSize: memTableBytes, MaxOpenFiles: maxOpenTables,
		DisableWAL: true, FormatMajorVersion: pebble.FormatNewest, Merger: &postingsMerger,
		// A write never waits for the disk; Apply fails instead, see maxUnwritten.
		MemTableStopWritesThreshold: math.MaxInt32, L0StopWritesThreshold: math.MaxInt32,
		CompactionConcurrencyRange: func() (int, int) { return 1, 1 },
		Logger:                     storeLogger{x, o.Logger},
	}
	opts.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionGood })
	for i := range opts.Levels {
		opts.Levels[i].BlockSize = blockBytes
	}
	opts.EventListener = &pebble.EventListener{
		DataCorruption:  func(pebble.DataCorruptionInfo) { x.damaged.Store(true) },
		BackgroundError: func(err error) { o.Logger.Debug("search index: background work will be tried again", "error", err) },
	}
	return opts
}

// storeLogger turns Pebble's fatal messages, which would end the process, into a
// damaged index.
type storeLogger struct {
	index *Index
	log   *slog.Logger
}

func (l storeLogger) Infof(string, ...any) {}

func (l storeLogger) Errorf(format string, args ...any) {
	l.log.Warn("search index: " + fmt.Sprintf(format, args...))
}

func (l storeLogger) Fatalf(format string, args ...any) {
	l.index.damaged.Store(true)
	l.Errorf(format, args...)
}

// Close writes the index to disk and closes it.
func (x *Index) Close() error {
	flushed, err := x.db.AsyncFlush()
	if err == nil {
		timeout := time.NewTimer(closeTimeout)
		defer timeout.Stop()
		select {
		case <-flushed:
		case <-timeout.C:
		}
	}
	return errors.Join(err, x.db.Close())
}

// Size returns the size of the index on disk, in bytes.
func (x *Index) Size() uint64 { return x.db.Metrics().DiskSpaceUsage() }

// get returns a value; nil: there is none.
func (x *Index) get(key []byte) ([]byte, error) {
	v, closer, err := x.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, x.failed(err)
	}
	defer func() { _ = closer.Close() }()
	return append([]byte{}, v...), nil
}

// failed marks an error of the store.
func (x *Index) failed(err error) error {
	if errors.Is(err, errPostings) || pebble.IsCorruptionError(err) || x.damaged.Load() {
		x.damaged.Store(true)
		return errors.Join(ErrDamaged, err)
	}
	return fmt.Errorf("search index: %w", err)
}

// Position is how far the log of a space is indexed.
type Position struct {
	// Log is the id of the indexed log; "": there is none.
	Log string `json:"log"`
	// Read is the Seq up to which the log was read.
	Read protocol.Seq `json:"read"`
	// Built reports that the index had all of the log at some time. Before, what it
	// finds is a matter of chance.
	Built bool `json:"built"`
	// Floor is the oldest Seq that the log is known to have.
	Floor protocol.Seq `json:"floor"`

	Number    uint32 `json:"number"`    // of the space
	FirstDoc  uint32 `json:"first_doc"` // that is not below Floor
	Docs      uint32 `json:"docs"`      // the number of the next document
	Audiences uint32 `json:"audiences"` // number of audiences
}

func nameKey(space string) []byte { return append([]byte{keySpace}, space...) }

// Position returns the position of a space; the zero Position if there is none.
func (x *Index) Position(space string) (p Position, err error) {
	if x.damaged.Load() {
		return p, ErrDamaged
	}
	v, err := x.get(nameKey(space))
	if err != nil || v == nil {
		return p, err
	}
	if err = json.Unmarshal(v, &p); err != nil {
		return p, x.failed(errors.Join(errPostings, err))
	}
	return p, nil
}

// Begin forgets what is indexed of a space, and begins the index of a log.
func (x *Index) Begin(space, log string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	before, err := x.Position(space)
	if err != nil {
		return err
	}
	v, err := x.get([]byte{keyNumber})
	if err != nil {
		return err
	}
	n, _ := binary.Uvarint(v)
	p := Position{Log: log, Number: uint32(n + 1)}
	b := x.db.NewBatch()
	defer func() { _ = b.Close() }()
	if before.Log != "" {
		for _, class := range []byte{keyAudience, keyMember, keyBlock, keyPostings} {
			err = errors.Join(err, b.DeleteRange(spaceKey(class, before.Number), spaceKey(class, before.Number+1), nil))
		}
	}
	err = errors.Join(err, b.Set([]byte{keyNumber}, binary.AppendUvarint(nil, n+1), nil), setPosition(b, space, p))
	return x.commit(b, err)
}

func setPosition(b *pebble.Batch, space string, p Position) error {
	v, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return b.Set(nameKey(space), v, nil)
}

func (x *Index) commit(b *pebble.Batch, err error) error {
	if err == nil {
		err = b.Commit(noSync)
	}
	if err != nil {
		return x.failed(err)
	}
	return nil
}

// Trim forgets the buckets of a space that have only Seqs below oldest.
func (x *Index) Trim(space string, oldest protocol.Seq) error {
	p, err := x.Position(space)
	if err != nil || p.Log == "" || oldest <= p.Floor {
		return err
	}
	floor, err := x.docAt(&p, oldest)
	if err != nil {
		return err
	}
	b := x.db.NewBatch()
	defer func() { _ = b.Close() }()
	// Every deleted range slows the reads from the memtable that it is in, so there
	// is none where nothing is deleted.
	if bucket := floor >> bucketBits; bucket > p.FirstDoc>>bucketBits {
		err = errors.Join(
			b.DeleteRange(spaceKey(keyPostings, p.Number), numberKey(keyPostings, p.Number, bucket), nil),
			b.DeleteRange(spaceKey(keyBlock, p.Number), numberKey(keyBlock, p.Number, bucket<<(bucketBits-blockBits)), nil))
	}
	p.Floor, p.FirstDoc = oldest, floor
	return x.commit(b, errors.Join(err, setPosition(b, space, p)))
}
