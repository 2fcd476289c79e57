package derived

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"github.com/meup-protocol/meup/internal/journal/derivedb"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// bloomBits are the bits of a filter for each row.
const bloomBits = 10

var turnSchema = derivedb.Schema{
	Name: "index of turns", Version: "1", MemTableBytes: 4 << 20,
	Tune: func(o *pebble.Options) {
		for i := range o.Levels {
			o.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBits)
		}
	},
}

// turnDB has the indexes of turns of many spaces. Its methods may be called concurrently.
type turnDB struct{ *derivedb.DB }

// openTurnDB opens a database; see [derivedb.Open].
func openTurnDB(o derivedb.Options) (*turnDB, error) {
	db, err := derivedb.Open(turnSchema, o)
	if err != nil {
		return nil, err
	}
	return &turnDB{db}, nil
}

// keyRows is the class of the rows of a space.
const keyRows = 'r'

// position is the row of a space.
type position struct {
	Log    string `json:"log"`
	Number uint32 `json:"number"`
}

// Space returns the rows of a space. The ones of another log are dropped, and with
// reset all. One user at a time may have the rows of a space.
func (db *turnDB) Space(name, log string, reset bool) (turns.Rows, error) {
	s := &turnSpace{db: db}
	return s, db.With(func(store *pebble.DB) error {
		var p position
		err := derivedb.ReadSpace(store, name, &p)
		if err == nil && (p.Log != log || reset) {
			err = db.BeginSpace(store, name, p.Number, string(keyRows), func(number uint32) any {
				p = position{log, number}
				return p
			})
		}
		s.prefix = derivedb.SpaceKey(keyRows, p.Number)
		s.batch = store.NewIndexedBatch()
		return err
	})
}

// turnSpace is the rows of one space. Rows that are set are in a batch until Commit.
type turnSpace struct {
	db     *turnDB
	prefix []byte
	batch  *pebble.Batch // indexed: it is read together with the store
	buf    []byte
}

var _ turns.Rows = (*turnSpace)(nil)

func (s *turnSpace) key(key []byte) []byte {
	s.buf = append(append(s.buf[:0], s.prefix...), key...)
	return s.buf
}

func (s *turnSpace) rowKey(list []byte, seq protocol.Seq) []byte {
	s.buf = binary.BigEndian.AppendUint64(s.key(list), uint64(seq))
	return s.buf
}

// Get returns a row; nil: there is none.
func (s *turnSpace) Get(key []byte) (row []byte, err error) {
	err = s.db.With(func(*pebble.DB) error {
		row, err = derivedb.Get(s.batch, s.key(key))
		return err
	})
	return row, err
}

// Set stores a row.
func (s *turnSpace) Set(key, value []byte) error {
	return s.db.With(func(*pebble.DB) error { return s.batch.Set(s.key(key), value, nil) })
}

// Delete removes a row.
func (s *turnSpace) Delete(key []byte) error {
	return s.db.With(func(*pebble.DB) error { return s.batch.Delete(s.key(key), nil) })
}

// Add stores a row of a list.
func (s *turnSpace) Add(list []byte, seq protocol.Seq, value []byte) error {
	return s.db.With(func(*pebble.DB) error { return s.batch.Set(s.rowKey(list, seq), value, nil) })
}

// Remove removes a row of a list.
func (s *turnSpace) Remove(list []byte, seq protocol.Seq) error {
	return s.db.With(func(*pebble.DB) error { return s.batch.Delete(s.rowKey(list, seq), nil) })
}

// Before returns the last rows of a list below a Seq, the last one first.
func (s *turnSpace) Before(list []byte, before protocol.Seq, most int) ([]turns.Row, error) {
	return s.rows(list, 0, before, most, true)
}

// From returns the first rows of a list from a Seq on.
func (s *turnSpace) From(list []byte, from protocol.Seq, most int) ([]turns.Row, error) {
	return s.rows(list, from, ^protocol.Seq(0), most, false)
}

func (s *turnSpace) rows(list []byte, lower, upper protocol.Seq, most int, backward bool) (rows []turns.Row, err error) {
	bounds := &pebble.IterOptions{LowerBound: slices.Clone(s.rowKey(list, lower)), UpperBound: slices.Clone(s.rowKey(list, upper))}
	err = s.db.With(func(*pebble.DB) (err error) {
		it, err := s.batch.NewIter(bounds)
		if err != nil {
			return err
		}
		first, next := it.First, it.Next
		if backward {
			first, next = it.Last, it.Prev
		}
		for ok := first(); ok && len(rows) < most; ok = next() {
			key := it.Key()
			seq := protocol.Seq(binary.BigEndian.Uint64(key[len(key)-8:]))
			rows = append(rows, turns.Row{Seq: seq, Value: slices.Clone(it.Value())})
		}
		return it.Close()
	})
	return rows, err
}

// Commit stores all rows of the batch in one step. They reach the disk later, in the
// order of the commits.
func (s *turnSpace) Commit() error {
	err := s.db.Commit(s.batch)
	return errors.Join(err, s.db.With(func(store *pebble.DB) error {
		s.batch = store.NewIndexedBatch()
		return nil
	}))
}
