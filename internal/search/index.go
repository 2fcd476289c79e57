package search

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/meup-protocol/meup/internal/journal/derivedb"
	"github.com/meup-protocol/meup/protocol"
)

// schema describes the database. Its version is the one of the format and of the tokens.
var schema = derivedb.Schema{
	Name: "search index", Version: "1", MemTableBytes: 8 << 20,
	Tune: func(o *pebble.Options) {
		o.Merger = &postingsMerger
		o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionGood })
		for i := range o.Levels {
			o.Levels[i].BlockSize = blockBytes
		}
	},
}

const blockBytes = 16 << 10

// errFull: the index cannot be written to disk now. What was applied is kept.
var errFull = errors.New("the search index cannot be written to disk")

// Index is a full-text index. Its methods may be called concurrently; the entries
// of one space are applied by one goroutine.
type Index struct {
	derived *derivedb.DB
	db      *pebble.DB
	slots   chan struct{} // of searches
}

// Open opens an index; see [derivedb.Open].
func Open(o derivedb.Options) (*Index, error) {
	db, err := derivedb.Open(schema, o)
	if err != nil {
		return nil, err
	}
	return &Index{derived: db, db: db.Store(), slots: make(chan struct{}, maxSearches)}, nil
}

// Close writes the index to disk and closes it. It follows the last call of another
// method.
func (x *Index) Close() error { return x.derived.Close() }

// Size returns the size of the index on disk, in bytes.
func (x *Index) Size() uint64 { return x.derived.Size() }

// get returns a value; nil: there is none.
func (x *Index) get(key []byte) ([]byte, error) {
	v, err := derivedb.Get(x.db, key)
	if err != nil {
		return nil, x.failed(err)
	}
	return v, nil
}

// failed marks an error of the store.
func (x *Index) failed(err error) error { return x.derived.Failed(err) }

// Position is how far the log of a space is indexed.
type Position struct {
	// Log is the id of the indexed log; "": there is none.
	Log string `json:"log"`
	// Read is the Seq up to which the log was read.
	Read protocol.Seq `json:"read"`
	// Built reports that the index had all of the log at some time. Before, what it
	// finds is a matter of chance.
	Built bool `json:"built"`
	// Floor is the oldest Seq that the log is known to have.
	Floor protocol.Seq `json:"floor"`

	Number    uint32 `json:"number"`    // of the space
	FirstDoc  uint32 `json:"first_doc"` // that is not below Floor
	Docs      uint32 `json:"docs"`      // the number of the next document
	Audiences uint32 `json:"audiences"` // number of audiences
}

// Position returns the position of a space; the zero Position if there is none.
func (x *Index) Position(space string) (p Position, err error) {
	if x.derived.Damaged() {
		return p, derivedb.ErrDamaged
	}
	err = derivedb.ReadSpace(x.db, space, &p)
	if err != nil {
		return Position{}, x.failed(err)
	}
	return p, nil
}

// Begin forgets what is indexed of a space, and begins the index of a log.
func (x *Index) Begin(space, log string) error {
	before, err := x.Position(space)
	if err != nil {
		return err
	}
	err = x.derived.BeginSpace(x.db, space, before.Number, classes, func(number uint32) any { return Position{Log: log, Number: number} })
	if err != nil {
		return x.failed(err)
	}
	return nil
}

func (x *Index) commit(b *pebble.Batch, err error) error {
	if err == nil {
		err = b.Commit(pebble.NoSync)
	}
	if err != nil {
		return x.failed(err)
	}
	return nil
}

// Trim forgets the buckets of a space that have only Seqs below oldest.
func (x *Index) Trim(space string, oldest protocol.Seq) error {
	p, err := x.Position(space)
	if err != nil || p.Log == "" || oldest <= p.Floor {
		return err
	}
	floor, err := x.docAt(&p, oldest)
	if err != nil {
		return err
	}
	b := x.db.NewBatch()
	defer func() { _ = b.Close() }()
	// Every deleted range slows the reads from the memtable that it is in, so there
	// is none where nothing is deleted.
	if bucket := floor >> bucketBits; bucket > p.FirstDoc>>bucketBits {
		err = errors.Join(
			b.DeleteRange(derivedb.SpaceKey(keyPostings, p.Number), numberKey(keyPostings, p.Number, bucket), nil),
			b.DeleteRange(derivedb.SpaceKey(keyBlock, p.Number), numberKey(keyBlock, p.Number, bucket<<(bucketBits-blockBits)), nil))
	}
	p.Floor, p.FirstDoc = oldest, floor
	return x.commit(b, errors.Join(err, derivedb.SetSpace(b, space, p)))
}
