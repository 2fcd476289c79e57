package entrydb

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// trimChunk bounds how many entries one batch of a Trim drops, and with that
// its memory.
const trimChunk = 10_000

// Trim drops the entries of the space that are below before, state entries
// excepted, and returns how many. What is left knows afterwards what it lost:
// see Bounds. It must not run twice at the same time for one space. Err:
// ErrUnavailable; what was dropped until then stays dropped.
func (d *DB) Trim(space string, before protocol.Seq) (n int, err error) {
	return d.TrimWith(space, before, TrimHooks{})
}

// TrimHooks are called by TrimWith.
type TrimHooks struct {
	// Dropped is called with the encoding of each entry that is dropped, which
	// is valid during the call only.
	Dropped func(encoded []byte)
	// Commit is called with each batch that drops entries, after Dropped was
	// called for them, and may add meta values.
	Commit func(*Batch)
}

// TrimWith is Trim with hooks; nil ones are not called.
func (d *DB) TrimWith(space string, before protocol.Seq, hooks TrimHooks) (n int, err error) {
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

// trimSome drops a chunk; more reports whether there may be others.
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
	t.dropRanges()
	if hooks.Commit != nil {
		hooks.Commit(t.batch)
	}
	// Unsynced: entries that come back after a crash are dropped again.
	return t.n, more, t.batch.Commit(false)
}

// trimmer collects what a chunk drops. Entries and the rows of contexts go by
// whole ranges, which costs the store one record each; ids, which are in no
// order, go one by one.
type trimmer struct {
	space   string
	batch   *Batch
	dropped func(encoded []byte)
	n       int

	first, last protocol.Seq // of what is dropped
	kept        []*journal.Entry
	contexts    map[protocol.ContextPath]struct{}
}

// collect reads the entries from where the last Trim stopped.
func (t *trimmer) collect(s *store, before protocol.Seq) (more bool, err error) {
	floor, err := floor(s.pdb, t.space)
	if err != nil || before <= floor {
		return false, err
	}
	lower := entryKey(nil, t.space, floor)
	upper := entryKey(nil, t.space, before)
	it, err := s.pdb.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return false, unavailable(err)
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

// add drops the entry at the iterator, or notes that it is kept.
func (t *trimmer) add(it *pebble.Iterator) error {
	value, err := it.ValueAndErr()
	if err != nil {
		return unavailable(err)
	}
	e, err := journal.DecodeEntry(value)
	if err != nil {
		return unavailable(fmt.Errorf("entry %x: %w", it.Key(), err))
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
	b.dropRefs(t.space, e)
	ancestors(env.Context, func(c protocol.ContextPath) { t.contexts[c] = struct{}{} })
	if t.n == 0 {
		t.first = env.Seq
	}
	t.last = env.Seq
	t.n++
	return nil
}

// dropRanges removes the rows of everything from first to last and writes
// those of the kept entries among them again, behind the removal.
func (t *trimmer) dropRanges() {
	t.dropRange(spacePrefix(nil, tableEntry, t.space))
	for c := range t.contexts {
		t.dropRange(contextPrefix(nil, t.space, c))
	}
	b := t.batch
	for _, e := range t.kept {
		if e.Envelope.Seq < t.first || e.Envelope.Seq > t.last {
			continue
		}
		size := b.bytes
		_ = b.Put(t.space, e) // it has a Seq
		b.bytes = size        // its rows were there before
	}
	_ = b.pb.Set(spacePrefix(nil, tableTrimmed, t.space), appendSeq(nil, t.last+1), nil)
}

func (t *trimmer) dropRange(prefix []byte) {
	lower := appendSeq(append([]byte(nil), prefix...), t.first)
	upper := appendSeq(append([]byte(nil), prefix...), t.last)
	_ = t.batch.pb.DeleteRange(lower, append(upper, 0), nil) // memory only
}

// Size returns how many bytes the rows of all entries take, before
// compression: what a Retention by bytes counts. Err: ErrUnavailable.
func (d *DB) Size() (int64, error) {
	s, err := d.acquire()
	if err != nil {
		return 0, err
	}
	defer d.release(s)
	return s.size()
}

func (s *store) size() (n int64, err error) {
	_, err = get(s.pdb, sizeKey, func(v []byte) (err error) {
		if n, err = decodeSum(v); err != nil {
			return unavailable(err)
		}
		return nil
	})
	return n, err
}
