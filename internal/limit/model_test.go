package limit_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/internal/limit"
	"github.com/meup-protocol/meup/protocol"
)

// TestModel generates random traffic, with envelopes that are rejected later, and
// compares the bucket with the definition: no interval has more admitted tokens
// than burst + rate·t, and all traffic that the definition allows is admitted.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.5, 50).Draw(t, "rate")
		burst := rapid.IntRange(1, 20).Draw(t, "burst")
		every, _ := protocol.ParseKindPattern("*")
		b := limit.New(limit.Limits{Kinds: []limit.KindLimit{{Pattern: every, Rate: rate, Burst: burst}}})

		level, now := float64(burst), start
		var open []limit.Reservation
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			step := time.Duration(rapid.IntRange(0, 400).Draw(t, "ms")) * time.Millisecond
			now = now.Add(step)
			level = min(float64(burst), level+step.Seconds()*rate)
			if len(open) > 0 && rapid.IntRange(0, 3).Draw(t, "cancel") == 0 {
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				open[i].Cancel(now)
				open = append(open[:i], open[i+1:]...)
				level = min(float64(burst), level+1)
				continue
			}
			r, failed := b.Reserve(now, "chat", 1)
			err := protocol.AsError(failed)
			switch {
			case err == nil && level < 1-1e-3:
				t.Fatalf("admitted with %v tokens left", level)
			case err != nil && level > 1+1e-3:
				t.Fatalf("refused with %v tokens left: %v", level, err)
			case err == nil:
				level--
				open = append(open, r)
			case err.RetryAfterMS < 1 || float64(err.RetryAfterMS) > (1-level)/rate*1000+2:
				t.Fatalf("told to wait %d ms with %v tokens at %v/s", err.RetryAfterMS, level, rate)
			}
		}
	})
}
