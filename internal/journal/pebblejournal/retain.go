package pebblejournal

import (
	"context"
	"errors"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
)

// retain is the retention goroutine.
func (j *Journal) retain(ctx context.Context) {
	tick := time.NewTicker(j.opt.RetentionEvery)
	defer tick.Stop()
	clock := journal.NewRetentionClock(j.opt.Clock, nil)
	jumped := false
	for {
		now, ahead := clock.Now()
		if jumps := ahead > journal.ClockJump; jumps != jumped {
			jumped = jumps
			j.log.Warn("the system clock jumped; retention follows it slowly", "ahead", ahead)
		}
		if err := j.trim(ctx, now); err != nil && !errors.Is(err, journal.ErrUnavailable) {
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
	for space, before := range plan {
		if ctx.Err() != nil {
			break
		}
		n, err := j.db.Trim(space, before)
		if err != nil {
			return err
		}
		spaces++
		entries += n
	}
	if entries > 0 {
		j.log.Info("retention dropped entries", "spaces", spaces, "entries", entries)
	}
	return nil
}
