package ring

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Budget bounds several rings together.
type Budget struct {
	Max  int64
	used atomic.Int64

	reclaiming sync.Mutex // one at a time; concurrent callers return at once
}

func (b *Budget) add(bytes int) {
	if b != nil {
		b.used.Add(int64(bytes))
	}
}

// Used returns the cost of the entries in all rings, in bytes.
func (b *Budget) Used() int64 { return b.used.Load() }

// Reclaim evicts entries when the rings exceed the budget; list returns all of
// them. It cuts the largest rings to one common level, so that a small ring loses
// nothing to large ones. Readers that still need the entries read the journal. It
// frees an eighth of the budget at a time, so that scanning all rings is rare.
func (b *Budget) Reclaim(list func() []*Ring) {
	if b.used.Load() <= b.Max || !b.reclaiming.TryLock() {
		return
	}
	defer b.reclaiming.Unlock()
	rings := list()
	sizes := make([]int, len(rings))
	for i, r := range rings {
		sizes[i] = r.Size()
	}
	level := levelFor(sizes, int(b.Max-b.Max/8))
	for i, r := range rings {
		if sizes[i] > level {
			r.shrink(level)
		}
	}
}

// levelFor returns the level at which to cut the sizes so that their sum does not
// exceed total.
func levelFor(sizes []int, total int) int {
	sorted := slices.Sorted(slices.Values(sizes))
	for i, size := range sorted {
		if share := total / (len(sorted) - i); size > share {
			return share
		}
		total -= size
	}
	return total
}
