package derived

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

const (
	// retryDelay is how long a tailer waits after the log or the index could not be read.
	retryDelay = 250 * time.Millisecond
	// saveEvery is how many entries are applied between two times that the index is
	// saved. About so many are applied again after a crash.
	saveEvery = 2000
	// flushEvery is how often the index is saved while fewer entries are applied. So a
	// crash after slow traffic costs the entries of this time only.
	flushEvery = 10 * time.Second
	// trimTurnsEvery is how often a tailer looks for entries that the log no longer has.
	trimTurnsEvery = time.Minute
)

// tailer follows the log of one space.
type tailer struct {
	name  string
	logID string // of the log that is applied
	opts  TurnOptions
	log   *slog.Logger
	used  time.Time // guarded by TurnStore.mu

	mu        sync.Mutex
	space     *space.Space       // that is followed, or was last
	cancel    context.CancelFunc // of the following; nil: it has ended
	ended     <-chan struct{}    // of the following, which closes it
	tracker   *turns.Tracker     // nil: the index is not open
	damaged   bool               // the index must be begun again
	cache     int                // of the tracker, in bytes
	trimmed   time.Time          // the last look at the oldest entry
	unsaved   int                // entries that were applied since the index was saved
	saved     time.Time          // when it was saved
	read      protocol.Seq       // everything up to here was applied
	built     bool               // the log as it was at the beginning has been applied
	advanced  chan struct{}      // closed and replaced whenever read has grown or following has ended
	events    turns.Events
	listeners map[*TurnListener]struct{}
	waiting   int // requests
	dropped   bool
}

// Range implements Reader by the log of the space that is open now.
func (t *tailer) Range(ctx context.Context, first, last protocol.Seq) iter.Seq2[turns.Entry, error] {
	t.mu.Lock()
	sp := t.space
	t.mu.Unlock()
	return func(yield func(turns.Entry, error) bool) {
		for e, err := range sp.Range(ctx, first, last) {
			if err != nil {
				yield(turns.Entry{}, err)
				return
			}
			if !yield(turns.Entry{Envelope: e.Envelope, Audience: e.Audience()}, nil) {
				return
			}
		}
	}
}

// followLocked starts following a space, unless it is followed already. The caller holds
// TurnStore.mu too.
func (t *tailer) followLocked(s *TurnStore, sp *space.Space) {
	if t.cancel != nil && t.space == sp {
		return
	}
	if t.cancel != nil { // the space was closed and opened again
		t.cancel()
	}
	t.space = sp
	ctx, cancel := context.WithCancel(s.ctx)
	before, ended := s.ended[t.name], make(chan struct{})
	t.cancel, t.ended, s.ended[t.name] = cancel, ended, ended
	s.wait.Go(func() { // ends with cancel, or with the space; Close waits
		if before != nil {
			<-before // only one goroutine may apply a log
		}
		t.run(ctx, s, sp)
		t.mu.Lock()
		if t.ended == ended { // no other following has begun
			t.cancel = nil
		}
		t.announceLocked()
		t.mu.Unlock()
		cancel()
		close(ended)
		s.mu.Lock()
		if s.ended[t.name] == ended {
			delete(s.ended, t.name)
		}
		s.mu.Unlock()
	})
}

// inUse reports whether there is a listener or a pending request.
func (t *tailer) inUse() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.listeners) > 0 || t.waiting > 0
}

// run applies the log until ctx ends or the space is closed.
func (t *tailer) run(ctx context.Context, s *TurnStore, sp *space.Space) {
	for ctx.Err() == nil {
		tracker, err := t.open(ctx, s, sp)
		if err == nil {
			err = t.follow(ctx, s, sp, tracker)
		}
		if ctx.Err() != nil || errors.Is(err, space.ErrRetired) {
			return
		}
		t.log.Warn("the index of turns is opened again", "reason", err)
		t.mu.Lock()
		if t.tracker == tracker {
			t.closeLocked(err)
		}
		t.mu.Unlock()
		pause(ctx)
	}
}

// pause waits before another attempt.
func pause(ctx context.Context) {
	select {
	case <-time.After(retryDelay):
	case <-ctx.Done():
	}
}

// live is the goal of a following that has applied the log as it was at its beginning.
const live = ^protocol.Seq(0)

// follow applies the log, and saves the index now and then, and at the end.
func (t *tailer) follow(ctx context.Context, s *TurnStore, sp *space.Space, tracker *turns.Tracker) error {
	t.mu.Lock()
	at := t.read
	t.mu.Unlock()
	goal := sp.Head()
	c := sp.Follow(at)
	defer c.Close()
	begun := t.opts.Clock()
	for {
		if at >= goal {
			if err := t.save(ctx, s, tracker, 1); err != nil {
				return err
			}
			took := t.opts.Clock().Sub(begun)
			if took > time.Second {
				t.log.Info("built the turns of the log", "seq", goal, "took", took.Round(time.Millisecond))
			}
			t.mu.Lock()
			t.built = true
			t.read = max(t.read, goal)
			t.announceLocked()
			t.wakeLocked()
			t.mu.Unlock()
			goal = live
		}
		entries, read, err := c.Next(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, space.ErrRetired):
			return errors.Join(err, t.save(ctx, s, tracker, 1))
		case err != nil:
			t.log.Warn("read the log for its turns", "error", err)
			pause(ctx)
			continue
		}
		if goal != live {
			if err := t.checkDropped(ctx, sp, at); err != nil {
				return err
			}
		}
		at = read
		t.apply(ctx, tracker, entries, read)
		if err := t.save(ctx, s, tracker, saveEvery); err != nil {
			return err
		}
	}
}

// apply applies a batch of the log.
func (t *tailer) apply(ctx context.Context, tracker *turns.Tracker, entries []*ring.Entry, read protocol.Seq) {
	var events []turns.Event
	for _, e := range entries {
		if event, ok := tracker.Apply(ctx, turns.Entry{Envelope: e.Envelope, Audience: e.Audience()}); ok {
			events = append(events, event)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tracker != tracker {
		return
	}
	t.read = max(t.read, read)
	t.unsaved += len(entries)
	for _, e := range events {
		t.events.Add(e)
	}
	t.announceLocked()
	if len(events) > 0 && t.built {
		t.wakeLocked()
	}
}

func (t *tailer) announceLocked() {
	close(t.advanced)
	t.advanced = make(chan struct{})
}

func (t *tailer) wakeLocked() {
	for l := range t.listeners {
		l.wake()
	}
}

// waitApplied waits until everything up to seq has been applied, or the following
// ends.
func (t *tailer) waitApplied(ctx context.Context, seq protocol.Seq) error {
	for {
		t.mu.Lock()
		done, ended, dropped, advanced := t.built && t.read >= seq, t.cancel == nil, t.dropped, t.advanced
		t.mu.Unlock()
		switch {
		case done:
			return nil
		case dropped:
			return errDropped
		case ended:
			return space.ErrRetired
		}
		select {
		case <-advanced:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
