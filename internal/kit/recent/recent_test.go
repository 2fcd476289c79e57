package recent_test

import (
	"testing"

	"github.com/meup-protocol/meup/internal/kit/recent"
)

// TestMap_Bounds: the entries that were put last are kept, and at most twice as
// many are in memory.
func TestMap_Bounds(t *testing.T) {
	const most = 8
	m := recent.New[int, int](most)
	for i := range 100 {
		m.Put(i, -i)
		m.Put(0, i) // put again, so it is never the oldest
		if v, ok := m.Get(0); !ok || v != i {
			t.Fatalf("after %d: %d, %t", i, v, ok)
		}
		for k := max(1, i-most/2); k <= i; k++ {
			if v, ok := m.Get(k); !ok || v != -k {
				t.Fatalf("after %d, key %d: %d, %t", i, k, v, ok)
			}
		}
		if m.Len() > 2*most {
			t.Fatalf("%d entries", m.Len())
		}
	}
	if _, ok := m.Get(50); ok {
		t.Error("an old entry is kept")
	}
}
