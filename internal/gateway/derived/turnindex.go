package derived

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/journal/derivedb"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// progress is saved with the index.
type progress struct {
	Read   protocol.Seq  `json:"read"`   // everything up to here was applied
	Events *turns.Events `json:"events"` // the youngest ones
}

// open returns the tracker, after the index was opened if necessary. An index that is
// damaged, or does not fit the log, is begun again.
func (t *tailer) open(ctx context.Context, s *TurnStore, sp *space.Space) (*turns.Tracker, error) {
	t.mu.Lock()
	tracker, damaged := t.tracker, t.damaged
	t.mu.Unlock()
	if tracker != nil {
		return tracker, nil
	}
	oldest, err := t.oldest(ctx)
	if err != nil {
		return nil, err
	}
	base, err := t.base(sp)
	if err != nil {
		return nil, err
	}
	tracker, saved, err := t.openRows(s, base, damaged)
	fits := false
	if err == nil {
		fits, err = t.fits(ctx, sp, tracker, saved, oldest)
	}
	switch {
	case isDamaged(err) || err == nil && !fits:
		t.log.Warn("the index of turns does not fit the log; it is built again", "seq", saved.Read, "reason", err)
		tracker, saved, err = t.openRows(s, base, true)
	case err == nil && saved.Read+1 < base.Before:
		t.log.Info("the log has dropped entries before the index of turns had them; it is built again", "seq", saved.Read, "before", base.Before)
		tracker, saved, err = t.openRows(s, base, true)
	}
	if err == nil {
		err = tracker.Trim(oldest)
	}
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() != nil { // reopen may have replaced this following
		return nil, ctx.Err()
	}
	tracker.LimitCache(t.cache)
	t.tracker, t.read, t.events = tracker, saved.Read, *saved.Events
	t.trimmed, t.unsaved, t.damaged = t.opts.Clock(), 0, false
	t.saved = t.trimmed
	return tracker, nil
}

// FoldTurns is the [journal.Fold] for the bases of a TurnStore.
func FoldTurns(ctx context.Context, name string, base []byte, dropped iter.Seq2[*journal.Entry, error]) ([]byte, error) {
	return turns.Fold(ctx, name, base, func(yield func(turns.Entry, error) bool) {
		for e, err := range dropped {
			if err != nil {
				yield(turns.Entry{}, err)
				return
			}
			if !e.Hidden && !yield(turns.Entry{Envelope: &e.Envelope, Audience: e.Audience}, nil) {
				return
			}
		}
	})
}

func isDamaged(err error) bool {
	return errors.Is(err, derivedb.ErrDamaged) || errors.Is(err, turns.ErrDamaged)
}

// base returns the base of the space, unless it is not of the log as it is.
func (t *tailer) base(sp *space.Space) (journal.Base, error) {
	if t.opts.Base == nil {
		return journal.Base{}, nil
	}
	base, err := t.opts.Base(t.name)
	if err != nil || base.Before > sp.Head()+1 {
		return journal.Base{}, err
	}
	return base, nil
}

// errDroppedFirst: retention has dropped entries before they were read for the index.
var errDroppedFirst = errors.New("the log has dropped entries before the index had them")

// checkDropped returns errDroppedFirst if entries after a Seq, from which the log was
// just read, have become a part of the base.
func (t *tailer) checkDropped(ctx context.Context, sp *space.Space, after protocol.Seq) error {
	oldest, err := t.oldest(ctx)
	if err != nil || oldest <= after+1 {
		return err
	}
	if base, err := t.base(sp); err != nil || base.Before <= after+1 {
		return err
	}
	return errDroppedFirst
}

// openRows opens the index of the space, or begins one that continues a base.
func (t *tailer) openRows(s *TurnStore, base journal.Base, reset bool) (*turns.Tracker, progress, error) {
	saved := progress{Events: new(turns.Events)}
	rows, err := s.rows(t.name, t.logID, reset)
	if err != nil {
		return nil, saved, err
	}
	o := turns.Options{Space: t.name, Reader: t, Mask: t.opts.Mask, Clock: t.opts.Clock, Rows: rows}
	tracker, extra, err := turns.Open(o)
	if err == nil && extra == nil && tracker.Head() == 0 && len(base.Data) > 0 {
		saved.Read = base.Before - 1
		err = turns.LoadBase(rows, base.Data)
		if err == nil {
			tracker, extra, err = turns.Open(o)
		}
		if isDamaged(err) {
			t.log.Warn("turns are numbered anew from the oldest entry of the log", "reason", err)
			return t.openRows(s, journal.Base{}, true)
		}
	}
	if err == nil && extra != nil {
		err = json.Unmarshal(extra, &saved)
		if err != nil || saved.Events == nil {
			return nil, progress{Events: new(turns.Events)}, errors.Join(turns.ErrDamaged, err)
		}
	}
	return tracker, saved, err
}

// oldest returns the Seq of the oldest entry of the log.
func (t *tailer) oldest(ctx context.Context) (protocol.Seq, error) {
	if t.opts.Bounds == nil {
		return 0, nil
	}
	oldest, _, err := t.opts.Bounds(ctx, t.name)
	return oldest, err
}

// fits reports whether the log is the one of the index: it is as long, and has the
// entry that was applied last. A log that was restored from a backup may not.
func (t *tailer) fits(ctx context.Context, sp *space.Space, tracker *turns.Tracker, saved progress, oldest protocol.Seq) (bool, error) {
	last := tracker.Head()
	if saved.Read > sp.Head() || saved.Read < last {
		return false, nil
	}
	if last == 0 {
		return true, nil
	}
	for e, err := range t.Range(ctx, last, last) {
		if err != nil {
			return false, fmt.Errorf("read the log: %w", err)
		}
		return tracker.IsLast(e.Envelope), nil
	}
	return last < oldest, nil
}

// closeLocked closes the index after an error. A damaged one is begun again.
func (t *tailer) closeLocked(err error) {
	t.damaged = t.damaged || isDamaged(err)
	t.tracker, t.built, t.read, t.unsaved = nil, false, 0, 0
	t.events = turns.Events{}
	t.announceLocked()
}

// save saves the index, if at least so many entries were applied since the last time, or
// that was a while ago. It waits while rows of earlier saves wait for the disk, unless ctx ends: then
// the entries are applied again after the next start.
func (t *tailer) save(ctx context.Context, s *TurnStore, tracker *turns.Tracker, least int) error {
	t.mu.Lock()
	now := t.opts.Clock()
	if t.unsaved == 0 || t.unsaved < least && now.Sub(t.saved) < flushEvery {
		t.mu.Unlock()
		return nil
	}
	t.saved = now
	unsaved := t.unsaved
	extra, err := json.Marshal(progress{t.read, &t.events})
	t.mu.Unlock()
	if err != nil {
		return err
	}
	for s.full() {
		if ctx.Err() != nil {
			return nil
		}
		pause(ctx)
	}
	if err := errors.Join(tracker.Save(extra), s.startFlush()); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tracker == tracker {
		t.unsaved -= unsaved
	}
	return nil
}

// trim drops turns whose beginning the log no longer has, once in a while.
func (t *tailer) trim(ctx context.Context, tracker *turns.Tracker) error {
	now := t.opts.Clock()
	t.mu.Lock()
	due := now.Sub(t.trimmed) >= trimTurnsEvery
	if due {
		t.trimmed = now
	}
	t.mu.Unlock()
	if !due {
		return nil
	}
	oldest, err := t.oldest(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.unsaved++
	t.mu.Unlock()
	return tracker.Trim(oldest)
}

// limitCache bounds the cached contents of the tracker.
func (t *tailer) limitCache(bytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cache = bytes
	if t.tracker != nil {
		t.tracker.LimitCache(bytes)
	}
}
