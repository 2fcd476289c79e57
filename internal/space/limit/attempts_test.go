package limit_test

import (
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/space/limit"
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func fail(a *limit.Attempts, now time.Time, from string, times int) {
	for range times {
		a.Failed(now, addr(from))
	}
}

func allowed(a *limit.Attempts, now time.Time, from string) bool {
	ok, _ := a.Allowed(now, addr(from))
	return ok
}

func TestAttemptsAreRefusedAfterTheBurst(t *testing.T) {
	a := limit.NewAttempts(limit.AttemptLimits{})
	fail(a, start, "192.0.2.1", 9)
	if !allowed(a, start, "192.0.2.1") {
		t.Fatal("refused after 9 failures")
	}
	fail(a, start, "192.0.2.1", 30)
	ok, wait := a.Allowed(start, addr("192.0.2.1"))
	if ok || wait != limit.DefaultFailureRefill {
		t.Fatalf("got %v, %v, want refused for %v", ok, wait, limit.DefaultFailureRefill)
	}
	if !allowed(a, start, "192.0.2.2") {
		t.Fatal("another address was refused")
	}
	if !allowed(a, start.Add(wait), "192.0.2.1") {
		t.Fatal("refused after the time it was told")
	}
}

func TestAddressesThatCountAsOne(t *testing.T) {
	cases := []struct {
		failed, tried string
		same          bool
	}{
		{"2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true},
		{"2001:db8:1:2::1", "2001:db8:1:3::1", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"fe80::1%eth0", "fe80::2%eth1", true},
	}
	for _, c := range cases {
		a := limit.NewAttempts(limit.AttemptLimits{Failures: 1})
		fail(a, start, c.failed, 1)
		if allowed(a, start, c.tried) == c.same {
			t.Errorf("%s failed: %s counts as the same: want %v", c.failed, c.tried, c.same)
		}
	}
}

func TestStrangersCannotMakeItGrow(t *testing.T) {
	a := limit.NewAttempts(limit.AttemptLimits{Failures: 1, Addresses: 100})
	ip := addr("10.0.0.0")
	for range 10_000 {
		a.Failed(start, ip)
		ip = ip.Next()
	}
	if n := a.Remembered(); n > 100 {
		t.Fatalf("%d addresses are remembered, want at most 100", n)
	}
	if allowed(a, start, ip.Prev().String()) {
		t.Fatal("the latest address was forgotten")
	}
}

func TestWhoGoesOnFailingIsNotForgotten(t *testing.T) {
	a := limit.NewAttempts(limit.AttemptLimits{Failures: 1, Addresses: 20})
	ip := addr("10.0.0.0")
	for range 200 {
		for range 5 {
			a.Failed(start, ip)
			ip = ip.Next()
		}
		a.Failed(start, addr("192.0.2.1"))
		if allowed(a, start, "192.0.2.1") {
			t.Fatal("forgotten between two failures")
		}
	}
}

func TestAttemptsAreSharedSafely(t *testing.T) {
	a := limit.NewAttempts(limit.AttemptLimits{Addresses: 8})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			ip := addr("10.0.0.0")
			for range 200 {
				a.Allowed(start, ip)
				a.Failed(start.Add(time.Duration(i)), ip)
				ip = ip.Next()
			}
		})
	}
	wg.Wait()
}

func TestViolationsCloseAtTheLimitWithinTheWindow(t *testing.T) {
	v := limit.NewViolations(3, 10*time.Second)
	want := []struct {
		second int
		end    bool
	}{{0, false}, {1, false}, {10, false}, {10, true}, {11, true}, {30, false}, {31, false}, {32, true}}
	for _, w := range want {
		if got := v.Add(start.Add(time.Duration(w.second) * time.Second)); got != w.end {
			t.Errorf("at second %d: got %v, want %v", w.second, got, w.end)
		}
	}
}

func TestViolationsOfOne(t *testing.T) {
	v := limit.NewViolations(1, time.Second)
	if !v.Add(start) || !v.Add(start.Add(time.Hour)) {
		t.Fatal("a limit of one ends the connection at the first refusal")
	}
}

func TestViolationsZeroNeverEnds(t *testing.T) {
	for _, v := range []limit.Violations{{}, limit.NewViolations(0, time.Hour), limit.NewViolations(5, 0)} {
		for range 1000 {
			if v.Add(start) {
				t.Fatal("asked for an end")
			}
		}
	}
}
