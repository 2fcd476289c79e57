package journal

import (
	"testing"
	"time"
)

func TestRetentionClock(t *testing.T) {
	start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
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
			var now step
			c := NewRetentionClock(func() time.Time { return start.Add(now.wall) }, func() time.Duration { return now.elapsed }, nil)
			for i, s := range test.steps {
				now = s
				got, ahead := c.advance()
				if got.Sub(start) != s.want || ahead != s.ahead {
					t.Errorf("step %d: %v, ahead %v; want %v, %v", i, got.Sub(start), ahead, s.want, s.ahead)
				}
			}
		})
	}
}
