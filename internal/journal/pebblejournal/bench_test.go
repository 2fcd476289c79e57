package pebblejournal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// payload results in an entry of about 400 bytes.
var payload = json.RawMessage(`{"message":"` + strings.Repeat("x", 256) + `"}`)

func benchDraft(n int64) journal.Draft {
	return journal.Draft{Envelope: protocol.Envelope{
		ID:      protocol.ID(fmt.Sprintf("0193a5c2-7b1e-7%03x-8%03x-%012x", n%4093, n%4091, n)),
		TS:      time.Now(),
		From:    "planner",
		Kind:    protocol.KindReasoningThought,
		Context: "0193a5c2-7b1e-7000-8000-000000000000",
		Payload: payload,
	}}
}

// concurrently runs b.N operations on n goroutines and reports the median and
// the 99th percentile of their durations.
func concurrently(b *testing.B, n int, op func(worker int, i int64)) {
	var next atomic.Int64
	took := make([][]time.Duration, n)
	var wg sync.WaitGroup
	b.ResetTimer()
	for w := range n {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				begun := time.Now()
				op(w, i)
				took[w] = append(took[w], time.Since(begun))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkAppend has n callers that append one draft each at a time, in one
// space and in a space each.
func BenchmarkAppend(b *testing.B) {
	for _, spaces := range []int{1, 8} {
		for _, callers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("spaces=%d/callers=%d", spaces, callers), func(b *testing.B) {
				batches := 0
				j, err := Open(Options{Dir: b.TempDir(), OnCommit: func(int, int, time.Duration) { batches++ }})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				concurrently(b, callers, func(worker int, i int64) {
					space := fmt.Sprintf("lab-%d", worker%spaces)
					r := j.Append(context.Background(), space, []journal.Draft{benchDraft(i)})
					if r[0].Err != nil {
						b.Error(r[0].Err)
					}
				})
				if err := j.Close(); err != nil {
					b.Error(err)
				}
				b.ReportMetric(float64(b.N)/float64(batches), "entries/batch")
			})
		}
	}
}

// BenchmarkBareSync appends the bytes of one entry to a file and syncs it, one after the
// other: what the disk allows a caller that appends alone.
func BenchmarkBareSync(b *testing.B) {
	f, err := vfs.Default.Create(filepath.Join(b.TempDir(), "bare"), vfs.WriteCategoryUnspecified)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	d := benchDraft(1)
	entry := journal.AppendEntry(nil, entryOf(&d, 1))
	concurrently(b, 1, func(int, int64) {
		_, err := f.Write(entry)
		if err := errors.Join(err, f.SyncData()); err != nil {
			b.Error(err)
		}
	})
}

// BenchmarkRawPebble writes the same load directly to Pebble, one row per entry
// and without checks, to measure the disk.
func BenchmarkRawPebble(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			db, err := pebble.Open(b.TempDir(), &pebble.Options{MemTableSize: 16 << 20, Logger: quiet{}})
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			concurrently(b, callers, func(_ int, i int64) {
				d := benchDraft(i)
				e := entryOf(&d, protocol.Seq(i))
				key := fmt.Appendf(nil, "lab%016x", i)
				if err := db.Set(key, journal.AppendEntry(nil, e), pebble.Sync); err != nil {
					b.Error(err)
				}
			})
		})
	}
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

// BenchmarkRange reads a whole space.
func BenchmarkRange(b *testing.B) {
	j, err := Open(Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	const n = 100_000
	var drafts []journal.Draft
	for i := range int64(n) {
		drafts = append(drafts, benchDraft(i))
	}
	for chunk := range slices.Chunk(drafts, 1000) {
		if r := j.Append(context.Background(), "lab", chunk); r[0].Err != nil {
			b.Fatal(r[0].Err)
		}
	}
	for name, q := range map[string]journal.Query{
		"all":       {},
		"backwards": {Backwards: true},
		"context":   {Context: "0193a5c2-7b1e-7000-8000-000000000000"},
	} {
		b.Run(name, func(b *testing.B) {
			read := 0
			for range b.N {
				for _, err := range j.Range(context.Background(), "lab", q) {
					if err != nil {
						b.Fatal(err)
					}
					read++
				}
			}
			b.ReportMetric(float64(read)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}
