package entrydb

import (
	"container/heap"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// TrimPlan returns the Seq up to which each space has to be trimmed to conform
// to ret; spaces without anything to drop are omitted. Age drops entries with a
// timestamp before now minus the age. Bytes drops the oldest entries of the
// whole log, regardless of the space, until [DB.Size] is within the limit or
// only state entries are left.
//
// It reads only the entries to drop and a few more. Err: ErrUnavailable.
func (d *DB) TrimPlan(ret journal.Retention, now time.Time) (map[string]protocol.Seq, error) {
	if ret == (journal.Retention{}) {
		return nil, nil
	}
	spaces, err := d.Spaces()
	if err != nil {
		return nil, fmt.Errorf("plan retention: %w", err)
	}
	p := plan{db: d, before: map[string]protocol.Seq{}}
	for _, space := range spaces {
		if err := p.byAge(&cursor{space: space}, ret.Age, now); err != nil {
			return nil, fmt.Errorf("plan retention of %s: %w", space, err)
		}
	}
	if ret.Bytes > 0 {
		if err := p.byBytes(ret.Bytes); err != nil {
			return nil, fmt.Errorf("plan retention: %w", err)
		}
	}
	return p.before, nil
}

type plan struct {
	db     *DB
	before map[string]protocol.Seq
	freed  int64
	left   cursorHeap // one cursor for each space with entries left to drop
}

// byAge drops the expired entries of a space and moves its cursor past them.
func (p *plan) byAge(c *cursor, age time.Duration, now time.Time) error {
	for {
		st, err := p.db.peek(c)
		if err != nil || st == nil {
			return err
		}
		if age <= 0 || !st.ts.Before(now.Add(-age)) {
			p.left = append(p.left, c)
			return nil
		}
		p.drop(c)
	}
}

// byBytes drops the oldest entry of all spaces repeatedly.
func (p *plan) byBytes(limit int64) error {
	size, err := p.db.Size()
	if err != nil {
		return err
	}
	heap.Init(&p.left)
	for size-p.freed > limit && len(p.left) > 0 {
		c := p.left[0]
		p.drop(c)
		st, err := p.db.peek(c)
		if err != nil {
			return err
		}
		if st == nil {
			heap.Pop(&p.left)
			continue
		}
		heap.Fix(&p.left, 0)
	}
	return nil
}

// drop adds the entry at the cursor to the plan.
func (p *plan) drop(c *cursor) {
	st := c.ahead[0]
	c.ahead = c.ahead[1:]
	p.freed += st.bytes
	p.before[c.space] = st.seq + 1
}

// stamp is the part of an entry that a plan needs.
type stamp struct {
	seq   protocol.Seq
	ts    time.Time
	bytes int64
}

// cursor iterates over the entries of a space that can be dropped, oldest
// first.
type cursor struct {
	space string
	after protocol.Seq // the last Seq that was read
	ahead []stamp      // read and not dropped yet
	chunk int
	end   bool
}

// peek returns the entry at the cursor; nil at the end.
func (d *DB) peek(c *cursor) (*stamp, error) {
	for len(c.ahead) == 0 && !c.end {
		if err := d.advance(c); err != nil {
			return nil, err
		}
	}
	if len(c.ahead) == 0 {
		return nil, nil
	}
	return &c.ahead[0], nil
}

// advance reads the next entries of a cursor, first few, then more.
func (d *DB) advance(c *cursor) error {
	s, err := d.acquire()
	if err != nil {
		return err
	}
	defer d.release(s)
	if c.chunk == 0 {
		floor, err := floor(s.pdb, c.space)
		if err != nil {
			return err
		}
		if floor > 0 {
			c.after = floor - 1
		}
		c.chunk = 4
	}
	c.chunk = min(2*c.chunk, lastChunk)
	lower, upper, _ := seqRange(spacePrefix(nil, tableEntry, c.space), c.after, 0)
	it, err := s.pdb.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return journal.Unavailable(err)
	}
	c.ahead = c.ahead[:0]
	c.end = true
	var b Batch // only for its buffer
	for ok := it.First(); ok; ok = it.Next() {
		if err := c.add(it, &b); err != nil {
			_ = it.Close()
			return err
		}
		if len(c.ahead) == c.chunk {
			c.end = false
			break
		}
	}
	return closeErr(it)
}

// add records the entry at the iterator, unless it is always kept.
func (c *cursor) add(it *pebble.Iterator, b *Batch) error {
	value, err := it.ValueAndErr()
	if err != nil {
		return journal.Unavailable(err)
	}
	e, err := journal.DecodeEntry(value)
	if err != nil {
		return journal.Unavailable(fmt.Errorf("entry %x: %w", it.Key(), err))
	}
	c.after = e.Envelope.Seq
	if !e.State {
		size := b.rowBytes(c.space, e, len(value))
		c.ahead = append(c.ahead, stamp{e.Envelope.Seq, e.Envelope.TS, size})
	}
	return nil
}

// cursorHeap orders cursors by the age of their current entries.
type cursorHeap []*cursor

func (h cursorHeap) Len() int           { return len(h) }
func (h cursorHeap) Less(i, j int) bool { return h[i].ahead[0].ts.Before(h[j].ahead[0].ts) }
func (h cursorHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *cursorHeap) Push(x any)        { *h = append(*h, x.(*cursor)) } //nolint:forcetypeassert // the heap has only cursors
func (h *cursorHeap) Pop() any {
	old := *h
	c := old[len(old)-1]
	*h = old[:len(old)-1]
	return c
}
