package limit

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// tokens is one token bucket. The zero value is unlimited. Its owner locks,
// and never lets time run backwards: rate.Limiter moves its own clock back
// with an older time and would refill the same interval twice.
type tokens struct {
	lim   *rate.Limiter
	spent *int // taken less given back, since the last exchange; see [Bucket.TakeSpent]
}

func newTokens(perSecond float64, burst int) tokens {
	if unlimited(perSecond) {
		return tokens{}
	}
	return tokens{rate.NewLimiter(rate.Limit(perSecond), burst), new(int)}
}

func unlimited(perSecond float64) bool {
	return !(perSecond > 0) || math.IsInf(perSecond, 1)
}

// wait returns the time until n tokens can be taken; 0: now. A number larger than
// the bucket waits for a full bucket.
func (t tokens) wait(now time.Time, n int) time.Duration {
	if t.lim == nil {
		return 0
	}
	missing := float64(min(n, t.lim.Burst())) - t.lim.TokensAt(now)
	if missing <= roundingError {
		return 0
	}
	seconds := missing / float64(t.lim.Limit())
	if seconds >= maxWait.Seconds() {
		return maxWait
	}
	return time.Duration(math.Ceil(seconds * float64(time.Second)))
}

// roundingError bounds the error of a level that comes from converting a duration
// to a fraction. A client that retries exactly after retry_after_ms must succeed.
const roundingError = 1e-6

const maxWait = 24 * time.Hour

// take removes n tokens after wait returned 0, and counts them as spent. A negative
// number gives tokens back.
func (t tokens) take(now time.Time, n int) {
	if t.lim != nil {
		*t.spent += n
		t.move(now, n)
	}
}

// giveBack returns n tokens; the bucket does not hold more than its burst.
func (t tokens) giveBack(now time.Time, n int) { t.take(now, -n) }

// move removes n tokens. The ones above the size of the bucket are taken on credit, so
// that the rate holds in the long run.
//
// A negative number returns tokens, by a negative reservation. rate.Reservation.CancelAt
// is for callers that wait: it restores nothing after the time to act, and before that
// only tokens that were not reserved later.
func (t tokens) move(now time.Time, n int) {
	if n < 0 {
		t.lim.ReserveN(now, n)
	}
	for size := t.lim.Burst(); n > 0; n -= size {
		t.lim.ReserveN(now, min(n, size))
	}
}

// takeSpent returns the spent tokens and starts to count anew.
func (t tokens) takeSpent() int {
	if t.lim == nil {
		return 0
	}
	n := *t.spent
	*t.spent = 0
	return n
}

// maxCharge bounds one charge, in times the size of the bucket.
const maxCharge = 1 << 20

// charge removes n tokens that were spent elsewhere, on credit; a negative number
// was given back there.
func (t tokens) charge(now time.Time, n int) {
	if t.lim != nil {
		t.move(now, min(n, maxCharge*t.lim.Burst()))
	}
}

// update changes rate and burst and keeps the level, so that reloading a
// configuration refills nothing.
func (t tokens) update(now time.Time, perSecond float64, burst int) tokens {
	if t.lim == nil || unlimited(perSecond) {
		return newTokens(perSecond, burst)
	}
	if t.lim.Burst() != burst {
		t.lim.SetBurstAt(now, burst)
	}
	if t.lim.Limit() != rate.Limit(perSecond) {
		t.lim.SetLimitAt(now, rate.Limit(perSecond))
	}
	return t
}
