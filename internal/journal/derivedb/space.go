package derivedb

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

var keyNumber = []byte("n")

func nameKey(space string) []byte { return append([]byte("s"), space...) }

// SpaceKey returns the beginning of the keys of a class of a space's rows.
func SpaceKey(class byte, number uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{class}, number)
}

// ReadSpace decodes the row of a space. It leaves the value as it is if there is none.
func ReadSpace(from pebble.Reader, space string, row any) error {
	v, err := Get(from, nameKey(space))
	if err != nil || v == nil {
		return err
	}
	if err := json.Unmarshal(v, row); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// SetSpace sets the row of a space.
func SetSpace(b *pebble.Batch, space string, row any) error {
	v, err := json.Marshal(row)
	if err != nil {
		return err
	}
	return b.Set(nameKey(space), v, nil)
}

// BeginSpace deletes the rows of some classes of a space's number, unless it is 0, and
// sets the row of the space, which row returns for its new number.
func (db *DB) BeginSpace(store *pebble.DB, space string, before uint32, classes string, row func(number uint32) any) error {
	db.numbers.Lock()
	defer db.numbers.Unlock()
	last, err := Get(store, keyNumber)
	if err != nil {
		return err
	}
	n, _ := binary.Uvarint(last)
	b := store.NewBatch()
	defer func() { _ = b.Close() }()
	if before > 0 {
		for _, class := range []byte(classes) {
			err = errors.Join(err, b.DeleteRange(SpaceKey(class, before), SpaceKey(class, before+1), nil))
		}
	}
	err = errors.Join(err, b.Set(keyNumber, binary.AppendUvarint(nil, n+1), nil), SetSpace(b, space, row(uint32(n+1))))
	if err != nil {
		return err
	}
	return b.Commit(pebble.NoSync)
}
