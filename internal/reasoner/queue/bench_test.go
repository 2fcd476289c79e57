package queue_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	reasonerclient "github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/client/reasoner/wire"
	"github.com/meup-protocol/meup/internal/reasoner"
	"github.com/meup-protocol/meup/internal/reasoner/queue"
)

// BenchmarkQueue measures the whole path: submit, decide by rules, result at
// the waiting client. NATS is the embedded server, which syncs every write;
// client and workers have their own connections within the process. callers is
// the number of concurrent requests.
func BenchmarkQueue(b *testing.B) {
	for _, workers := range []int{4, 16} {
		for _, callers := range []int{1, 64, 256} {
			b.Run(fmt.Sprintf("workers=%d/callers=%d", workers, callers), func(b *testing.B) {
				benchQueue(b, workers, callers)
			})
		}
	}
}

func benchQueue(b *testing.B, workers, callers int) {
	s := newSite(b)
	inProcess := func() *nats.Conn {
		nc, err := nats.Connect("", s.ClientOptions()...)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(nc.Close)
		return nc
	}
	s.worker(func(o *queue.Options) {
		o.Conn, o.Workers, o.AckWait, o.Logger = inProcess(), workers, 0, nil
		o.Decide = reasoner.New(reasoner.Options{}).Decide
	})
	c := s.client(func(o *reasonerclient.Options) { o.Conn = inProcess() })
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				r := &wire.AgentIntentRequest{SessionID: "s", GoalText: "search project for TODOs"}
				if resp, err := c.AgentIntent(context.Background(), r); err != nil || resp.ToolName == "" {
					b.Errorf("got %+v, %v", resp, err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "intents/s")
}

// BenchmarkSync measures the limit of the disk: publications to one stream of
// the same server, each of them synced.
func BenchmarkSync(b *testing.B) {
	s := newSite(b)
	nc, err := nats.Connect("", s.ClientOptions()...)
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := js.CreateStream(b.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}}); err != nil {
		b.Fatal(err)
	}
	data := make([]byte, 300)
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range 256 {
		all.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				if _, err := js.Publish(ctx, fmt.Sprintf("s.%d", i), data); err != nil {
					b.Error(err)
				}
				cancel()
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "publications/s")
}
