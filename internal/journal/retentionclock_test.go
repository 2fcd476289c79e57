package journal

import (
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestRetentionClock(t *testing.T) {
	start := time.Now()
	type step struct{ elapsed, wall, want, ahead time.Duration } // all since start
	tests := []struct {
		name  string
		steps []step
	}{
		{"follows the wall clock", []step{{time.Minute, time.Minute, time.Minute, 0}, {time.Hour, time.Hour, time.Hour, 0}}},
		{"slewed clock", []step{{time.Hour, 90 * time.Minute, 90 * time.Minute, 0}}},
		{"jump ahead", []step{
			{time.Minute, 2*time.Hour + time.Minute, 2 * time.Minute, 2*time.Hour - time.Minute},
			{2 * time.Minute, 2*time.Hour + 2*time.Minute, 4 * time.Minute, 2*time.Hour - 2*time.Minute},
		}},
		{"jump ahead and back", []step{{time.Minute, 2 * time.Hour, 2 * time.Minute, 118 * time.Minute}, {2 * time.Minute, 2 * time.Minute, 2 * time.Minute, 0}, {5 * time.Minute, 5 * time.Minute, 5 * time.Minute, 0}}},
		{"jump back", []step{{time.Hour, time.Hour, time.Hour, 0}, {2 * time.Hour, -time.Hour, -time.Hour, 0}, {3 * time.Hour, 3 * time.Hour, 3 * time.Hour, 0}}},
		{"jump back and ahead", []step{
			{time.Hour, -time.Hour, -time.Hour, 0}, {2 * time.Hour, 30 * time.Hour, 2 * time.Hour, 28 * time.Hour},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			now := start
			c := NewRetentionClock(func() time.Time { return now }, nil)
			for i, s := range test.steps {
				now = testkit.ClockReading(t, start, s.wall, s.elapsed)
				got, ahead := c.advance()
				if since := time.Duration(got - wallOf(start)); since != s.want || ahead != s.ahead {
					t.Errorf("step %d: %v, ahead %v; want %v, %v", i, since, ahead, s.want, s.ahead)
				}
			}
		})
	}
}

// TestRetentionClock_WithoutMonotonic: a clock that has no other one beside it jumps back.
func TestRetentionClock_WithoutMonotonic(t *testing.T) {
	start := time.Now().Round(0)
	now := start
	c := NewRetentionClock(func() time.Time { return now }, nil)
	for _, since := range []time.Duration{time.Hour, -time.Hour, time.Minute, 2 * time.Hour} {
		now = start.Add(since)
		if got := c.Now(); !got.Equal(now) {
			t.Errorf("after %v: %v, want %v", since, got, now)
		}
	}
}
