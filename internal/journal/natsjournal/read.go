package natsjournal

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"slices"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/entrydb"
	"github.com/meup-protocol/meup/protocol"
)

// Range implements [journal.Journal]. It reads the replica, even while NATS is
// unreachable.
func (j *Journal) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(yield func(*journal.Entry, error) bool) {
		db, done, err := j.replica.use()
		if err != nil {
			yield(nil, err)
			return
		}
		defer done()
		for e, err := range db.Range(ctx, space, q) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// Lookup implements [journal.Journal].
func (j *Journal) Lookup(_ context.Context, space string, id protocol.ID) (*journal.Entry, error) {
	db, done, err := j.replica.use()
	if err != nil {
		return nil, err
	}
	defer done()
	return db.Lookup(space, id)
}

// Spaces implements [journal.Journal].
func (j *Journal) Spaces(context.Context) ([]string, error) {
	db, done, err := j.replica.use()
	if err != nil {
		return nil, err
	}
	defer done()
	spaces, err := db.Spaces()
	slices.Sort(spaces)
	return spaces, err
}

// Bounds implements [journal.Journal].
func (j *Journal) Bounds(ctx context.Context, space string) (oldest, newest protocol.Seq, err error) {
	db, done, err := j.replica.use()
	if err != nil {
		return 0, 0, err
	}
	defer done()
	oldest, newest, err = db.Bounds(space)
	if err != nil {
		return 0, 0, err
	}
	floor, err := floorOf(db, space)
	if err != nil || oldest >= floor {
		return oldest, newest, err
	}
	// A replica that was rebuilt after a purge never had the trimmed entries, so
	// the database would return an old state entry as the oldest.
	oldest = floor
	for e, err := range db.Range(ctx, space, journal.Query{After: floor - 1, Limit: 1}) {
		if err != nil {
			return 0, 0, err
		}
		oldest = e.Envelope.Seq
	}
	return oldest, max(newest, floor-1), nil
}

// metaFloor returns the key of the Seq below which a space was trimmed.
func metaFloor(space string) string { return "floor/" + space }

func appendFloor(seq protocol.Seq) []byte { return binary.AppendUvarint(nil, uint64(seq)) }

func floorOf(db *entrydb.DB, space string) (protocol.Seq, error) {
	data, err := db.Meta(metaFloor(space))
	if err != nil || len(data) == 0 {
		return 0, err
	}
	seq, n := binary.Uvarint(data)
	if n <= 0 {
		return 0, unavailable(errors.New("floor of a space cannot be read"))
	}
	return protocol.Seq(seq), nil
}
