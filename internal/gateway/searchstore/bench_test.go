package searchstore

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/admission"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// BenchmarkAdmission measures admission to the embedded log, with synced commits of
// 4 senders with 16 envelopes each in flight, alone and beside the index.
func BenchmarkAdmission(b *testing.B) {
	for _, indexed := range []bool{false, true} {
		b.Run(fmt.Sprint("indexed=", indexed), func(b *testing.B) {
			j := openPebble(b, b.TempDir())
			defer j.Close()
			g := newGateway(b, j)
			if indexed {
				g.run(b.TempDir())
				defer g.stop()
			}
			b.ResetTimer()
			admit(b, g.space(), b.N)
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "admitted/s")
		})
	}
}

// admit publishes n thoughts.
func admit(b *testing.B, s *space.Space, n int) {
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
				var list []*admission.Pending
				for k := range burst {
					in, bad := protocol.Decode(fmt.Appendf(nil, `{"id":"t%d","kind":"reasoning.thought","context":"c1","payload":{"message":"The listing shows four files; number %d is the most likely to say how a release is rolled back, so I read its first lines before the others."}}`, at+k, at+k), protocol.DialectMEUP01, protocol.DefaultContextDepth)
					list = append(list, &admission.Pending{In: in, Err: protocol.AsError(bad)})
				}
				sender.Publish(context.Background(), list)
				for _, p := range list {
					if p.Err != nil {
						b.Error(p.Err)
						return
					}
				}
			}
		})
	}
	all.Wait()
}
