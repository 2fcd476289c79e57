package journal

import (
	"log/slog"
	"time"
)

// maxClockRate bounds how much faster than real time a RetentionClock runs.
const maxClockRate = 2

// clockJump is how far the wall clock must be ahead of a RetentionClock to log
// a warning.
const clockJump = time.Minute

// RetentionClock is the time by which retention expires entries. It is never ahead
// of the wall clock and runs at most maxClockRate times as fast as real time. A wall
// clock that jumps ahead therefore does not expire a log at once: an operator has as
// much time as the jump to correct it. A wall clock that jumps back is followed at
// once, or the entries with its time would expire; when it is corrected, the time
// before the jump is the retention time again.
type RetentionClock struct {
	wall    func() time.Time
	elapsed func() time.Duration // monotonic
	log     *slog.Logger

	last        time.Time
	lastElapsed time.Duration
	jumped      bool
}

// NewRetentionClock returns a clock that starts at the wall clock's time. wall
// nil is time.Now. elapsed returns the monotonic time since any fixed moment;
// nil is the system's monotonic clock, or if wall is set, the time that passes
// on wall. A jump of the wall clock is logged.
func NewRetentionClock(wall func() time.Time, elapsed func() time.Duration, log *slog.Logger) *RetentionClock {
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
	return &RetentionClock{wall: wall, elapsed: elapsed, log: log, last: wall(), lastElapsed: elapsed()}
}

// Now returns the retention time.
func (c *RetentionClock) Now() time.Time {
	now, ahead := c.advance()
	if jumped := ahead > clockJump; jumped != c.jumped {
		c.jumped = jumped
		c.log.Warn("the system clock jumped; retention follows it slowly", "ahead", ahead)
	}
	return now
}

// advance returns the retention time, and by how much the wall clock is ahead
// of it.
func (c *RetentionClock) advance() (now time.Time, ahead time.Duration) {
	wall, elapsed := c.wall(), c.elapsed()
	limit := c.last.Add(maxClockRate * (elapsed - c.lastElapsed))
	c.lastElapsed = elapsed
	switch {
	case wall.After(limit):
		c.last = limit
	case wall.After(c.last):
		c.last = wall
	}
	if wall.Before(c.last) {
		return wall, 0
	}
	return c.last, wall.Sub(c.last)
}
