package limit

import (
	"net/netip"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/kit/recent"
)

// Attempts counts failed logins by address, so that guessing is slow and a
// misconfigured client cannot fill the log. IPv6 addresses count by their /64,
// since one machine owns all of it. Its methods may be called concurrently.
//
// A successful login does not reset the count. Otherwise an attacker with one
// valid token could use it between guesses at others.
//
// It forgets addresses that did not fail lately. An attacker can cause that only by
// failing from as many others, which gains nothing.
type Attempts struct {
	failures int
	every    time.Duration

	mu      sync.Mutex
	latest  time.Time
	buckets *recent.Map[netip.Addr, tokens]
}

// Defaults of AttemptLimits.
const (
	defaultFailures      = 10
	DefaultFailureRefill = 10 * time.Second
	defaultAddresses     = 16384
)

// AttemptLimits configure Attempts; zero values are the defaults.
type AttemptLimits struct {
	Failures  int           // that an address may have at once
	Refill    time.Duration // after which one more is allowed
	Addresses int           // in memory at most
}

// NewAttempts returns an empty count.
func NewAttempts(l AttemptLimits) *Attempts {
	if l.Failures <= 0 {
		l.Failures = defaultFailures
	}
	if l.Refill <= 0 {
		l.Refill = DefaultFailureRefill
	}
	if l.Addresses <= 0 {
		l.Addresses = defaultAddresses
	}
	return &Attempts{
		failures: l.Failures, every: l.Refill, buckets: recent.New[netip.Addr, tokens](max(1, l.Addresses/2)),
	}
}

// Allowed reports whether an address may try to log in, and otherwise after
// how long.
func (a *Attempts) Allowed(now time.Time, addr netip.Addr) (ok bool, retryAfter time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, known := a.buckets.Get(network(addr))
	if !known {
		return true, 0
	}
	wait := t.wait(a.clock(now), 1)
	return wait == 0, wait
}

// Failed counts a failed login. Attempts that were allowed at the same moment
// count too when they fail, but never beyond an empty bucket.
func (a *Attempts) Failed(now time.Time, addr netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now = a.clock(now)
	key := network(addr)
	t, known := a.buckets.Get(key)
	if !known {
		t = newTokens(1/a.every.Seconds(), a.failures)
	}
	a.buckets.Put(key, t)
	if t.wait(now, 1) == 0 {
		t.take(now, 1)
	}
}

func (a *Attempts) clock(now time.Time) time.Time {
	if now.After(a.latest) {
		a.latest = now
	}
	return a.latest
}

// network returns the prefix by which an address is counted.
func network(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if !addr.Is6() {
		return addr
	}
	prefix, err := addr.Prefix(64)
	if err != nil {
		return addr
	}
	return prefix.Addr()
}

// Violations counts the refusals of one connection in a sliding window. It
// belongs to the connection's reader. The zero value never asks for an end.
type Violations struct {
	window time.Duration
	at     []time.Time // a ring of the last refusals
	next   int
	limit  int
}

// NewViolations returns a count that asks for the connection to be closed at
// refusal number limit within window. A limit or window of zero: never.
func NewViolations(limit int, window time.Duration) Violations {
	if limit <= 0 || window <= 0 {
		return Violations{}
	}
	return Violations{window: window, limit: limit}
}

// Add counts a refusal. It reports whether the connection has had so many that
// it should be closed with 1008.
func (v *Violations) Add(now time.Time) bool {
	if v.limit == 0 {
		return false
	}
	if len(v.at) < v.limit {
		// Most connections never see a refusal: the ring grows as needed.
		v.at = append(v.at, now)
		return len(v.at) == v.limit && now.Sub(v.at[0]) < v.window
	}
	v.at[v.next] = now
	v.next = (v.next + 1) % v.limit
	return now.Sub(v.at[v.next]) < v.window
}
