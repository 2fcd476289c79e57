package entrydb

import (
	"bytes"
)

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
