package entrydb

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// Numbers of entries that a scan reads at a time; fewer the first time, since
// many callers need only a few entries.
const (
	firstChunk = 32
	lastChunk  = 512
	chunkBytes = 1 << 20
)

// Range yields the entries that the query selects, in order of Seq or
// backwards, and at most one error, at the end. Err: ErrUnavailable, or the
// error of ctx.
//
// It reads a chunk, releases the database and then yields: a slow consumer
// holds only the chunk.
func (d *DB) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(yield func(*journal.Entry, error) bool) {
		sc := newScan(space, q)
		for n := firstChunk; !sc.done; n = min(2*n, lastChunk) {
			entries, err := d.readChunk(ctx, sc, n)
			for _, e := range entries {
				if ctx.Err() != nil {
					break
				}
				if !yield(e, nil) {
					return
				}
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, fmt.Errorf("read log of %s: %w", space, err))
				return
			}
		}
	}
}

// scan is the position of a Range.
type scan struct {
	query  journal.Query // After, Before and Limit advance with every chunk
	entry  []byte        // prefix of the entries
	index  []byte        // prefix of the rows to iterate over; equals entry if no index is used
	filter bool          // the index does not cover the query's context
	done   bool
}

// newScan picks the narrowest index. State entries are few, so their index has
// priority over the index of a context.
func newScan(space string, q journal.Query) *scan {
	sc := &scan{query: q, entry: spacePrefix(nil, tableEntry, space)}
	switch {
	case q.StateOnly:
		sc.index = spacePrefix(nil, tableState, space)
		sc.filter = q.Context != ""
	case q.Context != "":
		sc.index = contextPrefix(nil, space, q.Context)
	default:
		sc.index = sc.entry
	}
	return sc
}

// readChunk reads up to n entries and moves the scan past them.
func (d *DB) readChunk(ctx context.Context, sc *scan, n int) ([]*journal.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := d.acquire()
	if err != nil {
		return nil, err
	}
	defer d.release(s)
	if sc.query.Limit > 0 {
		n = min(n, sc.query.Limit)
	}
	lower, upper, ok := seqRange(sc.index, sc.query.After, sc.query.Before)
	if !ok {
		sc.done = true
		return nil, nil
	}
	r, err := s.newReader(lower, upper, sc)
	if err != nil {
		return nil, err
	}
	entries, err := r.read(sc, n)
	if sc.query.Limit > 0 {
		sc.query.Limit -= len(entries)
		sc.done = sc.done || sc.query.Limit == 0
	}
	return entries, cmp.Or(err, r.close())
}

// reader iterates over the rows of a chunk.
type reader struct {
	rows    *pebble.Iterator
	entries *pebble.Iterator // nil if rows are the entries
	prefix  []byte           // prefix of the entries, with capacity for a Seq
}

func (s *store) newReader(lower, upper []byte, sc *scan) (*reader, error) {
	rows, err := s.pdb.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, journal.Unavailable(err)
	}
	r := &reader{rows: rows, prefix: append(make([]byte, 0, len(sc.entry)+seqBytes), sc.entry...)}
	if &sc.index[0] == &sc.entry[0] {
		return r, nil
	}
	lower, upper, _ = seqRange(sc.entry, 0, 0)
	r.entries, err = s.pdb.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, cmp.Or(journal.Unavailable(err), closeErr(rows))
	}
	return r, nil
}

func (r *reader) close() error {
	err := closeErr(r.rows)
	if r.entries != nil {
		err = cmp.Or(err, closeErr(r.entries))
	}
	return err
}

// read collects up to n entries. It sets sc.done when no rows are left.
func (r *reader) read(sc *scan, n int) ([]*journal.Entry, error) {
	first, next := r.rows.First, r.rows.Next
	if sc.query.Backwards {
		first, next = r.rows.Last, r.rows.Prev
	}
	list := make([]*journal.Entry, 0, n)
	size := 0
	for ok := first(); ok; ok = next() {
		seq, _ := keySeq(r.rows.Key())
		value, err := r.value(seq)
		if err != nil {
			return list, err
		}
		if value != nil {
			e, err := journal.DecodeEntry(value)
			if err != nil {
				return list, journal.Unavailable(fmt.Errorf("entry %d: %w", seq, err))
			}
			if !sc.filter || e.Envelope.Context.Within(sc.query.Context) {
				list = append(list, e)
				size += len(value)
			}
		}
		if sc.query.Backwards { // the next chunk follows seq
			sc.query.Before = seq
			sc.done = seq <= 1
		} else {
			sc.query.After = seq
		}
		if len(list) == n || size >= chunkBytes {
			return list, nil
		}
	}
	sc.done = true
	return list, nil // closing the iterator returns its error
}

// value returns the encoded entry of the current row; nil if it was removed
// after the row was read.
func (r *reader) value(seq protocol.Seq) ([]byte, error) {
	it := r.rows
	if r.entries != nil {
		it = r.entries
		key := appendSeq(r.prefix, seq)
		if !it.SeekGE(key) || !bytes.Equal(it.Key(), key) {
			return nil, nil // closing the iterator returns its error
		}
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return nil, journal.Unavailable(err)
	}
	return value, nil
}
