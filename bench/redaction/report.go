package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/meup-protocol/meup/internal/safety"
	"github.com/meup-protocol/meup/internal/safety/redact"
	"github.com/meup-protocol/meup/protocol"
)

// measure creates the whole report.
func measure() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d × %s, %s, %s/%s. Medians of %d measurements.\n\n", time.Now().UTC().Format(time.DateOnly),
		runtime.NumCPU(), processor(), runtime.Version(), runtime.GOOS, runtime.GOARCH, repeats)
	if err := heaps(&b); err != nil {
		return "", err
	}
	if err := speeds(&b); err != nil {
		return "", err
	}
	if err := accuracies(&b); err != nil {
		return "", err
	}
	return b.String(), nil
}

// heaps reports the memory of a detector and the time to create it.
func heaps(b *strings.Builder) error {
	var kept []any
	b.WriteString("| detector | rules | heap, MB | made in, ms of processor time |\n|---|---:|---:|---:|\n")
	for _, d := range []struct {
		name string
		make func() (any, int, error)
	}{
		{"leak detector", func() (any, int, error) { d, err := redact.Default(); return d, len(known()), err }},
		{"whole pipeline", func() (any, int, error) { p, err := safety.New(safety.Config{}); return p, 0, err }},
		{"gitleaks", func() (any, int, error) {
			d, err := detect.NewDetectorDefaultConfig()
			if err != nil {
				return nil, 0, err
			}
			return d, len(d.Config.Rules), nil
		}},
	} {
		before, begun := heap(), cpuTime()
		made, rules, err := d.make()
		if err != nil {
			return fmt.Errorf("make %s: %w", d.name, err)
		}
		took := cpuTime() - begun
		kept = append(kept, made)
		count := "–"
		if rules > 0 {
			count = fmt.Sprint(rules)
		}
		fmt.Fprintf(b, "| %s | %s | %.1f | %d |\n", d.name, count, float64(heap()-before)/1e6, took.Milliseconds())
	}
	runtime.KeepAlive(kept)
	b.WriteString("\n")
	return nil
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// repeats is the number of measurements of each figure.
const repeats = 5

// timed is the cost of one call, the median of several measurements.
type timed struct{ ns, allocs int64 }

func timeOf(f func()) timed {
	f() // excludes initialization on first use
	n := 1
	for once(f, n).took < leastTime {
		n *= 2
	}
	var list []timed
	for range repeats {
		r := once(f, n)
		list = append(list, timed{int64(r.took) / int64(n), r.allocs / int64(n)})
	}
	slices.SortFunc(list, func(a, b timed) int { return int(a.ns - b.ns) })
	return list[repeats/2]
}

// leastTime is the duration of a measurement: far more than the resolution of
// the CPU clock.
const leastTime = 200 * time.Millisecond

type measurement struct {
	took   time.Duration
	allocs int64
}

// once measures n calls.
func once(f func(), n int) measurement {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begun := cpuTime()
	for range n {
		f()
	}
	took := cpuTime() - begun
	runtime.ReadMemStats(&after)
	return measurement{took, int64(after.Mallocs - before.Mallocs)}
}

// speeds reports the time per text.
func speeds(b *strings.Builder) error {
	us, err := newOurs()
	if err != nil {
		return err
	}
	them, err := newGitleaks()
	if err != nil {
		return err
	}
	all, err := newPipeline()
	if err != nil {
		return err
	}
	b.WriteString("Processor time of one text, and allocations:\n\n| text | leak detector, µs (allocations) | whole pipeline, µs (allocations) | gitleaks, µs (allocations) | gitleaks / detector | gitleaks / pipeline |\n|---|---:|---:|---:|---:|---:|\n")
	for _, t := range texts() {
		value, err := payload(t.body)
		if err != nil {
			return err
		}
		key, body := []byte("message"), []byte(t.body)
		var found []redact.Finding
		leaks := timeOf(func() { found = us.leaks.Find(found[:0], key, body, nil) })
		whole := timeOf(func() { _, _ = all.p.Payload(protocol.KindReasoningThought, value) })
		other := timeOf(func() { them.detector.DetectString(t.body) })
		fmt.Fprintf(b, "| %s | %s | %s | %s | %.0f | %.0f |\n", t.name, leaks, whole, other,
			float64(other.ns)/float64(leaks.ns), float64(other.ns)/float64(whole.ns))
	}
	b.WriteString("\n")
	return nil
}

// String formats three digits.
func (t timed) String() string {
	µs, places := float64(t.ns)/1000, 1
	if µs >= 100 {
		places = 0
	}
	return fmt.Sprintf("%.*f (%d)", places, µs, t.allocs)
}

// accuracies reports recall and precision.
func accuracies(b *strings.Builder) error {
	us, err := newOurs()
	if err != nil {
		return err
	}
	them, err := newGitleaks()
	if err != nil {
		return err
	}
	shared := map[string]bool{}
	for rule := range them.detector.Config.Rules {
		shared[rule] = known()[rule]
	}
	b.WriteString("| corpus | leak detector | gitleaks |\n|---|---:|---:|\n")
	mine, theirs := judge(us.find, shared), judge(them.find, shared)
	row := func(name string, ratio func(score) (int, int)) {
		n, of := ratio(mine)
		m, _ := ratio(theirs)
		fmt.Fprintf(b, "| %s, of %d | %.2f %% | %.2f %% |\n", name, of, 100*float64(n)/float64(of), 100*float64(m)/float64(of))
	}
	row("secrets masked as a whole", func(s score) (int, int) { return s.found, s.leaks })
	row("the same, formats that both know", func(s score) (int, int) { return s.sharedFound, s.sharedLeaks })
	row("named as in the corpus", func(s score) (int, int) { return s.named, s.leaks })
	row("clean texts with a false alarm", func(s score) (int, int) { return s.wrong, s.clean })
	perMB := func(s score) float64 { return 1e6 * float64(s.alarms) / float64(s.bytes) }
	fmt.Fprintf(b, "| false alarms per MB of clean texts, of %.1f MB | %.1f | %.1f |\n", float64(mine.bytes)/1e6, perMB(mine), perMB(theirs))
	return nil
}

// processor returns the name of the processor, if available.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "processor"
	}
	defer f.Close() //nolint:errcheck // read only
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "processor"
}
