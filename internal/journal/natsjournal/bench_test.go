package natsjournal

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/meup-protocol/meup/internal/journal"
)

func benchServer(b *testing.B, syncAlways bool) string {
	b.Helper()
	srv, err := startServer(&server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: b.TempDir(),
		SyncAlways: syncAlways, NoLog: true, NoSigs: true,
	}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { stopServer(srv) })
	return srv.ClientURL()
}

func benchOpen(b *testing.B, url string) *Journal {
	b.Helper()
	j, err := Open(context.Background(), Options{Conn: dial(b, url), ReplicaDir: filepath.Join(b.TempDir(), "r")})
	if err != nil {
		b.Fatal(err)
	}
	return j
}

// benchDraft returns a draft of about 400 bytes when encoded.
func benchDraft(id string) journal.Draft {
	d := chat(id, "alice")
	d.Envelope.Payload = []byte(`{"message":"` + strings.Repeat("x", 320) + `"}`)
	return d
}

// BenchmarkAppend runs appenders that each wait for their entry, in one space
// and in many.
func BenchmarkAppend(b *testing.B) {
	for _, syncAlways := range []bool{true, false} {
		for _, appenders := range []int{8, 256} {
			for _, spaces := range []int{1, 64} {
				b.Run(fmt.Sprintf("sync=%t/appenders=%d/spaces=%d", syncAlways, appenders, spaces), func(b *testing.B) {
					j := benchOpen(b, benchServer(b, syncAlways))
					var next atomic.Int64
					var wg sync.WaitGroup
					b.ResetTimer()
					for w := range appenders {
						space := fmt.Sprintf("space-%d", w%spaces)
						wg.Go(func() {
							for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
								r := j.Append(context.Background(), space, []journal.Draft{benchDraft(fmt.Sprintf("m-%d", i))})
								if r[0].Err != nil {
									b.Error(r[0].Err)
								}
							}
						})
					}
					wg.Wait()
					b.StopTimer()
					b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
					if err := j.Close(); err != nil {
						b.Error(err)
					}
				})
			}
		}
	}
}

// BenchmarkReplay reads b.N entries, in blocks of 16, with a gateway without a
// replica.
func BenchmarkReplay(b *testing.B) {
	url := benchServer(b, false)
	j := benchOpen(b, url)
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := w * 16; i < b.N; i += 16 * 16 {
				var drafts []journal.Draft
				for k := i; k < min(i+16, b.N); k++ {
					drafts = append(drafts, benchDraft(fmt.Sprintf("m-%d", k)))
				}
				for _, r := range j.Append(context.Background(), fmt.Sprintf("space-%d", w), drafts) {
					if r.Err != nil {
						b.Error(r.Err)
					}
				}
			}
		})
	}
	wg.Wait()
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	j = benchOpen(b, url)
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
}
