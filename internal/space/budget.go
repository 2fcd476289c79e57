package space

import (
	"slices"
	"sync"
	"sync/atomic"
)

// ringBudget bounds the rings of all spaces together.
type ringBudget struct {
	max  int64
	used atomic.Int64

	reclaiming sync.Mutex // one at a time; concurrent callers return at once
}

func (b *ringBudget) add(bytes int) {
	if b != nil {
		b.used.Add(int64(bytes))
	}
}

// reclaimRings evicts entries when the rings of all spaces exceed their budget.
// It cuts the largest rings to one common level, so that a small ring loses
// nothing to large ones. Members that still need the entries read the journal. It
// frees an eighth of the budget at a time, so that scanning all spaces is rare.
func (h *Hub) reclaimRings() {
	b := &h.rings
	if b.used.Load() <= b.max || !b.reclaiming.TryLock() {
		return
	}
	defer b.reclaiming.Unlock()
	spaces := h.openSpaces()
	sizes := make([]int, len(spaces))
	for i, s := range spaces {
		sizes[i] = s.ring.size()
	}
	level := levelFor(sizes, int(b.max-b.max/8))
	for i, s := range spaces {
		if sizes[i] > level {
			s.ring.shrink(level)
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
