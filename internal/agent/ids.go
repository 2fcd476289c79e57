package agent

import (
	"sync"

	"github.com/meup-protocol/meup/protocol"
)

// recentIDs is a bounded set of ids. The zero recentIDs is empty. It is safe for concurrent
// use.
type recentIDs struct {
	mu    sync.Mutex
	ids   map[protocol.ID]bool
	order []protocol.ID // oldest first
}

// maxIDs bounds the stored ids; the oldest are evicted.
const maxIDs = 100_000

// Add adds an id.
func (o *recentIDs) Add(id protocol.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ids == nil {
		o.ids = make(map[protocol.ID]bool)
	}
	o.ids[id] = true
	o.order = append(o.order, id)
	if len(o.order) > maxIDs {
		delete(o.ids, o.order[0])
		o.order = o.order[1:]
	}
}

// Has reports whether an id is in the set.
func (o *recentIDs) Has(id protocol.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ids[id]
}

// Remove removes an id, and reports whether it was in the set.
func (o *recentIDs) Remove(id protocol.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	mine := o.ids[id]
	delete(o.ids, id)
	return mine
}
