package pebblejournal

import (
	"fmt"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
)

// maxBackoff is the maximum factor by which the pause between two attempts
// grows.
const maxBackoff = 50

// reopenStore rejects appends until the store has been opened again. It returns
// false if the journal is closed first.
func (j *Journal) reopenStore(reason error) bool {
	j.down.Store(new(reason))
	j.log.Error("log takes no entries; it will be tried again", "reason", reason)
	wait := j.opt.RetryAfter
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case r, ok := <-j.queue:
			if !ok {
				return false
			}
			if r.claimed.CompareAndSwap(false, true) {
				r.refuse(journal.Unavailable(reason))
				close(r.done)
			}
		case <-timer.C:
			err := j.restore()
			if err == nil {
				j.down.Store(nil)
				j.log.Info("log takes entries again")
				return true
			}
			if err.Error() != reason.Error() {
				j.log.Warn("log still takes no entries", "reason", err)
				reason = err
				j.down.Store(new(reason))
			}
			timer.Reset(wait)
			wait = min(2*wait, maxBackoff*j.opt.RetryAfter)
		}
	}
}

// restore opens the store again and publishes the failed batch if the store has
// it.
func (j *Journal) restore() error {
	if err := j.checkPlace(); err != nil {
		return err
	}
	if err := j.db.Reopen(); err != nil {
		return err
	}
	if len(j.failed) > 0 {
		// The store has a batch as a whole or not at all, so its first entry
		// represents the others.
		first := j.failed[0]
		found, err := j.db.Has(first.space, first.entries[0].Envelope.Seq)
		if err != nil {
			return fmt.Errorf("look for what a failed commit left: %w", err)
		}
		if found {
			j.publish(j.failed)
		}
		j.failed = nil
	}
	j.dropSpaceLogs()
	return nil
}
