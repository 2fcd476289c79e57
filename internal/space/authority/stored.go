package authority

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
)

// Stored is the snapshot of the state of a space in its journal. It is not safe for
// concurrent use.
type Stored struct {
	log    journal.Journal
	space  string
	logID  string
	copied any    // see [journal.Snapshot]
	folded uint64 // number of state entries of the state that was encoded last
	bytes  int    // length of that snapshot

	limit int // of the length of a snapshot

	replaced bool // the copy of the log was replaced: no snapshot can be stored
}

// LogID returns the id of the log.
func (s *Stored) LogID() string { return s.logID }

// Load returns the state of a space: its snapshot and the later state entries. If
// there is no snapshot that can be used, it folds all state entries.
func Load(ctx context.Context, log journal.Journal, space string, cfg *Config, logger *slog.Logger) (*State, *Stored, error) {
	logID, err := log.LogID(ctx, space)
	if err != nil {
		return nil, nil, err
	}
	snapshot, err := log.Snapshot(space)
	if err != nil {
		return nil, nil, err
	}
	stored := &Stored{log: log, space: space, logID: logID, copied: snapshot.Copy, limit: maxSnapshot}
	st := NewState(cfg)
	if snapshot.Data != nil {
		restored, unusable := restore(snapshot.Data, logID, cfg)
		if unusable == nil {
			unusable, err = stored.check(ctx, restored)
		}
		switch {
		case err != nil:
			return nil, nil, err
		case unusable != nil:
			logger.Warn("the snapshot of the state is not used; all state entries are read", "reason", unusable)
		default:
			st, stored.folded, stored.bytes = restored, restored.folded, len(snapshot.Data)
		}
	}
	for e, err := range log.Range(ctx, space, journal.Query{StateOnly: true, After: st.Seq}) { // not shared yet: folded in place
		if err != nil {
			return nil, nil, err
		}
		if err := st.Fold(e); err != nil {
			logger.Error("apply a state entry", "seq", e.Envelope.Seq, "error", err)
		}
	}
	return st, stored, nil
}

// check returns why the log does not have the last entry of a state: unusable.
func (s *Stored) check(ctx context.Context, st *State) (unusable, err error) {
	for e, err := range s.log.Range(ctx, s.space, journal.Query{StateOnly: true, After: st.Seq - 1, Limit: 1}) {
		if err != nil {
			return nil, err
		}
		if e.Envelope.Seq == st.Seq && e.Envelope.ID == st.last {
			return nil, nil
		}
	}
	return fmt.Errorf("the log has no state entry %s at %d", st.last, st.Seq), nil
}

// minTail is the share of a state that has to change before it is stored again, so
// that the cost of an entry does not depend on the size of the state.
const minTail = 32

// elementBytes is about the size of an element of a snapshot. Revocations are counted by
// it alone.
const elementBytes = 128

// maxSnapshot bounds a snapshot, which is one row of the database. A larger state is
// folded when the space is opened, from the last snapshot that was stored.
const maxSnapshot = 64 << 20

var errTooLarge = errors.New("the state is too large for a snapshot")

// Save stores a later state if enough entries have followed the one that it stored or
// encoded before; now is the time at the gateway. Err: [journal.ErrReplaced],
// [journal.ErrUnavailable], or that the state is too large.
func (s *Stored) Save(st *State, now time.Time) error {
	if s.replaced {
		return journal.ErrReplaced
	}
	if st.folded-s.folded <= uint64(max(st.size(), s.bytes/elementBytes)/minTail) {
		return nil
	}
	data := st.encode(s.logID, now)
	if len(data) > s.limit {
		s.folded, s.bytes = st.folded, len(data) // tried again after as many entries as if it was stored
		return fmt.Errorf("%w: %d bytes, and at most %d", errTooLarge, len(data), s.limit)
	}
	err := s.log.SaveSnapshot(s.space, journal.Snapshot{Data: data, Copy: s.copied})
	if err == nil {
		s.folded, s.bytes = st.folded, len(data)
	}
	s.replaced = errors.Is(err, journal.ErrReplaced)
	return err
}

// size is about the number of elements of a snapshot without revocations.
func (st *State) size() int {
	return st.members.Len() + st.kicked.Len() + st.pauses.Len() + st.modes.Len() + st.Ledger.Len() + st.Directory.Len() + st.extended.Len()
}
