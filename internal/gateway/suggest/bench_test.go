package suggest_test

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkRun derives rules from a log of 60,000 envelopes, in which a tenth of the approved calls
// are different ones.
func BenchmarkRun(b *testing.B) {
	w := office(b)
	for i := range 10_000 {
		w.approved(1, "coder", "files", "Bash", command(fmt.Sprintf("tool%d x%d", i%500, i%10)))
		w.approved(1, "coder", "files", "lookup", fmt.Sprintf(`{"q":"%d"}`, i%1000))
		w.rejected(1, "coder", "files", "Write", fmt.Sprintf(`{"file_path":"d%d/f%d"}`, i%100, i))
	}
	o := w.options()
	o.UnusedSince = start.Add(time.Hour)
	for b.Loop() {
		if len(w.run(o).Suggestions) == 0 {
			b.Fatal("nothing is suggested")
		}
	}
}
