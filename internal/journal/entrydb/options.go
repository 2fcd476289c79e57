package entrydb

import (
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"math"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"github.com/meup-protocol/meup/internal/journal/derivedb"
)

// Sizes for a gateway that shares its machine. Pebble counts memtables against
// the cache, so half of it remains for blocks under high load. With less, the
// filters, which every append uses, are read from disk repeatedly.
const (
	memTableBytes = 16 << 20
	memTableCount = 4
	cacheBytes    = 2 * memTableCount * memTableBytes
	levelZeroFile = 8 << 20
	// levelZeroDepth is when files of level 0 are compacted: at twice Pebble's default. Ids
	// are spread over all keys, so that each compaction rewrites most of the next level.
	levelZeroDepth = 8
	bloomBits      = 10

	// maxOpenTables is less than the number of descriptors that a gateway reserves
	// for its log, so that connections cannot make the log fail.
	maxOpenTables = 192
)

func pebbleOptions(g *failStopFS, s *derivedb.Scheduler, log *slog.Logger) *pebble.Options {
	o := &pebble.Options{
		FS:                          g,
		CacheSize:                   cacheBytes,
		MemTableSize:                memTableBytes,
		MemTableStopWritesThreshold: memTableCount,
		// A commit that waits for compactions holds Pebble's commit lock, and after a
		// failure no compaction ever runs. Only memtables slow writers down; they can
		// always be flushed, if necessary to memory.
		L0StopWritesThreshold: math.MaxInt32,
		FormatMajorVersion:    pebble.FormatNewest,
		MaxOpenFiles:          maxOpenTables,
		Merger:                &sumMerger,
		Logger:                pebbleLogger{g, log},
	}
	o.TargetFileSizes[0] = levelZeroFile
	o.L0CompactionThreshold = levelZeroDepth
	for i := range o.Levels {
		// Most looked up ids are new.
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBits)
	}
	o.EventListener = &pebble.EventListener{
		BackgroundError: onceInARow(func(err error) {
			log.Warn("log store: background work will be tried again", "error", err)
		}),
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			log.Warn("log store: appends wait for the disk", "reason", info.Reason)
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			log.Error("log store: file is damaged", "file", info.Path, "error", info.Details)
		},
	}
	o.Experimental.CompactionScheduler = s
	return o
}

// onceInARow passes an error on unless its text equals the previous one: Pebble
// retries at once and reports the error every time.
func onceInARow(f func(error)) func(error) {
	var mu sync.Mutex
	var last string
	return func(err error) {
		mu.Lock()
		again := err.Error() == last
		last = err.Error()
		mu.Unlock()
		if !again {
			f(err)
		}
	}
}

// pebbleLogger turns Pebble's fatal log messages, which would exit the process,
// into a failure of the store.
type pebbleLogger struct {
	fs  *failStopFS
	log *slog.Logger
}

func (l pebbleLogger) Infof(string, ...any) {}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.log.Warn("log store: " + fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Fatalf(format string, args ...any) {
	l.fs.fail(fmt.Errorf(format, args...))
}

// sumMerger adds up signed varints, so that every batch can change the size row
// without reading it first.
var sumMerger = pebble.Merger{
	Name: "meup.sum",
	Merge: func(_, value []byte) (pebble.ValueMerger, error) {
		n, err := decodeSum(value)
		return &sum{n}, err
	},
}

type sum struct{ n int64 }

func (s *sum) MergeNewer(value []byte) error {
	n, err := decodeSum(value)
	s.n += n
	return err
}

func (s *sum) MergeOlder(value []byte) error { return s.MergeNewer(value) }

func (s *sum) Finish(bool) ([]byte, io.Closer, error) {
	return binary.AppendVarint(nil, s.n), nil, nil
}

func decodeSum(value []byte) (int64, error) {
	n, size := binary.Varint(value)
	if size <= 0 {
		return 0, fmt.Errorf("sum of %d bytes cannot be read", len(value))
	}
	return n, nil
}
