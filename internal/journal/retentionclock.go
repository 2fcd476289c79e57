package journal

import (
	"sync"
	"time"
)

// maxClockRate bounds how much faster than real time a RetentionClock runs.
const maxClockRate = 2

// ClockJump is how far the wall clock must be ahead of a RetentionClock to log
// a warning.
const ClockJump = time.Minute

// RetentionClock is the time by which retention expires entries. It follows the
// wall clock, but never runs backwards and runs at most maxClockRate times as
// fast as real time. A wall clock that jumps ahead therefore does not expire a
// log at once: an operator has as much time as the jump to correct it. It is
// safe for concurrent use.
type RetentionClock struct {
	wall    func() time.Time
	elapsed func() time.Duration // monotonic

	mu          sync.Mutex
	last        time.Time
	lastElapsed time.Duration
}

// NewRetentionClock returns a clock that starts at the wall clock's time. wall
// nil is time.Now. elapsed returns the monotonic time since any fixed moment;
// nil is the system's monotonic clock, or if wall is set, the time that passes
// on wall.
func NewRetentionClock(wall func() time.Time, elapsed func() time.Duration) *RetentionClock {
	if elapsed == nil && wall != nil {
		elapsed = func() time.Duration { return wall().Sub(time.Unix(0, 0)) }
	}
	if wall == nil {
		wall = time.Now
	}
	if elapsed == nil {
		start := time.Now()
		elapsed = func() time.Duration { return time.Since(start) }
	}
	return &RetentionClock{wall: wall, elapsed: elapsed, last: wall(), lastElapsed: elapsed()}
}

// Now returns the retention time, and by how much the wall clock is ahead of
// it.
func (c *RetentionClock) Now() (now time.Time, ahead time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall, elapsed := c.wall(), c.elapsed()
	limit := c.last.Add(maxClockRate * (elapsed - c.lastElapsed))
	c.lastElapsed = elapsed
	switch {
	case wall.After(limit):
		c.last = limit
	case wall.After(c.last):
		c.last = wall
	}
	return c.last, max(0, wall.Sub(c.last))
}
