package entrydb

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// get reads one row and passes its value to f, which must not keep it. It
// reports whether the row exists.
func get(r pebble.Reader, key []byte, f func(value []byte) error) (bool, error) {
	value, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, journal.Unavailable(err)
	}
	err = f(value)
	return true, cmp.Or(err, closeErr(closer))
}

func closeErr(c io.Closer) error {
	if err := c.Close(); err != nil {
		return journal.Unavailable(err)
	}
	return nil
}

// Meta returns a value that SetMeta wrote; nil if it does not exist. Err:
// ErrUnavailable.
func (d *DB) Meta(key string) ([]byte, error) {
	s, err := d.acquire()
	if err != nil {
		return nil, err
	}
	defer d.release(s)
	var value []byte
	_, err = get(s.pdb, metaKey(key), func(v []byte) error {
		value = append([]byte{}, v...)
		return nil
	})
	return value, err
}

// ScanMeta calls f with the values whose keys are at least lower and less than
// upper, in order of the keys or backwards, until f returns false. value is
// valid only during the call. Err: ErrUnavailable.
func (d *DB) ScanMeta(lower, upper string, backwards bool, f func(key string, value []byte) bool) error {
	s, err := d.acquire()
	if err != nil {
		return err
	}
	defer d.release(s)
	it, err := s.pdb.NewIter(&pebble.IterOptions{LowerBound: metaKey(lower), UpperBound: metaKey(upper)})
	if err != nil {
		return journal.Unavailable(err)
	}
	begin, next := it.First, it.Next
	if backwards {
		begin, next = it.Last, it.Prev
	}
	for ok := begin(); ok; ok = next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return cmp.Or(journal.Unavailable(err), closeErr(it))
		}
		if !f(string(it.Key()[1:]), value) {
			break
		}
	}
	return closeErr(it)
}

// Has reports whether the space has an entry with this Seq. Err:
// ErrUnavailable.
func (d *DB) Has(space string, seq protocol.Seq) (bool, error) {
	s, err := d.acquire()
	if err != nil {
		return false, err
	}
	defer d.release(s)
	return get(s.pdb, entryKey(nil, space, seq), func([]byte) error { return nil })
}

// Lookup returns the entry with this id. Err: ErrNotFound, ErrUnavailable.
func (d *DB) Lookup(space string, id protocol.ID) (*journal.Entry, error) {
	s, err := d.acquire()
	if err != nil {
		return nil, err
	}
	defer d.release(s)
	var buf [2 + 2*protocol.MaxIDBytes]byte
	e, err := s.entryByRef(space, idKey(buf[:0], space, id))
	if err != nil {
		return nil, fmt.Errorf("look up %s in %s: %w", id, space, err)
	}
	if e == nil {
		return nil, fmt.Errorf("look up %s in %s: %w", id, space, journal.ErrNotFound)
	}
	return e, nil
}

// ref returns the entry that a row refers to, none if there is no such row. It
// is optimized for ids that are mostly new: then it costs one read of the index.
// Err: ErrUnavailable.
func (d *DB) ref(space string, key []byte) (Ref, error) {
	s, err := d.acquire()
	if err != nil {
		return Ref{}, err
	}
	defer d.release(s)
	e, err := s.entryByRef(space, key)
	if e == nil || err != nil {
		return Ref{}, err
	}
	return Ref{e.Envelope.Seq, e.Envelope.From}, nil
}

// entryByRef returns the entry with the Seq in a row; nil if the row does not
// exist.
func (s *store) entryByRef(space string, key []byte) (*journal.Entry, error) {
	var buf [2 + protocol.MaxIDBytes + seqBytes]byte
	var seq uint64
	found, err := get(s.pdb, key, func(v []byte) error {
		var n int
		seq, n = binary.Uvarint(v)
		if n <= 0 {
			return journal.Unavailable(fmt.Errorf("%w: index row %q", journal.ErrDamaged, key))
		}
		return nil
	})
	if !found || err != nil {
		return nil, err
	}
	return s.entry(entryKey(buf[:0], space, protocol.Seq(seq)))
}

// entry returns the entry of a row; nil if it does not exist.
func (s *store) entry(key []byte) (e *journal.Entry, err error) {
	_, err = get(s.pdb, key, func(v []byte) (err error) {
		e, err = journal.DecodeEntry(v)
		if err != nil {
			return journal.Unavailable(err)
		}
		return nil
	})
	return e, err
}

// Bounds returns the Seq of the oldest and the newest entry of the space; both
// 0 if it never had one. After a Trim, oldest is the first entry above the
// newest dropped one, or 1 above the newest dropped one if there are no others;
// newest is never below the newest dropped one. Err: ErrUnavailable.
func (d *DB) Bounds(space string) (oldest, newest protocol.Seq, err error) {
	s, err := d.acquire()
	if err != nil {
		return 0, 0, err
	}
	defer d.release(s)
	// A Trim between two reads could make a log look as if it had never had an
	// entry, and its numbers would be assigned again.
	snap := s.pdb.NewSnapshot()
	defer func() { err = cmp.Or(err, closeErr(snap)) }()
	floor, err := floor(snap, space)
	if err != nil {
		return 0, 0, err
	}
	var after protocol.Seq
	if floor > 0 {
		after = floor - 1
	}
	prefix := spacePrefix(nil, tableEntry, space)
	oldest, err = boundarySeq(snap, prefix, after, (*pebble.Iterator).First)
	if err != nil {
		return 0, 0, err
	}
	newest, err = boundarySeq(snap, prefix, after, (*pebble.Iterator).Last)
	if err != nil {
		return 0, 0, err
	}
	return max(oldest, floor), max(newest, after), nil
}

// LastState returns the Seq of the newest state entry of the space, 0 if it
// has none. Err: ErrUnavailable.
func (d *DB) LastState(space string) (protocol.Seq, error) {
	s, err := d.acquire()
	if err != nil {
		return 0, err
	}
	defer d.release(s)
	return boundarySeq(s.pdb, spacePrefix(nil, tableState, space), 0, (*pebble.Iterator).Last)
}

// boundarySeq returns the Seq of the first or last row below prefix that is
// greater than after; 0 if no row is.
func boundarySeq(r pebble.Reader, prefix []byte, after protocol.Seq, to func(*pebble.Iterator) bool) (protocol.Seq, error) {
	lower, upper, ok := seqRange(prefix, after, 0)
	if !ok {
		return 0, nil
	}
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return 0, journal.Unavailable(err)
	}
	var seq protocol.Seq
	if to(it) {
		seq, _ = keySeq(it.Key())
	}
	return seq, closeErr(it)
}

// floor returns 1 above the newest entry that a Trim has dropped; 0 if no entry
// was dropped.
func floor(r pebble.Reader, space string) (seq protocol.Seq, err error) {
	_, err = get(r, spacePrefix(nil, tableTrimmed, space), func(v []byte) (err error) {
		var ok bool
		seq, ok = keySeq(v)
		if !ok {
			return journal.Unavailable(fmt.Errorf("%w: trim mark of %s", journal.ErrDamaged, space))
		}
		return nil
	})
	return seq, err
}

// HasEntries reports whether a space has entries, also in a database with keys that
// cannot be read. Err: ErrUnavailable.
func (d *DB) HasEntries() (bool, error) {
	s, err := d.acquire()
	if err != nil {
		return false, err
	}
	defer d.release(s)
	it, err := s.pdb.NewIter(&pebble.IterOptions{
		LowerBound: []byte{tableEntry}, UpperBound: []byte{tableEntry + 1},
	})
	if err != nil {
		return false, journal.Unavailable(err)
	}
	found := it.First()
	return found, closeErr(it)
}

// Spaces lists the spaces that have entries, shorter names first. Err:
// ErrUnavailable.
func (d *DB) Spaces() ([]string, error) {
	s, err := d.acquire()
	if err != nil {
		return nil, err
	}
	defer d.release(s)
	it, err := s.pdb.NewIter(&pebble.IterOptions{
		LowerBound: []byte{tableEntry}, UpperBound: []byte{tableEntry + 1},
	})
	if err != nil {
		return nil, journal.Unavailable(err)
	}
	var spaces []string
	for ok := it.First(); ok; {
		space, valid := spaceOfKey(it.Key())
		if !valid {
			return nil, cmp.Or(journal.Unavailable(journal.ErrDamaged), closeErr(it))
		}
		spaces = append(spaces, space)
		ok = it.SeekGE(append(entryKey(nil, space, math.MaxUint64), 0))
	}
	return spaces, closeErr(it)
}
