package argument

import (
	"slices"
	"strings"
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

// BenchmarkShell_Long parses and decides dense texts of 64 KiB.
func BenchmarkShell_Long(b *testing.B) {
	const mixed = "git diff a/b 2>&1 | git status; for x in a b; do echo 'a b c' \"d\" e; done\n"
	at := Place{Root: "/home/alice/repo", Dir: "/home/alice/repo"}
	for name, c := range map[string]struct{ line, rule string }{
		"words": {mixed, `{"commands":["git status","git diff **","cd *","echo **"]}`},
		"reads": {"cat src/a.go src/b/c.go | grep -n foo src/d.go && ls -la src; head -n 5 docs/x.md\n", `{"read":{"preset":true,"below":"."}}`},
		"files": {"go test ./... > build/out.txt 2>build/err.txt; echo x >> build/b/c\n", `{"commands":["go test **","echo **"],"write":{"below":"build"}}`},
		"deny":  {mixed, `{"commands":["rm **","git push **","sudo **","curl -d","dd","mkfs","chmod -R","git reset --hard","npm publish","kubectl delete"]}`},
	} {
		b.Run(name, func(b *testing.B) {
			r := shellRule(b, "rule", c.rule)
			text := strings.Repeat(c.line, (MaxCommand-200)/len(c.line))
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				x := Parse(text)
				if name == "deny" && r.Denies(x, at) || name != "deny" && !r.Allows(x, at) {
					b.Fatal("another verdict")
				}
			}
		})
	}
}
