package llm

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	defaultAttempts = 4
	defaultMin      = 500 * time.Millisecond
	defaultMax      = 20 * time.Second

	maxWait = time.Minute // the longest wait that a server may request
)

// Retry configures the number and the timing of the attempts. The maximum wait
// doubles from Min to Max, and the wait is drawn from its upper half. A wait
// that the server requests takes precedence.
type Retry struct {
	Attempts int           // in total, including the first; 0 means 4
	Min, Max time.Duration // 0 means 500 ms and 20 s

	Rand  func() float64                             // in [0,1); nil means math/rand
	Sleep func(context.Context, time.Duration) error // nil waits in real time
	Now   func() time.Time                           // nil means time.Now
}

// nextWait returns the wait before the next attempt, after the given attempt
// (counted from 1) was refused, and whether there is a next attempt.
func (r Retry) nextWait(attempt int, refusal *Error) (time.Duration, bool) {
	attempts := r.Attempts
	if attempts <= 0 {
		attempts = defaultAttempts
	}
	switch {
	case !refusal.Temporary() || attempt >= attempts || refusal.RetryAfter > maxWait:
		return 0, false
	case refusal.RetryAfter > 0:
		return refusal.RetryAfter, true
	}
	bound := orDefault(r.Min, defaultMin)
	longest := max(bound, orDefault(r.Max, defaultMax))
	for i := 1; i < attempt && bound < longest; i++ {
		bound *= 2
	}
	bound = min(bound, longest)
	draw := rand.Float64
	if r.Rand != nil {
		draw = r.Rand
	}
	return bound/2 + time.Duration(draw()*float64(bound/2)), true
}

func (r Retry) sleep(ctx context.Context, d time.Duration) error {
	if r.Sleep != nil {
		return r.Sleep(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r Retry) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

// retryAfter returns the wait that a server requests: Retry-After-Ms in
// milliseconds, or Retry-After in seconds or as a date. It returns 0 for a
// missing or invalid value.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if d := scaled(h.Get("Retry-After-Ms"), time.Millisecond); d > 0 {
		return d
	}
	v := h.Get("Retry-After")
	if d := scaled(v, time.Second); d > 0 {
		return d
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, t.Sub(now))
	}
	return 0
}

func scaled(v string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	const longest = 365 * 24 * time.Hour // keeps the product in an int64
	if err != nil || !(n > 0) {
		return 0
	}
	return time.Duration(min(n, float64(longest/unit)) * float64(unit))
}
