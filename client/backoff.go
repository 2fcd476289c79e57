package client

import (
	"math/rand/v2"
	"time"
)

// Backoff computes the delays between attempts. The bound of the delay doubles
// from Min to Max, and the delay is uniformly random below it, so that the
// clients of a restarted gateway do not all reconnect at the same moment.
type Backoff struct {
	Min  time.Duration  // 0: 250 ms
	Max  time.Duration  // 0: 15 s
	Rand func() float64 // returns a number in [0,1); nil: math/rand
}

func (b Backoff) withDefaults() Backoff {
	if b.Min <= 0 {
		b.Min = 250 * time.Millisecond
	}
	if b.Max <= 0 {
		b.Max = 15 * time.Second
	}
	b.Max = max(b.Max, b.Min)
	if b.Rand == nil {
		b.Rand = rand.Float64
	}
	return b
}

// delay returns the delay before an attempt, counted from 1.
func (b Backoff) delay(attempt int) time.Duration {
	bound := b.Min
	for i := 1; i < attempt && bound < b.Max; i++ {
		bound *= 2
	}
	bound = min(bound, b.Max)
	return time.Duration(b.Rand() * float64(bound))
}
