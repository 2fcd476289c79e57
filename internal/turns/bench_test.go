package turns

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

// BenchmarkHistory is a thread of 200 turns with 5 tools each, in a log in
// memory.
func BenchmarkHistory(b *testing.B) {
	log := new(memoryLog)
	workday(log, "a", 200, 5)
	for _, test := range []struct {
		name  string
		cache int
		v     Viewer
	}{{"cold", 1, as("bob")}, {"warm", 64 << 20, as("bob")}} {
		p := NewTracker(Options{Space: "lab", Reader: log, CacheBytes: test.cache})
		apply(p, log.entries)
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if h, err := p.History(b.Context(), "a-q0", 200, 0, test.v); err != nil || len(h.Turns) != 200 {
					b.Fatal(err)
				}
			}
		})
		b.Run(test.name+" as JSON", func(b *testing.B) {
			for b.Loop() {
				h, err := p.History(b.Context(), "a-q0", 200, 0, test.v)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := h.JSON(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	// A viewer that may not see all items gets a new rendering.
	p := NewTracker(Options{Space: "lab", Reader: log, CacheBytes: 64 << 20})
	apply(p, log.entries)
	v := Viewer{Allows: func(e *Entry) bool { return e.Envelope.Kind != protocol.KindReasoningConclusion }}
	b.Run("warm, for who sees a part", func(b *testing.B) {
		for b.Loop() {
			if _, err := p.History(b.Context(), "a-q0", 200, 0, v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkApply measures the time of one envelope and the memory of a space.
func BenchmarkApply(b *testing.B) {
	for _, tools := range []int{0, 5} {
		log := new(memoryLog)
		for i := range 40 {
			workday(log, fmt.Sprintf("t%d", i), 50, tools)
		}
		b.Run(fmt.Sprintf("%d tools a turn", tools), func(b *testing.B) {
			p := NewTracker(Options{Space: "lab", Reader: log})
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if i == len(log.entries) {
					i, p = 0, NewTracker(Options{Space: "lab", Reader: log})
				}
				p.Apply(b.Context(), log.entries[i])
				i++
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "envelopes/s")
		})
	}
}

// BenchmarkMillion applies a million envelopes and reports the memory of the
// projection.
func BenchmarkMillion(b *testing.B) {
	day := new(memoryLog)
	workday(day, "day", 45, 5)
	for b.Loop() {
		p := NewTracker(Options{Space: "lab"})
		before := heap()
		seq := protocol.Seq(0)
		for n := 0; seq < 1_000_000; n++ {
			for _, e := range day.entries {
				seq++
				env := *e.Envelope
				env.Seq, env.ID = seq, env.ID+protocol.ID(fmt.Sprint(n))
				if env.Context != "" {
					env.Context += protocol.ContextPath(fmt.Sprint(n))
				}
				if id := env.Correlation.First(); id != "" {
					env.Correlation = protocol.CorrelateTo(id + protocol.ID(fmt.Sprint(n)))
				}
				p.Apply(b.Context(), Entry{Envelope: &env})
			}
		}
		b.ReportMetric(float64(heap()-before)/(1<<20), "MiB")
		runtime.KeepAlive(p)
	}
	b.ReportMetric(1e6*float64(b.N)/b.Elapsed().Seconds(), "envelopes/s")
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
