package pebblejournal

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/protocol"
)

// visibleSeq returns the newest Seq of a space that readers may see. The store
// shows entries before they are durable. If a reader saw an entry that a power
// failure then removed, another entry would get its number.
//
// The committer creates a head before it writes and removes it only when
// everything is durable. So a reader that finds no head after it has read the
// store has read only durable entries.
func (j *Journal) visibleSeq(space string) (protocol.Seq, error) {
	if h, ok := j.heads.Load(space); ok {
		return h.(*head).seq(), nil //nolint:forcetypeassert // the map has only heads
	}
	_, newest, err := j.db.Bounds(space)
	if err != nil {
		return 0, err
	}
	if h, ok := j.heads.Load(space); ok {
		return h.(*head).seq(), nil //nolint:forcetypeassert // the map has only heads
	}
	return newest, nil
}

// Range implements [journal.Journal].
func (j *Journal) Range(ctx context.Context, space string, q journal.Query) iter.Seq2[*journal.Entry, error] {
	return func(yield func(*journal.Entry, error) bool) {
		newest, err := j.visibleSeq(space)
		if err != nil {
			yield(nil, fmt.Errorf("read log of %s: %w", space, err))
			return
		}
		if q.Before == 0 || q.Before > newest {
			q.Before = newest + 1
		}
		j.db.Range(ctx, space, q)(yield)
	}
}

// Lookup implements [journal.Journal].
func (j *Journal) Lookup(_ context.Context, space string, id protocol.ID) (*journal.Entry, error) {
	newest, err := j.visibleSeq(space)
	if err != nil {
		return nil, fmt.Errorf("look up %s in %s: %w", id, space, err)
	}
	e, err := j.db.Lookup(space, id)
	if err != nil {
		return nil, err
	}
	if e.Envelope.Seq > newest {
		return nil, fmt.Errorf("look up %s in %s: %w", id, space, journal.ErrNotFound)
	}
	return e, nil
}

// Bounds implements [journal.Journal].
func (j *Journal) Bounds(_ context.Context, space string) (oldest, newest protocol.Seq, err error) {
	visible, err := j.visibleSeq(space)
	if err != nil || visible == 0 {
		return 0, 0, err
	}
	oldest, _, err = j.db.Bounds(space)
	if err != nil {
		return 0, 0, err
	}
	return min(oldest, visible+1), visible, nil
}

// Snapshot implements [journal.Journal].
func (j *Journal) Snapshot(space string) (journal.Snapshot, error) {
	data, err := j.db.Snapshot(space)
	return journal.Snapshot{Data: data}, err
}

// SaveSnapshot implements [journal.Journal]. The log has one copy only.
func (j *Journal) SaveSnapshot(space string, s journal.Snapshot) error {
	return j.db.SaveSnapshot(space, s.Data)
}

// Base implements [journal.Journal].
func (j *Journal) Base(space string) (journal.Base, error) { return j.db.Base(space) }

// Spaces implements [journal.Journal].
func (j *Journal) Spaces(context.Context) ([]string, error) {
	spaces, err := j.db.Spaces()
	if err != nil {
		return nil, fmt.Errorf("list spaces: %w", err)
	}
	spaces = slices.DeleteFunc(spaces, func(space string) bool {
		h, ok := j.heads.Load(space)
		return space == journal.GatewayLog || ok && h.(*head).seq() == 0 //nolint:forcetypeassert // the map has only heads
	})
	slices.Sort(spaces)
	return spaces, nil
}
