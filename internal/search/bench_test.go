package search

import (
	"context"
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/journal/derivedb"
	"github.com/meup-protocol/meup/protocol"
)

var (
	benchEnvelopes = flag.Int("envelopes", 100_000, "envelopes in the log of the benchmark")
	benchQuestions = flag.Bool("questions", false, "search for questions of about 12 words, any of them")
)

// BenchmarkSearch indexes a log, and searches it as one participant. It reports
// the speed of the index, its size as a share of the text, and the time of a search.
func BenchmarkSearch(b *testing.B) {
	x, err := Open(derivedb.Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	c := newCorpus(50_000)
	store := make(map[protocol.Seq]*protocol.Envelope)
	began := time.Now()
	text := c.apply(b, x, *benchEnvelopes, 1000, store)
	spent := time.Since(began)
	if err := x.db.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := x.db.Compact(context.Background(), []byte{0}, []byte{255}, false); err != nil {
		b.Fatal(err)
	}
	who := Asker{ID: "p3", Read: func(_ context.Context, seq protocol.Seq) (*protocol.Envelope, error) { return store[seq], nil }}
	var times []time.Duration
	i := 0
	for b.Loop() {
		q := Query{Text: c.query(i)}
		for n := 0; *benchQuestions && n < 5; n++ {
			q.Match, q.Text = MatchAny, q.Text+" "+c.query(i+n)
		}
		i++
		start := time.Now()
		if _, err := x.Search(b.Context(), "lab", who, q); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	b.ReportMetric(float64(*benchEnvelopes)/spent.Seconds(), "indexed/s")
	b.ReportMetric(100*float64(x.Size())/float64(text), "%text")
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
}
