package llmhttp

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

const (
	defaultAttempts = 4
	defaultMin      = 500 * time.Millisecond
	defaultMax      = 20 * time.Second
	defaultMaxWait  = time.Minute
)

// Retry says how often, and in which time, a busy server is asked. The bound of
// the wait doubles from Min to Max, and the wait is drawn from the upper half
// below it. Where the server says how long to wait, that is done.
type Retry struct {
	Attempts int           // in all, the first among them; 0 stands for 4
	Min, Max time.Duration // 0 stands for 500 ms and 20 s
	// MaxWait is the longest wait that a server may ask for. One that asks for
	// more is not asked again. 0 stands for a minute.
	MaxWait time.Duration

	Rand  func() float64                             // in [0,1); nil stands for math/rand
	Sleep func(context.Context, time.Duration) error // nil waits for real
	Now   func() time.Time                           // nil stands for time.Now
}

// after says how long to wait after an attempt, counted from 1, that was
// refused, and whether there is another at all.
func (r Retry) after(attempt int, refusal *llm.Error) (time.Duration, bool) {
	attempts := r.Attempts
	if attempts <= 0 {
		attempts = defaultAttempts
	}
	switch {
	case !refusal.Temporary() || attempt >= attempts:
		return 0, false
	case refusal.RetryAfter > orDefault(r.MaxWait, defaultMaxWait):
		return 0, false
	case refusal.RetryAfter > 0:
		return refusal.RetryAfter, true
	}
	return r.backoff(attempt), true
}

func (r Retry) backoff(attempt int) time.Duration {
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
	return bound/2 + time.Duration(draw()*float64(bound/2))
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

// retryAfter reads how long a server asks to wait: Retry-After-Ms in
// milliseconds, or Retry-After in seconds or as a date. 0 if it does not say,
// or says what makes no sense.
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
