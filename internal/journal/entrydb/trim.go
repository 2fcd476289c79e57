package entrydb

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// trimChunk bounds the number of entries that one batch of a Trim drops, and
// thus its memory.
const trimChunk = 10_000

// Trim drops the entries of the space below before, except state entries, and
// returns their number. The space remembers up to where entries were dropped:
// see Bounds. It must not run concurrently for one space. Err: ErrUnavailable;
// entries dropped before the error stay dropped.
func (d *DB) Trim(space string, before protocol.Seq, hooks TrimHooks) (n int, err error) {
	for {
		dropped, more, err := d.trimSome(space, before, hooks)
		n += dropped
		if err != nil {
			return n, fmt.Errorf("trim %s below %d: %w", space, before, err)
		}
		if !more {
			return n, nil
		}
	}
}

// TrimHooks are called by Trim, unless they are nil.
type TrimHooks struct {
	// Dropped is called with the encoding of each dropped entry, which is valid
	// only during the call.
	Dropped func(encoded []byte)
	// Commit is called with each batch that drops entries, after Dropped was
	// called for them, and may add meta values.
	Commit func(*Batch)
}

// trimSome drops a chunk; more reports whether entries may be left.
func (d *DB) trimSome(space string, before protocol.Seq, hooks TrimHooks) (n int, more bool, err error) {
	s, err := d.acquire()
	if err != nil {
		return 0, false, err
	}
	t := &trimmer{space: space, dropped: hooks.Dropped, batch: d.NewBatch(), contexts: map[protocol.ContextPath]struct{}{}}
	more, err = t.collect(s, before)
	d.release(s)
	if err != nil || t.n == 0 {
		return 0, false, err
	}
	// The rows of everything from first to last are removed, and then the rows of the
	// kept entries among them written again.
	t.dropRange(spacePrefix(nil, tableEntry, space))
	for c := range t.contexts {
		t.dropRange(contextPrefix(nil, space, c))
	}
	b := t.batch
	for _, e := range t.kept {
		if e.Envelope.Seq < t.first || e.Envelope.Seq > t.last {
			continue
		}
		size := b.bytes
		_ = b.Put(space, e) // it has a Seq
		b.bytes = size      // its rows existed before
	}
	_ = b.pb.Set(spacePrefix(nil, tableTrimmed, space), appendSeq(nil, t.last+1), nil)
	if hooks.Commit != nil {
		hooks.Commit(b)
	}
	// Without sync: entries that reappear after a crash are dropped again.
	return t.n, more, b.Commit(false)
}

// trimmer collects the deletions of a chunk. Entries and the rows of contexts
// are deleted by ranges, which cost the store one record each; ids have no
// order and are deleted one by one.
type trimmer struct {
	space   string
	batch   *Batch
	dropped func(encoded []byte)
	n       int

	first, last protocol.Seq // dropped entries
	kept        []*journal.Entry
	contexts    map[protocol.ContextPath]struct{}
}

// collect reads the entries from the end of the last Trim.
func (t *trimmer) collect(s *store, before protocol.Seq) (more bool, err error) {
	floor, err := floor(s.pdb, t.space)
	if err != nil || before <= floor {
		return false, err
	}
	lower := entryKey(nil, t.space, floor)
	upper := entryKey(nil, t.space, before)
	it, err := s.pdb.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return false, journal.Unavailable(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		if t.n == trimChunk {
			more = true
			break
		}
		if err := t.add(it); err != nil {
			_ = it.Close()
			return false, err
		}
	}
	return more, closeErr(it)
}

// add drops the entry at the iterator, or records that it is kept.
func (t *trimmer) add(it *pebble.Iterator) error {
	value, err := it.ValueAndErr()
	if err != nil {
		return journal.Unavailable(err)
	}
	e, err := journal.DecodeEntry(value)
	if err != nil {
		return journal.Unavailable(fmt.Errorf("entry %x: %w", it.Key(), err))
	}
	if e.State {
		t.kept = append(t.kept, e)
		return nil
	}
	if t.dropped != nil {
		t.dropped(value)
	}
	b, env := t.batch, &e.Envelope
	b.bytes -= b.rowBytes(t.space, e, len(value))
	b.key = idKey(b.key[:0], t.space, env.ID)
	b.drop(b.key)
	if e.Settles != "" {
		b.key = settledKey(b.key[:0], t.space, e.Settles)
		b.drop(b.key)
	}
	ancestors(env.Context, func(c protocol.ContextPath) { t.contexts[c] = struct{}{} })
	if t.n == 0 {
		t.first = env.Seq
	}
	t.last = env.Seq
	t.n++
	return nil
}

func (t *trimmer) dropRange(prefix []byte) {
	lower := appendSeq(append([]byte(nil), prefix...), t.first)
	upper := appendSeq(append([]byte(nil), prefix...), t.last)
	_ = t.batch.pb.DeleteRange(lower, append(upper, 0), nil) // memory only
}

// Size returns the size in bytes of the rows of all entries, before
// compression; a Retention by bytes limits it. Err: ErrUnavailable.
func (d *DB) Size() (n int64, err error) {
	s, err := d.acquire()
	if err != nil {
		return 0, err
	}
	defer d.release(s)
	_, err = get(s.pdb, sizeKey, func(v []byte) (err error) {
		n, err = decodeSum(v)
		if err != nil {
			return journal.Unavailable(err)
		}
		return nil
	})
	return n, err
}
