// Package ring holds the newest entries of a space, encoded for delivery. All
// readers share them: each has a position of its own in the ring.
//
// It also folds the tree of [Contexts] and the open [Streams] from these entries, and has
// [StreamTexts], what inspected streams hold back. [Visibility] decides who may see an entry.
package ring

import (
	"sort"
	"sync"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// Ring holds the newest entries of a space, each once, for all members. Positions
// count every entry that was ever put, so that entries without a Seq
// (stream.data, presence) have a position too.
//
// It grows as needed up to its limits; evicted entries are still in the journal.
type Ring struct {
	maxEntries int
	maxBytes   int
	budget     *Budget // shared with other rings; nil: none

	mu    sync.RWMutex
	slots []*Entry // circular; the length is a power of two
	first uint64   // position of the oldest entry
	next  uint64   // position after the newest
	bytes int
	head  protocol.Seq // of the newest durable entry
	floor protocol.Seq // everything durable above it is in the ring
	lives uint64       // number of entries without a Seq that were ever put
	byID  map[protocol.ID]*Entry
}

// New returns a ring of entries after head. Its cost is part of the budget; nil: of
// none.
func New(maxEntries, maxBytes int, head protocol.Seq, budget *Budget) *Ring {
	return &Ring{maxEntries: maxEntries, maxBytes: maxBytes, head: head, floor: head, budget: budget}
}

func (r *Ring) slot(pos uint64) **Entry { return &r.slots[pos&uint64(len(r.slots)-1)] }

// Put appends entries. It skips entries with a Seq that it already has.
func (r *Ring) Put(entries []*Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range entries {
		if seq := e.Envelope.Seq; seq != 0 {
			if seq <= r.head {
				continue
			}
			r.head = seq
		}
		e.after, e.lives = r.head, r.lives
		if e.Envelope.Seq == 0 {
			r.lives++
		}
		size := e.Size()
		for r.next > r.first && (r.next-r.first >= uint64(r.maxEntries) || r.bytes+size > r.maxBytes) {
			r.evict()
		}
		if int(r.next-r.first) == len(r.slots) {
			r.resize(max(minSlots, 2*len(r.slots)))
		}
		*r.slot(r.next) = e
		r.next++
		r.bytes += size
		r.budget.add(size)
		if e.Envelope.Seq != 0 {
			if r.byID == nil {
				r.byID = make(map[protocol.ID]*Entry)
			}
			r.byID[e.Envelope.ID] = e
		}
	}
}

func (r *Ring) evict() {
	p := r.slot(r.first)
	e := *p
	*p = nil
	r.first++
	r.bytes -= e.Size()
	r.budget.add(-e.Size())
	if e.Envelope.Seq != 0 {
		r.floor = e.Envelope.Seq
		delete(r.byID, e.Envelope.ID)
	}
}

// Expire evicts entries from before cutoff, so that a space that was busy once
// does not stay full. Readers that still need them use the journal.
func (r *Ring) Expire(cutoff time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.next > r.first && (*r.slot(r.first)).Envelope.TS.Before(cutoff) {
		r.evict()
	}
	r.halve()
}

// halve releases unused slots.
func (r *Ring) halve() {
	if held := int(r.next - r.first); len(r.slots) > minSlots && held <= len(r.slots)/4 {
		r.resize(max(minSlots, len(r.slots)/2))
	}
}

// Size returns the cost of the entries, in bytes.
func (r *Ring) Size() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.bytes
}

// shrink evicts the oldest entries until the others cost at most the given bytes.
func (r *Ring) shrink(bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.next > r.first && r.bytes > bytes {
		r.evict()
	}
	r.halve()
}

// Drop evicts everything and releases the shared budget.
func (r *Ring) Drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.budget.add(-r.bytes)
	r.budget = nil
	for r.next > r.first {
		r.evict()
	}
}

// ReadBytes is the cost of entries, in bytes, at which one read of the ring or of
// the journal ends.
const ReadBytes = 1 << 20

const minSlots = 16

// resize gives the ring n slots, a power of two that holds all entries.
func (r *Ring) resize(n int) {
	old := r.slots
	r.slots = make([]*Entry, n)
	for pos := r.first; pos < r.next; pos++ {
		*r.slot(pos) = old[pos&uint64(len(old)-1)]
	}
}

// Lookup returns the entry with this id, if the ring still has it.
func (r *Ring) Lookup(id protocol.ID) *Entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byID[id]
}

// Position returns the head: its Seq, the position after it, and the number of
// entries without a Seq before that.
func (r *Ring) Position() (head protocol.Seq, pos, lives uint64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.head, r.next, r.lives
}

// Head returns the Seq of the newest durable entry.
func (r *Ring) Head() protocol.Seq {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.head
}

// livesBefore returns the number of entries without a Seq before pos.
func (r *Ring) livesBefore(pos uint64) uint64 {
	if pos < r.next {
		return (*r.slot(pos)).lives
	}
	return r.lives
}

// Bottom returns the Seq above which the ring has everything durable.
func (r *Ring) Bottom() protocol.Seq {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.floor
}

// Seek returns the position after everything up to seq, or the position of the
// oldest entry from live on, if that is lower; gone is how many entries without a
// Seq were evicted so far. It reports false when entries after seq were evicted.
func (r *Ring) Seek(seq protocol.Seq, live uint64) (pos, gone uint64, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if seq < r.floor {
		return 0, 0, false
	}
	n := sort.Search(int(r.next-r.first), func(i int) bool {
		return (*r.slot(r.first + uint64(i))).after > seq
	})
	return min(r.first+uint64(n), max(r.first, live)), r.livesBefore(r.first), true
}

// Read appends to dst the entries from pos on, up to the capacity of dst. It
// returns the position after them, the number of entries without a Seq before
// that position, and false when pos was evicted.
func (r *Ring) Read(dst []*Entry, pos uint64) (entries []*Entry, next, lives uint64, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if pos < r.first {
		return dst, pos, 0, false
	}
	for size := 0; pos < r.next && len(dst) < cap(dst) && size < ReadBytes; pos++ {
		e := *r.slot(pos)
		dst = append(dst, e)
		size += e.Size()
	}
	return dst, pos, r.livesBefore(pos), true
}
