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

	reclaiming sync.Mutex // one at a time; who comes meanwhile goes on
}

func (b *ringBudget) add(bytes int) {
	if b != nil {
		b.used.Add(int64(bytes))
	}
}

// reclaimRings lets entries go when the rings of all spaces exceed their
// budget: from the largest ones, down to one level, so that a space which holds
// little loses nothing to others that hold much. Members that still need them
// read the journal. An eighth of the budget is freed at a time, so that looking
// at all spaces is rare.
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

// levelFor returns the level to which the sizes above it have to be cut for
// their sum not to exceed total.
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
