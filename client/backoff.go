package client

import (
	"math/rand/v2"
	"time"
)

// Backoff spaces attempts: the bound of the delay doubles from Min to Max, and
// the delay is drawn evenly below it, so that the clients of a gateway which
// comes back do not all return in the same moment.
type Backoff struct {
	Min  time.Duration  // 0 stands for 250 ms
	Max  time.Duration  // 0 stands for 15 s
	Rand func() float64 // in [0,1); nil stands for math/rand
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

// delay returns how long to wait before the attempt, counted from 1.
func (b Backoff) delay(attempt int) time.Duration {
	bound := b.Min
	for i := 1; i < attempt && bound < b.Max; i++ {
		bound *= 2
	}
	bound = min(bound, b.Max)
	return time.Duration(b.Rand() * float64(bound))
}
