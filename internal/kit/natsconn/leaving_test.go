package natsconn

import (
	"slices"
	"testing"
	"time"
)

// The wait before a server is left doubles up to a bound, also if the client is
// between servers meanwhile, and starts again once a server serves the client.
func TestLeaving(t *testing.T) {
	l := Leaving{Min: 10 * time.Second, Max: 50 * time.Second, Jitter: func(d time.Duration) time.Duration { return d }}
	now := time.Unix(1_000_000, 0)
	wait := func() time.Duration { // until the server is left
		l.Due(now, Unserved)
		for start := now; ; {
			now = now.Add(time.Second)
			if l.Due(now, Unserved) {
				return now.Sub(start) - time.Second
			}
		}
	}
	var got []time.Duration
	for range 4 {
		got = append(got, wait())
		l.Due(now, Unknown)
	}
	l.Due(now, Unserved)
	now = now.Add(time.Minute)
	if l.Due(now, Unknown) || l.Due(now, Unserved) {
		t.Error("left although it was not unserved all the time")
	}
	l.Due(now, Served)
	got = append(got, wait())
	if want := []time.Duration{10e9, 20e9, 40e9, 50e9, 10e9}; !slices.Equal(got, want) {
		t.Errorf("waits %v, want %v", got, want)
	}
}
