package limit

import "sync"

// Budget bounds the bytes in memory at one time: in total and per holder. A
// request above the share of a holder is granted if the holder has nothing, so
// that each request that other limits allow can succeed. It is safe for
// concurrent use.
type Budget struct {
	total, share int64

	mu      sync.Mutex
	used    int64
	holders map[string]int64 // bytes held; without zeros
}

// NewBudget returns a budget of total bytes, of which one holder may have share.
func NewBudget(total, share int64) *Budget {
	return &Budget{total: total, share: share, holders: make(map[string]int64)}
}

// Hold is a part of a Budget. It belongs to one goroutine.
type Hold struct {
	budget *Budget
	holder string
	bytes  int64
}

// Take takes n bytes, or reports that they are not to be had now. Release must
// be called.
func (b *Budget) Take(holder string, n int64) (Hold, bool) {
	h := Hold{budget: b, holder: holder}
	ok := h.Grow(n)
	return h, ok
}

// Grow takes n bytes more, or reports that they are not to be had now.
func (h *Hold) Grow(n int64) bool {
	b := h.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.holders[h.holder]
	if own > h.bytes && own+n > b.share || b.used > h.bytes && b.used+n > b.total {
		return false
	}
	b.used += n
	b.holders[h.holder] = own + n
	h.bytes += n
	return true
}

// Release returns the bytes to the budget.
func (h *Hold) Release() {
	b := h.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= h.bytes
	b.holders[h.holder] -= h.bytes
	if b.holders[h.holder] == 0 {
		delete(b.holders, h.holder)
	}
	h.bytes = 0
}
