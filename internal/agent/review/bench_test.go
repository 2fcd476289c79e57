package review

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/protocol"
)

// BenchmarkReviewer measures a proposal until its host has the call: with a reviewer that decides
// by rules, and, as what it is compared with, as a call that capabilities allow.
func BenchmarkReviewer(b *testing.B) {
	s := newScene(b, "decide")
	host, err := client.Dial(s.ctx, client.Options{URL: s.g.URL("lab"), Token: "files-token"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = host.Close() })
	s.reviewer(nil)
	measure := func(who string, e func(n int) protocol.Envelope) func(*testing.B) {
		return func(b *testing.B) {
			delays := make([]time.Duration, 0, b.N)
			for n := 0; b.Loop(); n++ {
				sent := time.Now()
				s.send(who, e(n))
				for {
					got, err := host.Receive(s.ctx)
					if err != nil {
						b.Fatal(err)
					}
					if got.Kind == protocol.KindMCPRequest {
						break
					}
				}
				delays = append(delays, time.Since(sent))
			}
			slices.Sort(delays)
			b.ReportMetric(float64(delays[len(delays)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(delays[len(delays)*99/100].Microseconds()), "p99-µs")
		}
	}
	b.Run("decided", measure("coder", func(n int) protocol.Envelope {
		return protocol.Envelope{Kind: protocol.KindMCPProposal, Payload: fmt.Appendf(nil, `{"method":"tools/call","participant_id":"files","params":{"name":"read_file","arguments":{"n":%d}}}`, n)}
	}))
	b.Run("allowed", measure("alice", func(n int) protocol.Envelope {
		return protocol.Envelope{Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"files"}, Payload: fmt.Appendf(nil, `{"id":%d,"method":"tools/call","params":{"name":"read_file"}}`, n)}
	}))
}
