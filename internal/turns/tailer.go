package turns

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/protocol"
)

// retryDelay is how long a tailer waits after the log could not be read.
const retryDelay = 250 * time.Millisecond

// Bounds of the events of a space that a resumed stream can get. maxEventBytes
// bounds the contents that must be read and masked for all of them.
const (
	maxEvents     = 1024
	maxEventBytes = 64 << 20
)

// tailer follows the log of one space.
type tailer struct {
	name    string
	logID   string // of the log that is applied
	opts    StoreOptions
	log     *slog.Logger
	used    time.Time // guarded by Store.mu
	tracker *Tracker

	mu        sync.Mutex
	space     *space.Space       // that is followed, or was last
	cancel    context.CancelFunc // of the following; nil: it has ended
	ended     <-chan struct{}    // closed when the last following has ended
	read      protocol.Seq       // everything up to here was applied
	built     bool               // the log as it was at the beginning has been applied
	advanced  chan struct{}      // closed and replaced whenever read has grown or following has ended
	events    []Event            // the youngest, in order of Seq
	bytes     int                // of their turns
	listeners map[*Listener]struct{}
	waiting   int // requests
	dropped   bool
}

func newTailer(sp *space.Space, o StoreOptions) *tailer {
	t := &tailer{
		name: sp.Name(), logID: sp.LogID(), opts: o, log: o.Logger.With("space", sp.Name()), advanced: make(chan struct{}),
		listeners: make(map[*Listener]struct{}),
	}
	t.tracker = NewTracker(Options{Space: sp.Name(), Reader: t, Mask: o.Mask, Clock: o.Clock, IndexBytes: storeIndexBytes})
	return t
}

// Range implements Reader by the log of the space that is open now.
func (t *tailer) Range(ctx context.Context, first, last protocol.Seq) iter.Seq2[Entry, error] {
	t.mu.Lock()
	sp := t.space
	t.mu.Unlock()
	return func(yield func(Entry, error) bool) {
		for e, err := range sp.Range(ctx, first, last) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !yield(entryOf(e), nil) {
				return
			}
		}
	}
}

func entryOf(e *space.Entry) Entry {
	return Entry{Envelope: e.Envelope, Thread: e.Thread()}
}

// follow starts following a space, unless it is followed already. The Store calls
// it under its lock.
func (t *tailer) follow(s *Store, sp *space.Space) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil && t.space == sp {
		return
	}
	if t.cancel != nil { // the space was closed and opened again
		t.cancel()
	}
	t.space = sp
	ctx, cancel := context.WithCancel(s.ctx)
	before, ended := t.ended, make(chan struct{})
	t.cancel, t.ended = cancel, ended
	s.wait.Go(func() { // ends with cancel, or with the space; Close waits
		defer close(ended)
		defer cancel()
		if before != nil {
			<-before // only one goroutine may apply
		}
		t.run(ctx, sp)
	})
}

// drop ends the following for good.
func (t *tailer) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dropped = true
	t.announceLocked()
	if t.cancel != nil {
		t.cancel()
	}
}

// inUse reports whether there is a listener or a pending request.
func (t *tailer) inUse() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.listeners) > 0 || t.waiting > 0
}

// run applies the log until ctx ends or the space is closed.
func (t *tailer) run(ctx context.Context, sp *space.Space) {
	t.mu.Lock()
	at := t.read
	t.mu.Unlock()
	goal := sp.Head()
	c := sp.Follow(at)
	defer c.Close()
	begun := t.opts.Clock()
	for {
		if at >= goal {
			t.finish(goal, t.opts.Clock().Sub(begun))
			goal = ^protocol.Seq(0)
		}
		entries, read, err := c.Next(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, space.ErrRetired):
			t.end(sp)
			return
		case err != nil:
			t.log.Warn("read the log for its turns", "error", followError(sp, err))
			sleep(ctx, retryDelay)
			continue
		}
		at = read
		t.apply(ctx, entries, read)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// apply applies a batch of the log.
func (t *tailer) apply(ctx context.Context, entries []*space.Entry, read protocol.Seq) {
	var events []Event
	for _, e := range entries {
		if event, ok := t.tracker.Apply(ctx, entryOf(e)); ok {
			events = append(events, event)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read = max(t.read, read)
	for _, e := range events {
		t.addEventLocked(e)
	}
	t.announceLocked()
	if len(events) > 0 && t.built {
		t.wakeLocked()
	}
}

// addEventLocked adds an event. When there are too many, the oldest of those goes
// that a younger one of the same agent and turn includes, else the oldest.
func (t *tailer) addEventLocked(e Event) {
	t.events = append(t.events, e)
	t.bytes += e.bytes
	for len(t.events) > 1 && (len(t.events) > maxEvents || t.bytes > maxEventBytes) {
		drop := max(0, slices.IndexFunc(t.events, e.includes))
		t.bytes -= t.events[drop].bytes
		t.events = slices.Delete(t.events, drop, drop+1)
	}
}

// finish records that the log as it was at the beginning has been applied.
func (t *tailer) finish(goal protocol.Seq, took time.Duration) {
	if took > time.Second {
		t.log.Info("built the turns of the log", "seq", goal, "took", took.Round(time.Millisecond))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.built = true
	t.read = max(t.read, goal)
	t.announceLocked()
	t.wakeLocked()
}

// end records that the space is not followed any more.
func (t *tailer) end(sp *space.Space) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.space == sp {
		t.cancel = nil
	}
	t.announceLocked()
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

// waitFor waits until everything up to seq has been applied. The Store does not
// drop the tailer meanwhile.
func (t *tailer) waitFor(ctx context.Context, s *Store, seq protocol.Seq) error {
	t.addWaiting(1)
	defer t.addWaiting(-1)
	err := t.waitApplied(ctx, seq)
	if errors.Is(err, space.ErrRetired) && s.ctx.Err() != nil {
		return ErrClosed
	}
	return err
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

func (t *tailer) addWaiting(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting += n
}

// progress returns how far the log has been applied; false while it is applied
// for the first time.
func (t *tailer) progress() (protocol.Seq, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.read, t.built
}

// between returns the events with after < Seq <= upTo.
func (t *tailer) between(after, upTo protocol.Seq) []Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Event
	for _, e := range t.events {
		if e.Seq > after && e.Seq <= upTo {
			out = append(out, e)
		}
	}
	return out
}
