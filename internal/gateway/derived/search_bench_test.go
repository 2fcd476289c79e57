package derived

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/search"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// BenchmarkAdmission measures admission to the embedded log, with synced commits of
// 4 senders with 16 envelopes each in flight, alone and beside the index in turn, over
// one log. It reports the medians of the pairs: the rate beside the index as a share of
// the rate alone, and the processor time of an envelope that the index adds, as a share
// of the time without it; the time depends less on the load of the machine.
func BenchmarkAdmission(b *testing.B) {
	const phase = 100_000 // longer than the pauses of the index
	j := openPebble(b, b.TempDir())
	defer j.Close()
	g, dir := newGateway(b, j), b.TempDir()
	first := 0
	measure := func() (rate, cpu float64) {
		began, used := time.Now(), cpuTime(b)
		admit(b, g.space(), first, phase)
		first += phase
		return phase / time.Since(began).Seconds(), (cpuTime(b) - used).Seconds() / phase
	}
	measure() // warm-up
	var alone, rates, costs []float64
	for b.Loop() {
		rate, cpu := measure()
		g.run(dir)
		_, _ = g.store.Search(b.Context(), g.space(), ring.Viewer{ID: "bob"}, search.Query{Text: "listing"}) // waits until the index is open
		beside, more := measure()
		g.stop()
		alone, rates, costs = append(alone, rate), append(rates, 100*beside/rate), append(costs, 100*(more-cpu)/cpu)
	}
	median := func(list []float64) float64 { slices.Sort(list); return list[len(list)/2] }
	b.ReportMetric(median(alone), "admitted/s")
	b.ReportMetric(median(rates), "%rate")
	b.ReportMetric(median(costs), "%more-cpu")
}

// cpuTime is the time that this process has taken from the processors.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// admit publishes n thoughts, with ids from first on.
func admit(b *testing.B, s *space.Space, first, n int) {
	b.Helper()
	const senders, burst = 4, 16
	var all sync.WaitGroup
	for i := range senders {
		all.Go(func() {
			sender, err := s.Sender(context.Background(), ring.Viewer{ID: "alice"})
			if err != nil {
				b.Error(err)
				return
			}
			for at := i * burst; at < n; at += senders * burst {
				var list []admission.Decoded
				for k := range burst {
					in, bad := protocol.Decode(fmt.Appendf(nil, `{"id":"t%d","kind":"reasoning.thought","context":"c1","payload":{"message":"The listing shows four files; number %d is the most likely to say how a release is rolled back, so I read its first lines before the others."}}`, first+at+k, at+k), protocol.DialectMEUP01, protocol.DefaultContextDepth)
					list = append(list, admission.Decoded{In: in, Err: bad})
				}
				for _, r := range sender.Publish(context.Background(), list) {
					if r.Err != nil {
						b.Error(r.Err)
						return
					}
				}
			}
		})
	}
	all.Wait()
}
