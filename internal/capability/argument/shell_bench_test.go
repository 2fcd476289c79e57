package argument

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkShell parses and decides each harmless command, and reports what one takes.
func BenchmarkShell(b *testing.B) {
	list := examples(b, "harmless.txt")
	var each []time.Duration
	bytes := 0
	for b.Loop() {
		each, bytes = each[:0], 0
		for _, e := range list {
			start := time.Now()
			e.rule.Allows(Parse(e.text), Place{})
			each = append(each, time.Since(start)*1024/time.Duration(max(1024, len(e.text))))
			bytes += len(e.text)
		}
	}
	b.SetBytes(int64(bytes))
	slices.Sort(each)
	b.ReportMetric(float64(each[len(each)*99/100].Nanoseconds()), "p99-ns/KiB")
	b.ReportMetric(float64(each[len(each)/2].Nanoseconds()), "p50-ns/KiB")
}

// BenchmarkShell_Long parses and decides a dense text of 64 KiB.
func BenchmarkShell_Long(b *testing.B) {
	r := shellRule(b, "rule", `{"commands":["git status","git diff **","cd *","echo **"]}`)
	text := ""
	for len(text) < MaxCommand-200 {
		text += "git diff a/b 2>&1 | git status; for x in a b; do echo 'a b c' \"d\" e; done\n"
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if !r.Allows(Parse(text), Place{}) {
			b.Fatal("it is not allowed")
		}
	}
}
