//go:build !race

package redact

import (
	"runtime"
	"testing"
)

// The race detector makes pools forget at random, so this runs without it.

// TestAllocationIsLinear checks that the allocations of an inspection are linear in
// the size of the text.
func TestAllocationIsLinear(t *testing.T) {
	d := detector(t)
	const size = 64 << 10
	for name, text := range hostile(t, d, size) {
		t.Run(name, func(t *testing.T) {
			body := []byte(text)
			d.Find(nil, nil, body, nil) // states of rules are built once
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			d.Find(nil, nil, body, nil)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 64*size {
				t.Errorf("%d bytes for a text of %d", n, size)
			}
		})
	}
}
