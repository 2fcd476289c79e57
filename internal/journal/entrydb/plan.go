package entrydb

import (
	"container/heap"
	"context"
	"fmt"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// TrimPlan returns the Seq up to which each space has to be trimmed to conform
// to ret; spaces without anything to drop are omitted. Age drops entries with a
// timestamp before now minus the age. Bytes drops the oldest entries of the
// whole log, regardless of the space, until [DB.Size] is within the limit or
// only state entries are left. Entries of [journal.GatewayLog] are dropped after their
// timestamp. A zero now drops nothing by time.
//
// It reads only the entries to drop and a few more. Err: ErrUnavailable.
func (d *DB) TrimPlan(ret journal.Retention, now time.Time) (map[string]protocol.Seq, error) {
	p := plan{db: d, before: map[string]protocol.Seq{}}
	if _, err := p.byTime(&cursor{space: journal.GatewayLog}, now); err != nil {
		return nil, fmt.Errorf("plan retention of %s: %w", journal.GatewayLog, err)
	}
	if ret == (journal.Retention{}) {
		return p.before, nil
	}
	spaces, err := d.Spaces()
	if err != nil {
		return nil, fmt.Errorf("plan retention: %w", err)
	}
	var expired time.Time
	if ret.Age > 0 {
		expired = now.Add(-ret.Age)
	}
	for _, space := range spaces {
		if space == journal.GatewayLog {
			continue
		}
		c := &cursor{space: space}
		left, err := p.byTime(c, expired)
		if err != nil {
			return nil, fmt.Errorf("plan retention of %s: %w", space, err)
		}
		if left {
			p.left = append(p.left, c)
		}
	}
	if ret.Bytes <= 0 {
		return p.before, nil
	}
	size, err := d.Size()
	if err != nil {
		return nil, fmt.Errorf("plan retention: %w", err)
	}
	heap.Init(&p.left)
	for size-p.freed > ret.Bytes && len(p.left) > 0 {
		c := p.left[0] // with the oldest entry of all spaces
		p.drop(c)
		st, err := d.peek(c)
		if err != nil {
			return nil, fmt.Errorf("plan retention: %w", err)
		}
		if st == nil {
			heap.Pop(&p.left)
			continue
		}
		heap.Fix(&p.left, 0)
	}
	return p.before, nil
}

type plan struct {
	db     *DB
	before map[string]protocol.Seq
	freed  int64
	left   cursorHeap // one cursor for each space with entries left to drop
}

// byTime drops the entries of a space before a time and moves its cursor past them. left
// reports whether there are others that can be dropped.
func (p *plan) byTime(c *cursor, before time.Time) (left bool, err error) {
	for {
		st, err := p.db.peek(c)
		if err != nil || st == nil {
			return false, err
		}
		if !st.ts.Before(before) {
			return true, nil
		}
		p.drop(c)
	}
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
	scan  *scan
	ahead []stamp // read and not dropped yet
	chunk int
}

// peek returns the entry at the cursor; nil at the end.
func (d *DB) peek(c *cursor) (*stamp, error) {
	if c.scan == nil {
		oldest, _, err := d.Bounds(c.space)
		if err != nil {
			return nil, err
		}
		c.scan = newScan(c.space, journal.Query{After: max(oldest, 1) - 1})
		c.chunk = 4
	}
	for len(c.ahead) == 0 && !c.scan.done {
		// First few entries are read, then more.
		c.chunk = min(2*c.chunk, lastChunk)
		entries, err := d.readChunk(context.Background(), c.scan, c.chunk)
		if err != nil {
			return nil, err
		}
		var b Batch // only for its buffers
		for _, e := range entries {
			if !e.State {
				b.val = journal.AppendEntry(b.val[:0], e)
				c.ahead = append(c.ahead, stamp{e.Envelope.Seq, e.Envelope.TS, b.rowBytes(c.space, e, len(b.val))})
			}
		}
	}
	if len(c.ahead) == 0 {
		return nil, nil
	}
	return &c.ahead[0], nil
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
