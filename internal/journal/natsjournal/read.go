package natsjournal

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/entrydb"
	"github.com/meup-protocol/meup/protocol"
)

// The methods in this file return ErrUnavailable until the replica is complete.

// Ready returns nil if the replica is complete.
func (r *replica) Ready() error {
	_, err := r.use()
	if err == nil {
		r.readers.Done()
	}
	return err
}

// Range implements [journal.Reader].
func (r *replica) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(yield func(*journal.Entry, error) bool) {
		db, err := r.use()
		if err != nil {
			yield(nil, err)
			return
		}
		defer r.readers.Done()
		db.Range(ctx, space, q)(yield)
	}
}

// Lookup implements [journal.Reader].
func (r *replica) Lookup(_ context.Context, space string, id protocol.ID) (*journal.Entry, error) {
	db, err := r.use()
	if err != nil {
		return nil, err
	}
	defer r.readers.Done()
	return db.Lookup(space, id)
}

// Spaces implements [journal.Reader].
func (r *replica) Spaces(context.Context) ([]string, error) {
	db, err := r.use()
	if err != nil {
		return nil, err
	}
	defer r.readers.Done()
	spaces, err := db.Spaces()
	spaces = slices.DeleteFunc(spaces, func(space string) bool { return space == journal.GatewayLog })
	slices.Sort(spaces)
	return spaces, err
}

// Bounds implements [journal.Reader].
func (r *replica) Bounds(ctx context.Context, space string) (oldest, newest protocol.Seq, err error) {
	db, err := r.use()
	if err != nil {
		return 0, 0, err
	}
	defer r.readers.Done()
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

// Snapshot returns the snapshot of a space, see [journal.Derived].
func (r *replica) Snapshot(space string) (journal.Snapshot, error) {
	db, err := r.use()
	if err != nil {
		return journal.Snapshot{}, err
	}
	defer r.readers.Done()
	data, err := db.Snapshot(space)
	return journal.Snapshot{Data: data, Copy: db}, err
}

// SaveSnapshot stores a snapshot, unless the database that it is derived from was
// replaced.
func (r *replica) SaveSnapshot(space string, s journal.Snapshot) error {
	db, err := r.use()
	if err != nil {
		return err
	}
	defer r.readers.Done()
	if s.Copy != db {
		return journal.ErrReplaced
	}
	return db.SaveSnapshot(space, s.Data)
}

// metaFloor returns the key of the Seq below which a space was trimmed.
func metaFloor(space string) string { return "floor/" + space }

func floorOf(db *entrydb.DB, space string) (protocol.Seq, error) {
	data, err := db.Meta(metaFloor(space))
	if err != nil || len(data) == 0 {
		return 0, err
	}
	seq, n := binary.Uvarint(data)
	if n <= 0 {
		return 0, journal.Unavailable(errors.New("floor of a space cannot be read"))
	}
	return protocol.Seq(seq), nil
}

// Decide sets the results of the drafts that the replica can decide: retries,
// duplicates and settled proposals, up to the first stale draft. It returns the
// indexes of the others.
func (r *replica) Decide(space string, drafts []journal.Draft, results []journal.Result) (undecided []int, err error) {
	db, err := r.use()
	if err != nil {
		return nil, err
	}
	defer r.readers.Done()
	state, err := db.LastState(space)
	if err != nil {
		return nil, journal.Unavailable(err)
	}
	undecided = make([]int, 0, len(drafts))
	for i := range drafts {
		// An earlier draft of the call may decide: one with the same id, or before a
		// decision a state entry.
		d := drafts[i]
		repeats := slices.ContainsFunc(undecided, func(k int) bool { return drafts[k].Envelope.ID == d.Envelope.ID })
		if repeats {
			d.CheckedAtStateSeq = state
		}
		if repeats || slices.ContainsFunc(undecided, func(k int) bool { return drafts[k].State }) {
			d.Settles = ""
		}
		result, _, err := db.Decide(space, &d, state)
		if err != nil {
			return nil, journal.Unavailable(err)
		}
		if result.Err == nil && !result.Retry {
			undecided = append(undecided, i)
			continue
		}
		results[i] = result
		if errors.Is(result.Err, journal.ErrStale) {
			break
		}
	}
	return undecided, nil
}

// TrimPlan is [entrydb.DB.TrimPlan].
func (r *replica) TrimPlan(ret journal.Retention, now time.Time) (map[string]protocol.Seq, error) {
	db, err := r.use()
	if err != nil {
		return nil, err
	}
	defer r.readers.Done()
	return db.TrimPlan(ret, now)
}

// NextBase is [entrydb.DB.NextBase].
func (r *replica) NextBase(ctx context.Context, space string, before protocol.Seq, fold journal.Fold) (journal.Base, error) {
	db, err := r.use()
	if err != nil {
		return journal.Base{}, err
	}
	defer r.readers.Done()
	return db.NextBase(ctx, space, before, fold)
}

// Base returns the base of a space, see [journal.Derived].
func (r *replica) Base(space string) (journal.Base, error) {
	db, err := r.use()
	if err != nil {
		return journal.Base{}, err
	}
	defer r.readers.Done()
	return db.Base(space)
}
