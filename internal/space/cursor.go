package space

import (
	"context"
	"errors"
	"iter"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// ErrRetired: the space was closed on this gateway because it was idle, or
// because its log was replaced. Get the space from the hub again.
var ErrRetired = errors.New("the space was closed on this gateway")

// Cursor reads a space's log in order from a position and then follows new
// durable entries, for parts of the gateway that maintain derived data. It also
// reads entries that are addressed to others. A cursor does not keep an idle
// space open.
//
// One goroutine may use a cursor.
type Cursor struct {
	space  *Space
	seq    protocol.Seq // everything up to here was read
	wakeup chan struct{}
	batch  []*ring.Entry
}

// Follow returns a cursor that is positioned after an entry. Close must be
// called.
func (s *Space) Follow(after protocol.Seq) *Cursor {
	c := &Cursor{space: s, seq: after, wakeup: make(chan struct{}, 1), batch: make([]*ring.Entry, 0, deliveryEntries)}
	s.cursors.Add(c)
	return c
}

// Close ends the cursor.
func (c *Cursor) Close() {
	c.space.cursors.Remove(c)
}

// Next returns the next entries, without hidden ones, and the Seq up to which the
// log was read. It waits for new entries, or until ctx ends. The entries are
// shared, read-only, and the slice is valid until the next call. Errors:
// ErrRetired, the log's, ctx's.
func (c *Cursor) Next(ctx context.Context) ([]*ring.Entry, protocol.Seq, error) {
	for {
		before := c.seq
		if err := c.read(ctx); err != nil {
			return nil, c.seq, err
		}
		if c.seq > before {
			return c.batch, c.seq, nil
		}
		if c.space.retired.Load() {
			return nil, c.seq, ErrRetired
		}
		select {
		case <-c.wakeup:
		case <-ctx.Done():
			return nil, c.seq, context.Cause(ctx)
		}
	}
}

// read reads one batch from the ring or, if the ring has evicted it, from the
// journal.
func (c *Cursor) read(ctx context.Context) error {
	c.batch = c.batch[:0]
	pos, _, ok := c.space.ring.Seek(c.seq, ^uint64(0))
	if ok {
		entries, _, _, still := c.space.ring.Read(c.batch, pos)
		if still {
			c.take(entries)
			return nil
		}
	}
	upTo := c.space.ring.Bottom()
	entries, err := c.space.readLog(ctx, c.batch, c.seq, upTo)
	if err != nil {
		return err
	}
	if len(entries) == 0 { // the log no longer has the evicted entries
		c.seq = max(c.seq, upTo)
		return ctx.Err()
	}
	c.take(entries)
	return nil
}

// take keeps the durable, visible part of entries and advances the cursor.
func (c *Cursor) take(entries []*ring.Entry) {
	c.batch = entries[:0]
	for _, e := range entries {
		if e.Envelope.Seq <= c.seq {
			continue
		}
		c.seq = e.Envelope.Seq
		if !e.Hidden() {
			c.batch = append(c.batch, e)
		}
	}
}

// wake notifies the cursor of new entries.
func (c *Cursor) wake() {
	select {
	case c.wakeup <- struct{}{}:
	default:
	}
}

// Range yields the stored entries with first <= Seq <= last in order, without
// hidden ones, and at most one error, at the end.
func (s *Space) Range(ctx context.Context, first, last protocol.Seq) iter.Seq2[*ring.Entry, error] {
	return s.scan(ctx, journal.Query{After: max(first, 1) - 1, Before: last + 1})
}

// Backwards yields the stored entries, the newest first, without hidden ones, and at
// most one error, at the end.
func (s *Space) Backwards(ctx context.Context) iter.Seq2[*ring.Entry, error] {
	return s.scan(ctx, journal.Query{Backwards: true})
}

func (s *Space) scan(ctx context.Context, q journal.Query) iter.Seq2[*ring.Entry, error] {
	return func(yield func(*ring.Entry, error) bool) {
		for e, err := range s.journal().Range(ctx, s.name, q) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !e.Hidden && !yield(ring.NewEntry(e), nil) {
				return
			}
		}
	}
}

// readLog appends to dst the next entries of the log after a position, up to upTo.
func (s *Space) readLog(ctx context.Context, dst []*ring.Entry, after, upTo protocol.Seq) ([]*ring.Entry, error) {
	size := 0
	q := journal.Query{After: after, Before: upTo + 1, Limit: deliveryEntries}
	for e, err := range s.journal().Range(ctx, s.name, q) {
		if err != nil {
			return nil, err
		}
		entry := ring.NewEntry(e)
		dst = append(dst, entry)
		size += entry.Size()
		if size >= ring.ReadBytes {
			break
		}
	}
	return dst, nil
}
