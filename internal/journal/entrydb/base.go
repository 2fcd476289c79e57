package entrydb

import (
	"bytes"
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// Base returns the base of a space with the greatest Before. Err: ErrUnavailable.
func (d *DB) Base(space string) (base journal.Base, err error) {
	s, err := d.acquire()
	if err != nil {
		return base, err
	}
	defer d.release(s)
	lower, upper, _ := seqRange(spacePrefix(nil, tableBase, space), 0, 0)
	it, err := s.pdb.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return base, journal.Unavailable(err)
	}
	if it.Last() {
		value, err := it.ValueAndErr()
		if err != nil {
			_ = it.Close()
			return base, journal.Unavailable(err)
		}
		base.Before, _ = keySeq(it.Key())
		base.Data = bytes.Clone(value)
	}
	return base, closeErr(it)
}

// PutBase adds a base. It replaces the ones with a smaller Before; one with a greater
// Before remains the base of the space.
func (b *Batch) PutBase(space string, base journal.Base) {
	prefix := spacePrefix(nil, tableBase, space)
	key := appendSeq(bytes.Clone(prefix), base.Before)
	_ = b.pb.DeleteRange(appendSeq(prefix, 0), key, nil) // memory only, like Set
	_ = b.pb.Set(key, base.Data, nil)
}

// NextBase returns the base of a space for a Trim below before; its Before is 0 if the
// space has it already, or fold is nil, and for [journal.GatewayLog]. A base that another one replaces meanwhile, whose
// entries may be dropped already, is folded again. Err: ErrUnavailable, fold's.
func (d *DB) NextBase(ctx context.Context, space string, before protocol.Seq, fold journal.Fold) (journal.Base, error) {
	if fold == nil || space == journal.GatewayLog {
		return journal.Base{}, nil
	}
	base, err := d.Base(space)
	for err == nil && base.Before < before {
		dropped := d.Range(ctx, space, journal.Query{After: max(base.Before, 1) - 1, Before: before})
		data, failed := fold(ctx, space, base.Data, dropped)
		if failed != nil {
			return journal.Base{}, fmt.Errorf("fold the entries of %s below %d: %w", space, before, failed)
		}
		from := base.Before
		base, err = d.Base(space)
		if err == nil && base.Before == from {
			return journal.Base{Data: data, Before: before}, nil
		}
	}
	return journal.Base{}, err
}

// Snapshot returns the snapshot of a space; nil if there is none. Err:
// ErrUnavailable.
func (d *DB) Snapshot(space string) (data []byte, err error) {
	s, err := d.acquire()
	if err != nil {
		return nil, err
	}
	defer d.release(s)
	_, err = get(s.pdb, spacePrefix(nil, tableFolded, space), func(v []byte) error {
		data = bytes.Clone(v)
		return nil
	})
	return data, err
}

// SaveSnapshot stores the snapshot of a space. It does not sync: the snapshot is
// written after the entries that it covers, so a crash that loses these loses it
// too. Err: ErrUnavailable.
func (d *DB) SaveSnapshot(space string, data []byte) error {
	b := d.NewBatch()
	b.key = spacePrefix(b.key[:0], tableFolded, space)
	_ = b.pb.Set(b.key, data, nil) // memory only
	return b.Commit(false)
}
