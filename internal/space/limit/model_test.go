package limit_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meup-protocol/meup/internal/space/limit"
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

// TestModel_TwoGateways generates traffic to two buckets of one participant that
// exchange the spent tokens. At every moment the sum admitted is at most as much as one
// bucket allows, plus the sum admitted between two exchanges.
func TestModel_TwoGateways(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.5, 50).Draw(t, "rate")
		burst := rapid.IntRange(1, 20).Draw(t, "burst")
		l := limit.Limits{Rate: rate, Burst: burst}
		gateways := [2]*limit.Bucket{limit.New(l), limit.New(l)}
		now := start
		total, period, longest := 0, 0, 0
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "ms")) * time.Millisecond)
			if rapid.IntRange(0, 9).Draw(t, "exchange") == 0 {
				first, second := gateways[0].TakeSpent(), gateways[1].TakeSpent()
				gateways[0].Charge(now, second)
				gateways[1].Charge(now, first)
				period = 0
				if again := gateways[0].TakeSpent(); again != nil {
					t.Fatalf("a charge was counted as spent: %v", again)
				}
			}
			if gateways[rapid.IntRange(0, 1).Draw(t, "gateway")].Envelope(now) == nil {
				total++
				period++
				longest = max(longest, period)
			}
			if most := float64(burst) + rate*now.Sub(start).Seconds() + float64(longest); float64(total) > most+1e-3 {
				t.Fatalf("%d admitted in %v at rate %v, burst %d, at most %d between exchanges", total, now.Sub(start), rate, burst, longest)
			}
		}
	})
}

// TestCharge_CanceledElsewhere checks that tokens which were given back at another
// gateway after the exchange come back here too, and that a huge charge ends.
func TestCharge_CanceledElsewhere(t *testing.T) {
	l := limit.Limits{Kinds: []limit.KindLimit{{Pattern: pattern(t, "chat"), Rate: 0.001, Burst: 3}}}
	here, there := limit.New(l), limit.New(l)
	r, err := there.Reserve(start, "chat", 1)
	if err != nil {
		t.Fatal(err)
	}
	here.Charge(start, there.TakeSpent())
	r.Cancel(start)
	here.Charge(start, there.TakeSpent())
	if got := admitted(5, reserve(here, start, "chat", 1)); got != 3 {
		t.Errorf("admitted %d, want 3", got)
	}
	here.Charge(start, map[string]int{"kinds:chat": 1 << 40, "nothing": 1})
	if err := reserve(here, start.Add(time.Hour), "chat", 1)(); err == nil {
		t.Error("a charge had no effect")
	}
}
