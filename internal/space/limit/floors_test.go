package limit_test

import (
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/protocol"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestRefused_BytesPerSecond(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	for _, c := range []struct {
		name         string
		limits       limit.Limits
		burst, after int // bytes at once, and in the second after
	}{
		{"default", limit.Defaults(), 16 * mib, mib},
		{"small", limit.Limits{BytesPerSecond: 1, MessageBytes: 500}, 16 * mib, 64 * kib},
		{"large", limit.Limits{BytesPerSecond: 4 * mib, MessageBytes: mib}, 16 * mib, 4 * mib},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := limit.New(c.limits)
			if wait := b.Refused(noon, c.burst-1); wait != 0 {
				t.Errorf("after the burst: wait %v", wait)
			}
			if wait := b.Refused(noon, 1+c.after); wait < time.Second || wait > time.Second+time.Millisecond {
				t.Errorf("a second's worth beyond the burst: wait %v", wait)
			}
			if wait := b.Refused(noon.Add(1001*time.Millisecond), 0); wait != 0 {
				t.Errorf("a second later: wait %v", wait)
			}
		})
	}
	unlimited := limit.New(limit.Limits{})
	if wait := unlimited.Refused(noon, 1<<40); wait != 0 {
		t.Errorf("without a limit: wait %v", wait)
	}
}

func TestRead_RequestsPerSecond(t *testing.T) {
	for _, c := range []struct {
		name         string
		limits       limit.Limits
		burst, after int
	}{
		{"default", limit.Defaults(), 200, 100},
		{"small", limit.Limits{Rate: 1, Burst: 1}, 200, 50},
		{"large", limit.Limits{Rate: 1000, Burst: 2000}, 2000, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := limit.New(c.limits)
			for range c.burst {
				if err := b.Read(noon); err != nil {
					t.Fatal(err)
				}
			}
			if err := protocol.AsError(b.Read(noon)); err == nil || err.Limit != "requests" || err.RetryAfterMS < 1 {
				t.Errorf("beyond the burst: %v", err)
			}
			for range c.after {
				if err := b.Read(noon.Add(time.Second)); err != nil {
					t.Fatal(err)
				}
			}
			if b.Read(noon.Add(time.Second)) == nil {
				t.Error("more than the rate")
			}
		})
	}
}
