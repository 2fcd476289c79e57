package limit_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/protocol"
)

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

const thought = protocol.KindReasoningThought

func pattern(t testing.TB, s string) protocol.KindPattern {
	t.Helper()
	p, err := protocol.ParseKindPattern(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// admitted counts how many of n calls pass.
func admitted(n int, call func() error) int {
	passed := 0
	for range n {
		if call() == nil {
			passed++
		}
	}
	return passed
}

func reserve(b *limit.Bucket, now time.Time, kind protocol.Kind, size int) func() error {
	return func() error {
		_, err := b.Reserve(now, kind, size)
		return err
	}
}

func TestEnvelopeAdmitsTheBurstAndThenTheRate(t *testing.T) {
	b := limit.New(limit.Limits{Rate: 10, Burst: 5})
	frame := func(now time.Time) func() error {
		return func() error { return b.Envelope(now) }
	}
	if got := admitted(9, frame(start)); got != 5 {
		t.Fatalf("admitted %d at once, want 5", got)
	}
	if got := admitted(9, frame(start.Add(300*time.Millisecond))); got != 3 {
		t.Fatalf("admitted %d after 300 ms, want 3", got)
	}
	if got := admitted(9, frame(start.Add(time.Hour))); got != 5 {
		t.Fatalf("admitted %d after an hour, want 5", got)
	}
}

func TestZeroLimitsAreUnlimited(t *testing.T) {
	b := limit.New(limit.Limits{Kinds: []limit.KindLimit{{Pattern: pattern(t, "*")}}})
	for range 10_000 {
		if err := b.Envelope(start); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Reserve(start, thought, 1<<30); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBurstOfZeroIsASecondsWorth(t *testing.T) {
	for rate, want := range map[float64]int{0.1: 1, 2.5: 3, 7: 7} {
		b := limit.New(limit.Limits{Rate: rate})
		if got := admitted(20, func() error { return b.Envelope(start) }); got != want {
			t.Errorf("rate %v: %d at once, want %d", rate, got, want)
		}
	}
}

func TestRefusalSaysWhichLimitAndWhenToComeBack(t *testing.T) {
	l := limit.Limits{
		Rate: 2, Burst: 1, BytesPerSecond: 1000, MessageBytes: 1000,
		Kinds: []limit.KindLimit{{Pattern: pattern(t, "reasoning/*"), Rate: 0.5, Burst: 1}},
	}
	cases := []struct {
		limit string
		call  func(b *limit.Bucket, now time.Time) error
		ms    int64
	}{
		{"rate", func(b *limit.Bucket, now time.Time) error { return b.Envelope(now) }, 500},
		{"bytes_per_second", func(b *limit.Bucket, now time.Time) error {
			return reserve(b, now, "chat", 750)()
		}, 500},
		{"kinds: reasoning/*", func(b *limit.Bucket, now time.Time) error {
			return reserve(b, now, thought, 1)()
		}, 2000},
	}
	for _, c := range cases {
		b := limit.New(l)
		if err := c.call(b, start); err != nil {
			t.Fatalf("%s: first call: %v", c.limit, err)
		}
		err := protocol.AsError(c.call(b, start))
		if err == nil || err.Code != protocol.CodeRateLimited || err.Limit != c.limit || err.RetryAfterMS != c.ms || err.Message == "" {
			t.Fatalf("%s: got %+v, want limit %q after %d ms", c.limit, err, c.limit, c.ms)
		}
		if early := protocol.AsError(c.call(b, start.Add(err.RetryAfter()-2*time.Millisecond))); early == nil || early.RetryAfterMS < 1 {
			t.Errorf("%s: admitted before retry_after_ms, or without it: %+v", c.limit, early)
		}
		if late := c.call(b, start.Add(err.RetryAfter())); late != nil {
			t.Errorf("%s: refused after retry_after_ms: %v", c.limit, late)
		}
	}
}

func TestRefusalNamesTheLongestWait(t *testing.T) {
	b := limit.New(limit.Limits{Kinds: []limit.KindLimit{
		{Pattern: pattern(t, "*"), Rate: 10, Burst: 1},
		{Pattern: pattern(t, "chat"), Rate: 1, Burst: 1},
	}})
	if err := reserve(b, start, "chat", 1)(); err != nil {
		t.Fatal(err)
	}
	if err := reserve(b, start, "chat", 1)(); err == nil || protocol.AsError(err).Limit != "kinds: chat" {
		t.Fatalf("got %+v, want the limit on chat", err)
	}
}

func TestReserveTakesAllOrNothing(t *testing.T) {
	b := limit.New(limit.Limits{
		BytesPerSecond: 1 << 21, MessageBytes: 1 << 21,
		Kinds: []limit.KindLimit{
			{Pattern: pattern(t, "reasoning/*"), Rate: 1, Burst: 3},
			{Pattern: pattern(t, "reasoning/thought"), Rate: 1, Burst: 1},
		},
	})
	if got := admitted(50, reserve(b, start, thought, 1<<20)); got != 1 {
		t.Fatalf("admitted %d thoughts, want 1", got)
	}
	// The 49 refused ones took neither bytes nor tokens of reasoning/*.
	if got := admitted(50, reserve(b, start, protocol.KindReasoningStart, 1<<19)); got != 2 {
		t.Fatalf("admitted %d starts, want 2", got)
	}
	if got := admitted(50, reserve(b, start, protocol.KindChat, 0)); got != 50 {
		t.Fatalf("admitted %d chats, want all: no limit selects them", got)
	}
}

func TestCancelGivesBackWheneverItComes(t *testing.T) {
	l := limit.Limits{
		Rate: 0.001, Burst: 1, BytesPerSecond: 100, MessageBytes: 100,
		Kinds: []limit.KindLimit{{Pattern: pattern(t, "reasoning/*"), Rate: 0.001, Burst: 2}},
	}
	for _, later := range []time.Duration{0, time.Microsecond, time.Second} {
		b := limit.New(l)
		if err := b.Envelope(start); err != nil {
			t.Fatal(err)
		}
		first, err := b.Reserve(start, thought, 60)
		if err != nil {
			t.Fatal(err)
		}
		if err := reserve(b, start, thought, 40)(); err != nil {
			t.Fatal(err) // a later reservation must not keep the first from being given back
		}
		first.Cancel(start.Add(later))
		first.Cancel(start.Add(later))
		if got := admitted(3, reserve(b, start.Add(later), thought, 30)); got != 1 {
			t.Errorf("cancelled after %v: admitted %d more, want 1", later, got)
		}
		if err := b.Envelope(start); err == nil {
			t.Error("the envelope token was given back")
		}
	}
	var none limit.Reservation
	none.Cancel(start)
}

func TestLargestMessageIsNeverImpossible(t *testing.T) {
	b := limit.New(limit.Limits{BytesPerSecond: 1000, MessageBytes: 50_000})
	if err := reserve(b, start, "chat", 50_000)(); err != nil {
		t.Fatalf("a message within message_bytes: %v", err)
	}
	err := protocol.AsError(reserve(b, start, "chat", 50_000)())
	if err == nil || err.RetryAfter() != 50*time.Second {
		t.Fatalf("got %+v, want to wait 50 s", err)
	}
	if err := reserve(b, start.Add(50*time.Second), "chat", 50_000)(); err != nil {
		t.Fatalf("50 s later: %v", err)
	}
}

func TestMessageBeyondTheBurstIsTakenOnCredit(t *testing.T) {
	b := limit.New(limit.Limits{BytesPerSecond: 1 << 20})
	big, err := b.Reserve(start, "chat", 10<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := reserve(b, start.Add(8*time.Second), "chat", 1)(); err == nil {
		t.Fatal("ten seconds' worth of bytes were paid for after eight")
	}
	big.Cancel(start.Add(8 * time.Second))
	if err := reserve(b, start.Add(8*time.Second), "chat", 1<<20)(); err != nil {
		t.Fatalf("after it was given back: %v", err)
	}
}

func TestUpdateKeepsLevels(t *testing.T) {
	kind := limit.KindLimit{Pattern: pattern(t, "reasoning/*"), Rate: 1, Burst: 10}
	b := limit.New(limit.Limits{Kinds: []limit.KindLimit{kind}})
	open, err := b.Reserve(start, thought, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := admitted(20, reserve(b, start, thought, 1)); got != 9 {
		t.Fatalf("admitted %d, want 9", got)
	}
	kind.Burst, kind.Rate = 20, 2
	b.Update(limit.Limits{Kinds: []limit.KindLimit{{Pattern: pattern(t, "*"), Rate: 1000, Burst: 1000}, kind}}, start)
	if got := admitted(20, reserve(b, start, thought, 1)); got != 0 {
		t.Fatalf("a reload refilled the bucket: admitted %d", got)
	}
	open.Cancel(start) // taken before the reload, and the bucket is the same one
	if got := admitted(20, reserve(b, start, thought, 1)); got != 1 {
		t.Fatalf("admitted %d after a token came back, want 1", got)
	}
	if got := admitted(20, reserve(b, start.Add(3*time.Second), thought, 1)); got != 6 {
		t.Fatalf("admitted %d in 3 s at the new rate, want 6", got)
	}
	b.Update(limit.Limits{}, start.Add(3*time.Second))
	if got := admitted(20, reserve(b, start.Add(3*time.Second), thought, 1)); got != 20 {
		t.Fatalf("admitted %d without limits, want 20", got)
	}
}

func TestTimeNeverRunsBackwards(t *testing.T) {
	b := limit.New(limit.Limits{Rate: 1, Burst: 1})
	if err := b.Envelope(start.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	for i := range 100 { // a connection that read the clock a little earlier
		early := start.Add(time.Duration(i%2) * time.Second)
		if b.Envelope(early) == nil {
			t.Fatal("the same second was refilled twice")
		}
	}
}

func TestBucketIsSharedSafely(t *testing.T) {
	b := limit.New(limit.Limits{Rate: 1, Burst: 100, BytesPerSecond: 1000, MessageBytes: 1000,
		Kinds: []limit.KindLimit{{Pattern: pattern(t, "chat"), Rate: 1, Burst: 50}}})
	var mu sync.Mutex
	frames, envelopes := 0, 0
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 100 {
				frame := b.Envelope(start)
				r, err := b.Reserve(start, "chat", 10)
				if err == nil && (i+j)%2 == 0 {
					r.Cancel(start)
				}
				mu.Lock()
				if frame == nil {
					frames++
				}
				if err == nil && (i+j)%2 != 0 {
					envelopes++
				}
				mu.Unlock()
				if j%25 == 0 {
					b.Update(limit.Limits{Rate: 1, Burst: 100, BytesPerSecond: 1000, MessageBytes: 1000,
						Kinds: []limit.KindLimit{{Pattern: pattern(t, "chat"), Rate: 1, Burst: 50}}}, start)
				}
			}
		})
	}
	wg.Wait()
	if frames != 100 || envelopes != 50 {
		t.Fatalf("admitted %d frames and %d envelopes, want exactly 100 and 50", frames, envelopes)
	}
}

func TestDefaultsAreThoseOfTheHandbook(t *testing.T) {
	l := limit.Defaults()
	got := fmt.Sprint(l.Rate, l.Burst, l.BytesPerSecond, l.MessageBytes, l.Connections, l.OpenContexts, l.ContextDepth,
		len(l.Kinds), l.Kinds[0].Pattern.String()+" ", l.Kinds[0].Rate, l.Kinds[0].Burst)
	if want := "100 200 1048576 1048576 16 256 5 1reasoning/* 50 100"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

func TestAdmissionAllocatesNothing(t *testing.T) {
	b := limit.New(limit.Limits{Rate: 1e9, Burst: 1e9, BytesPerSecond: 1 << 40,
		Kinds: []limit.KindLimit{{Pattern: pattern(t, "reasoning/*"), Rate: 1e9, Burst: 1e9}}})
	if n := testing.AllocsPerRun(1000, func() { admit(t, b) }); n > 0 {
		t.Fatalf("%v allocations for an admitted envelope", n)
	}
}

func admit(t testing.TB, b *limit.Bucket) {
	if err := b.Envelope(start); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Reserve(start, thought, 400); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkAdmit(b *testing.B) {
	bucket := limit.New(limit.Limits{Rate: 1e12, Burst: 1e12, BytesPerSecond: 1 << 50,
		Kinds: []limit.KindLimit{{Pattern: pattern(b, "reasoning/*"), Rate: 1e12, Burst: 1e12}}})
	b.ReportAllocs()
	for b.Loop() {
		admit(b, bucket)
	}
}

func TestBucket_JoinsHaveABucketOfTheirOwn(t *testing.T) {
	now := time.Unix(0, 0)
	b := limit.New(limit.Limits{Rate: 1, Burst: 2})
	for i := range 32 {
		if err := b.Join(now); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
	}
	err := protocol.AsError(b.Join(now))
	if err == nil || err.Code != protocol.CodeRateLimited || err.RetryAfter() != time.Second {
		t.Errorf("one too many: %v", err)
	}
	if err := b.Envelope(now); err != nil {
		t.Errorf("connections cost envelopes: %v", err)
	}
	unlimited := limit.New(limit.Limits{})
	for range 1000 {
		if err := unlimited.Join(now); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWorkIsOwed: work is charged after it was done, also beyond the bucket, and
// further work is refused until the debt is paid.
func TestWorkIsOwed(t *testing.T) {
	b := limit.New(limit.Limits{BytesPerSecond: 1000, MessageBytes: 1000})
	if err := b.Work(start); err != nil {
		t.Fatal(err)
	}
	b.Worked(start, 16_000+32_000)
	err := protocol.AsError(b.Work(start))
	if err == nil || err.Code != protocol.CodeRateLimited || err.Limit != "inspected_bytes_per_second" || err.RetryAfterMS != 2001 {
		t.Fatalf("got %+v", err)
	}
	if err := b.Work(start.Add(err.RetryAfter())); err != nil {
		t.Errorf("after retry_after_ms: %v", err)
	}
	unlimited := limit.New(limit.Limits{})
	unlimited.Worked(start, 1<<40)
	if err := unlimited.Work(start); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}
