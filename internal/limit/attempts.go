package limit

import (
	"net/netip"
	"sync"
	"time"
)

// Attempts counts failed logins by address, so that guessing is slow and a
// misconfigured client cannot fill the log. IPv6 addresses count by their /64,
// since one machine owns all of it. Its methods may be called concurrently.
//
// A successful login does not reset the count. Otherwise an attacker with one
// valid token could use it between guesses at others.
//
// It stores a bounded number of addresses in two generations. When the young
// generation is full, it replaces the old one, and addresses that were only in
// the old one are evicted. An attacker can cause that only by failing from as
// many other addresses, which gains nothing.
type Attempts struct {
	failures int
	every    time.Duration
	cap      int // of one generation

	mu         sync.Mutex
	latest     time.Time
	young, old map[netip.Addr]tokens
}

// Defaults of AttemptLimits.
const (
	DefaultFailures      = 10
	DefaultFailureRefill = 10 * time.Second
	DefaultAddresses     = 16384
)

// AttemptLimits configure Attempts; zero values are the defaults.
type AttemptLimits struct {
	Failures  int           // that an address may have at once
	Refill    time.Duration // after which one more is allowed
	Addresses int           // that are remembered
}

// NewAttempts returns an empty count.
func NewAttempts(l AttemptLimits) *Attempts {
	if l.Failures <= 0 {
		l.Failures = DefaultFailures
	}
	if l.Refill <= 0 {
		l.Refill = DefaultFailureRefill
	}
	if l.Addresses <= 0 {
		l.Addresses = DefaultAddresses
	}
	return &Attempts{
		failures: l.Failures, every: l.Refill, cap: max(1, l.Addresses/2),
		young: make(map[netip.Addr]tokens),
	}
}

// Allowed reports whether an address may try to log in, and otherwise after
// how long.
func (a *Attempts) Allowed(now time.Time, addr netip.Addr) (ok bool, retryAfter time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, known := a.find(network(addr))
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
	t, known := a.find(key)
	if !known {
		t = newTokens(1/a.every.Seconds(), a.failures)
	}
	a.remember(key, t)
	if t.wait(now, 1) == 0 {
		t.take(now, 1)
	}
}

func (a *Attempts) find(key netip.Addr) (tokens, bool) {
	if t, ok := a.young[key]; ok {
		return t, true
	}
	t, ok := a.old[key]
	return t, ok
}

// remember puts an address into the young generation.
func (a *Attempts) remember(key netip.Addr, t tokens) {
	if _, ok := a.young[key]; ok {
		return
	}
	if len(a.young) >= a.cap {
		a.young, a.old = make(map[netip.Addr]tokens), a.young
	}
	delete(a.old, key)
	a.young[key] = t
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
