package pebblejournal

import (
	"context"
	"errors"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/entrydb"
)

// retain is the retention goroutine.
func (j *Journal) retain(ctx context.Context, clock *journal.RetentionClock) {
	tick := time.NewTicker(j.opt.RetentionEvery)
	defer tick.Stop()
	for {
		if err := j.trim(ctx, clock.Now()); err != nil && !errors.Is(err, journal.ErrUnavailable) {
			j.log.Warn("retention pass ended early", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// trim drops the entries that exceed the retention limits.
func (j *Journal) trim(ctx context.Context, now time.Time) error {
	plan, err := j.db.TrimPlan(j.opt.Retention, now)
	if err != nil {
		return err
	}
	spaces, entries := 0, 0
	var failed error // of some spaces, which keep their entries
	for space, before := range plan {
		if ctx.Err() != nil {
			break
		}
		base, err := j.db.NextBase(ctx, space, before, j.opt.Fold)
		if errors.Is(err, journal.ErrUnavailable) {
			return err
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if base.Before > 0 { // written before the entries are dropped, so not lost without them
			b := j.db.NewBatch()
			b.PutBase(space, base)
			if err := b.Commit(false); err != nil {
				return err
			}
		}
		n, err := j.db.Trim(space, before, entrydb.TrimHooks{})
		if err != nil {
			return err
		}
		spaces++
		entries += n
	}
	if entries > 0 {
		j.log.Info("retention dropped entries", "spaces", spaces, "entries", entries)
	}
	return failed
}
