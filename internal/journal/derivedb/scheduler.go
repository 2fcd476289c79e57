package derivedb

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// pollCompaction is the interval at which a waiting compaction is tried again.
const pollCompaction = 100 * time.Millisecond

// Scheduler implements [pebble.CompactionScheduler], so that a database does not compact
// before it is open: it starts a compaction only if allowed
// returns true. allowed must return false until pebble.Open has returned: Open waits for a
// compaction that starts meanwhile.
type Scheduler struct {
	allowed func() bool
	db      pebble.DBForCompaction
	stop    chan struct{}
	done    sync.WaitGroup

	mu      sync.Mutex
	running int
	stopped bool
}

// NewScheduler returns a Scheduler for one database. allowed is called for each compaction.
func NewScheduler(allowed func() bool) *Scheduler {
	return &Scheduler{allowed: allowed, stop: make(chan struct{})}
}

// Register implements [pebble.CompactionScheduler].
func (s *Scheduler) Register(_ int, db pebble.DBForCompaction) {
	s.db = db
	s.done.Go(func() { // until Unregister
		tick := time.NewTicker(pollCompaction)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				waiting, _ := s.db.GetWaitingCompaction()
				if waiting && s.reserve() && !s.db.Schedule(s) {
					s.Done()
				}
			case <-s.stop:
				return
			}
		}
	})
}

// Unregister implements [pebble.CompactionScheduler]. Pebble does not call it
// when opening the store fails; a second call does nothing.
func (s *Scheduler) Unregister() {
	s.mu.Lock()
	if !s.stopped {
		s.stopped = true
		close(s.stop)
	}
	s.mu.Unlock()
	s.done.Wait()
}

// TrySchedule implements [pebble.CompactionScheduler].
func (s *Scheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	if !s.reserve() {
		return false, nil
	}
	return true, s
}

func (s *Scheduler) reserve() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || !s.allowed() || s.running >= s.db.GetAllowedWithoutPermission() {
		return false
	}
	s.running++
	return true
}

// UpdateGetAllowedWithoutPermission implements [pebble.CompactionScheduler];
// the next poll detects changes.
func (s *Scheduler) UpdateGetAllowedWithoutPermission() {}

// Started implements [pebble.CompactionGrantHandle].
func (s *Scheduler) Started() {}

// MeasureCPU implements [pebble.CompactionGrantHandle].
func (s *Scheduler) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats implements [pebble.CompactionGrantHandle].
func (s *Scheduler) CumulativeStats(pebble.CompactionGrantHandleStats) {}

// Done implements [pebble.CompactionGrantHandle].
func (s *Scheduler) Done() {
	s.mu.Lock()
	s.running--
	s.mu.Unlock()
}
