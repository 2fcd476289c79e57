// Package turndb stores the indexes of turns of many spaces in one derived database.
//
//	DB     the database
//	Space  the rows of one space: turns.Rows
package derived

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"github.com/meup-protocol/meup/internal/journal/derivedb"
)

// bloomBits are the bits of a filter for each row.
const bloomBits = 10

var schema = derivedb.Schema{
	Name: "index of turns", Version: "1", MemTableBytes: 4 << 20,
	Tune: func(o *pebble.Options) {
		for i := range o.Levels {
			o.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBits)
		}
	},
}

// turnDBOptions configures a DB.
type turnDBOptions = derivedb.Options

// Errors of the rows of a space.
var (
	errDBDamaged = derivedb.ErrDamaged
	ErrDBClosed  = derivedb.ErrClosed
)

// turnDB is a database. Its methods may be called concurrently.
type turnDB struct{ *derivedb.DB }

// openTurnDB opens a database; see [derivedb.Open].
func openTurnDB(o turnDBOptions) (*turnDB, error) {
	db, err := derivedb.Open(schema, o)
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
func (db *turnDB) Space(name, log string, reset bool) (*turnSpace, error) {
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
