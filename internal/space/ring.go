package space

import (
	"sort"
	"sync"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// ring holds the youngest entries of a space, each once, for all members.
// Positions count everything that was ever put in, so that entries without a
// Seq (stream.data, presence) have their place as well.
//
// It grows to what is in use and no further than its limits; what is pushed
// out is still in the journal.
type ring struct {
	maxEntries int
	maxBytes   int
	budget     *ringBudget // shared with other rings; nil: none

	mu    sync.RWMutex
	slots []*Entry // circular; the length is a power of two
	first uint64   // position of the oldest entry
	next  uint64   // position behind the youngest
	bytes int
	head  protocol.Seq // of the youngest durable entry
	floor protocol.Seq // everything durable above it is in the ring
	lives uint64       // entries without a Seq that were ever put in
	byID  map[protocol.ID]*Entry
}

func newRing(maxEntries, maxBytes int, head protocol.Seq) *ring {
	return &ring{maxEntries: maxEntries, maxBytes: maxBytes, head: head, floor: head}
}

func (r *ring) slot(pos uint64) **Entry { return &r.slots[pos&uint64(len(r.slots)-1)] }

// put appends entries. Those with a Seq that the ring has already are left
// out.
func (r *ring) put(entries []*Entry) {
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
		r.push(e)
	}
}

func (r *ring) push(e *Entry) {
	for r.next > r.first && (r.next-r.first >= uint64(r.maxEntries) || r.bytes+e.size() > r.maxBytes) {
		r.evict()
	}
	if int(r.next-r.first) == len(r.slots) {
		r.grow()
	}
	*r.slot(r.next) = e
	r.next++
	r.bytes += e.size()
	r.budget.add(e.size())
	if e.Envelope.Seq != 0 {
		if r.byID == nil {
			r.byID = make(map[protocol.ID]*Entry)
		}
		r.byID[e.Envelope.ID] = e
	}
}

func (r *ring) evict() {
	p := r.slot(r.first)
	e := *p
	*p = nil
	r.first++
	r.bytes -= e.size()
	r.budget.add(-e.size())
	if e.Envelope.Seq != 0 {
		r.floor = e.Envelope.Seq
		delete(r.byID, e.Envelope.ID)
	}
}

// expire lets go of entries from before cutoff: whoever still needs them reads
// the journal. Without it every space that was ever busy would stay full.
func (r *ring) expire(cutoff time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.next > r.first && (*r.slot(r.first)).Envelope.TS.Before(cutoff) {
		r.evict()
	}
	r.halve()
}

// halve gives back slots that are not used any more.
func (r *ring) halve() {
	if held := int(r.next - r.first); len(r.slots) > minSlots && held <= len(r.slots)/4 {
		r.resize(max(minSlots, len(r.slots)/2))
	}
}

// size returns how many bytes the entries count for.
func (r *ring) size() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.bytes
}

// shrink lets go of the oldest entries until the others count for no more than
// some bytes.
func (r *ring) shrink(bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.next > r.first && r.bytes > bytes {
		r.evict()
	}
	r.halve()
}

// drop lets go of everything, and of the budget that is shared with others.
func (r *ring) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.budget.add(-r.bytes)
	r.budget = nil
	for r.next > r.first {
		r.evict()
	}
}

const minSlots = 16

func (r *ring) grow() { r.resize(max(minSlots, 2*len(r.slots))) }

// resize gives the ring n slots, a power of two that holds what is there.
func (r *ring) resize(n int) {
	old := r.slots
	r.slots = make([]*Entry, n)
	for pos := r.first; pos < r.next; pos++ {
		*r.slot(pos) = old[pos&uint64(len(old)-1)]
	}
}

// lookup returns the entry with this id, if the ring still has it.
func (r *ring) lookup(id protocol.ID) *Entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byID[id]
}

// position returns the head: its Seq, the position behind it, and how many
// entries without a Seq stand before that.
func (r *ring) position() (head protocol.Seq, pos, lives uint64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.head, r.next, r.lives
}

// livesBefore returns how many entries without a Seq stand before pos.
func (r *ring) livesBefore(pos uint64) uint64 {
	if pos < r.next {
		return (*r.slot(pos)).lives
	}
	return r.lives
}

// bottom returns the Seq above which the ring has everything durable.
func (r *ring) bottom() protocol.Seq {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.floor
}

// seek returns the position behind everything up to seq, or that of the oldest
// entry from the position live on, if that comes before; gone is how many
// entries without a Seq have ever left the ring. It reports false when entries
// behind seq have left it.
func (r *ring) seek(seq protocol.Seq, live uint64) (pos, gone uint64, ok bool) {
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

// read appends to dst the entries from pos on, as many as dst has room for. It
// returns the position behind them with the entries without a Seq before it,
// and false when pos has left the ring.
func (r *ring) read(dst []*Entry, pos uint64) (entries []*Entry, next, lives uint64, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if pos < r.first {
		return dst, pos, 0, false
	}
	for size := 0; pos < r.next && len(dst) < cap(dst) && size < deliveryBytes; pos++ {
		e := *r.slot(pos)
		dst = append(dst, e)
		size += e.size()
	}
	return dst, pos, r.livesBefore(pos), true
}
