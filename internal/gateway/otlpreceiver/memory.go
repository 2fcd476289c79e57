package otlpreceiver

import (
	"slices"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/kit/recent"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the memory.
const (
	maxDone   = 64 << 10         // ids that were published; the oldest are forgotten
	maxOwners = 1024             // participants with open traces; the oldest are forgotten
	maxOpen   = 64               // traces of a participant; the oldest are canceled
	maxIdle   = 15 * time.Minute // of an open trace; then it is canceled
)

// memory has the ids that were published, so that a repeated export does not cost the
// rate of its participant again, and the traces whose context is open. It is a cache:
// an id that it has forgotten is published again, which the log ignores.
type memory struct {
	mu        sync.Mutex
	published *recent.Map[string, struct{}]
	owners    *recent.Map[string, *owner]
}

// owner is a participant of a space, with its open traces, the oldest first.
type owner struct {
	open     []openTrace
	restored bool // open has the ones from before a restart
}

type openTrace struct {
	key protocol.ID // of its context
	at  time.Time
}

func newMemory() *memory {
	return &memory{published: recent.New[string, struct{}](maxDone), owners: recent.New[string, *owner](maxOwners)}
}

func (m *memory) done(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.published.Put(id, struct{}{})
}

func (m *memory) isDone(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.published.Get(id)
	return ok
}

// opened adds a trace whose context was opened at a time.
func (m *memory) opened(who string, key protocol.ID, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.ownerLocked(who)
	if !slices.ContainsFunc(o.open, func(t openTrace) bool { return t.key == key }) {
		o.open = append(o.open, openTrace{key, at})
	}
}

// restored makes an owner known, whose open traces were added.
func (m *memory) restored(who string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ownerLocked(who).restored = true
}

// isRestored reports whether the memory has the open traces of an owner.
func (m *memory) isRestored(who string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, known := m.owners.Get(who)
	return known && o.restored
}

func (m *memory) ownerLocked(who string) *owner {
	o, known := m.owners.Get(who)
	if !known {
		o = new(owner)
	}
	m.owners.Put(who, o)
	return o
}

func (m *memory) isOpen(who string, key protocol.ID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, known := m.owners.Get(who)
	return known && slices.ContainsFunc(o.open, func(t openTrace) bool { return t.key == key })
}

// closed removes an open trace.
func (m *memory) closed(who string, key protocol.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, known := m.owners.Get(who); known {
		o.open = slices.DeleteFunc(o.open, func(t openTrace) bool { return t.key == key })
	}
}

// stale returns the traces to cancel: the ones over a bound.
func (m *memory) stale(who string, now time.Time) (keys []protocol.ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, known := m.owners.Get(who)
	if !known {
		return nil
	}
	for i, t := range o.open {
		if len(o.open)-i > maxOpen || now.Sub(t.at) > maxIdle {
			keys = append(keys, t.key)
		}
	}
	return keys
}
