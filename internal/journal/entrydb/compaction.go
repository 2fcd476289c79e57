package entrydb

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// compactionPause is the minimum time between a failed compaction and the next
	// one. Pebble alone would retry at once.
	compactionPause = time.Second
	// compactionPoll is the interval at which a waiting compaction is tried again.
	compactionPoll = 100 * time.Millisecond
)

// compactionScheduler implements [pebble.CompactionScheduler] under the control
// of failStopFS: no compaction starts while the store is being opened, after
// the file system has failed, or within compactionPause of a compaction that
// could not write. No commit depends on a compaction, so none ever has to wait
// for the disk.
type compactionScheduler struct {
	fs   *failStopFS
	db   pebble.DBForCompaction
	stop chan struct{}
	done sync.WaitGroup

	mu      sync.Mutex
	running int
	stopped bool
}

func newCompactionScheduler(g *failStopFS) *compactionScheduler {
	return &compactionScheduler{fs: g, stop: make(chan struct{})}
}

// Register implements [pebble.CompactionScheduler].
func (s *compactionScheduler) Register(_ int, db pebble.DBForCompaction) {
	s.db = db
	s.done.Go(func() { // until Unregister
		tick := time.NewTicker(compactionPoll)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.grantWaiting()
			case <-s.stop:
				return
			}
		}
	})
}

// Unregister implements [pebble.CompactionScheduler]. Pebble does not call it
// when opening the store fails; a second call does nothing.
func (s *compactionScheduler) Unregister() {
	s.mu.Lock()
	if !s.stopped {
		s.stopped = true
		close(s.stop)
	}
	s.mu.Unlock()
	s.done.Wait()
}

// TrySchedule implements [pebble.CompactionScheduler].
func (s *compactionScheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	if !s.reserve() {
		return false, nil
	}
	return true, s
}

func (s *compactionScheduler) reserve() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || !s.fs.allowsCompaction() || s.running >= s.db.GetAllowedWithoutPermission() {
		return false
	}
	s.running++
	return true
}

// grantWaiting starts the waiting compaction, if any.
func (s *compactionScheduler) grantWaiting() {
	if waiting, _ := s.db.GetWaitingCompaction(); !waiting || !s.reserve() {
		return
	}
	if !s.db.Schedule(s) {
		s.Done()
	}
}

// UpdateGetAllowedWithoutPermission implements [pebble.CompactionScheduler];
// the next poll detects changes.
func (s *compactionScheduler) UpdateGetAllowedWithoutPermission() {}

// Started implements [pebble.CompactionGrantHandle].
func (s *compactionScheduler) Started() {}

// MeasureCPU implements [pebble.CompactionGrantHandle].
func (s *compactionScheduler) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats implements [pebble.CompactionGrantHandle].
func (s *compactionScheduler) CumulativeStats(pebble.CompactionGrantHandleStats) {}

// Done implements [pebble.CompactionGrantHandle].
func (s *compactionScheduler) Done() {
	s.mu.Lock()
	s.running--
	s.mu.Unlock()
}
