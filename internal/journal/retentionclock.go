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
	source func() time.Time
	log    *slog.Logger

	read   time.Time // last reading of source
	last   wallTime
	jumped bool
}

// wallTime is a reading of the wall clock: the time since 1970. It is no [time.Time],
// because two of these are compared by the monotonic clock if both have a reading of it.
type wallTime time.Duration

func wallOf(t time.Time) wallTime { return wallTime(t.UnixNano()) }

// NewRetentionClock returns a clock that starts at the time of source; nil is time.Now.
// Real time is the monotonic clock, if source has readings of it, and otherwise the time
// that passes on source. A jump of the wall clock is logged.
func NewRetentionClock(source func() time.Time, log *slog.Logger) *RetentionClock {
	if source == nil {
		source = time.Now
	}
	read := source()
	return &RetentionClock{source: source, log: log, read: read, last: wallOf(read)}
}

// Now returns the retention time, which has no monotonic reading.
func (c *RetentionClock) Now() time.Time {
	now, ahead := c.advance()
	if jumped := ahead > clockJump; jumped != c.jumped {
		c.jumped = jumped
		if jumped {
			c.log.Warn("the system clock jumped ahead; retention follows it slowly: correct the clock if it is wrong", "ahead", ahead)
		} else {
			c.log.Info("retention follows the system clock again")
		}
	}
	return time.Unix(0, int64(now))
}

// advance returns the retention time, and by how much the wall clock is ahead
// of it.
func (c *RetentionClock) advance() (now wallTime, ahead time.Duration) {
	read := c.source()
	wall, elapsed := wallOf(read), max(0, read.Sub(c.read))
	c.read = read
	limit := c.last + wallTime(maxClockRate*elapsed)
	c.last = max(c.last, min(wall, limit))
	now = min(wall, c.last)
	return now, time.Duration(wall - now)
}
