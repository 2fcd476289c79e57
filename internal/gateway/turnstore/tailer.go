package turnstore

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

// retryDelay is how long a tailer waits after the log could not be read.
const retryDelay = 250 * time.Millisecond

// tailer follows the log of one space.
type tailer struct {
	name    string
	logID   string // of the log that is applied
	opts    Options
	log     *slog.Logger
	used    time.Time // guarded by Store.mu
	tracker *turns.Tracker

	mu        sync.Mutex
	space     *space.Space       // that is followed, or was last
	cancel    context.CancelFunc // of the following; nil: it has ended
	ended     <-chan struct{}    // closed when the last following has ended
	read      protocol.Seq       // everything up to here was applied
	built     bool               // the log as it was at the beginning has been applied
	advanced  chan struct{}      // closed and replaced whenever read has grown or following has ended
	events    turns.Events
	listeners map[*Listener]struct{}
	waiting   int // requests
	dropped   bool
}

func newTailer(sp *space.Space, o Options) *tailer {
	t := &tailer{
		name: sp.Name(), logID: sp.LogID(), opts: o, log: o.Logger.With("space", sp.Name()), advanced: make(chan struct{}),
		listeners: make(map[*Listener]struct{}),
	}
	t.tracker = turns.NewTracker(turns.Options{Space: sp.Name(), Reader: t, Mask: o.Mask, Clock: o.Clock, IndexBytes: indexBytes})
	return t
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
			if !yield(turns.Entry{Envelope: e.Envelope, Thread: e.Thread()}, nil) {
				return
			}
		}
	}
}

// followLocked starts following a space, unless it is followed already.
func (t *tailer) followLocked(s *Store, sp *space.Space) {
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
			t.log.Warn("read the log for its turns", "error", err)
			select {
			case <-time.After(retryDelay):
			case <-ctx.Done():
			}
			continue
		}
		at = read
		t.apply(ctx, entries, read)
	}
}

// apply applies a batch of the log.
func (t *tailer) apply(ctx context.Context, entries []*ring.Entry, read protocol.Seq) {
	var events []turns.Event
	for _, e := range entries {
		if event, ok := t.tracker.Apply(ctx, turns.Entry{Envelope: e.Envelope, Thread: e.Thread()}); ok {
			events = append(events, event)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read = max(t.read, read)
	for _, e := range events {
		t.events.Add(e)
	}
	t.announceLocked()
	if len(events) > 0 && t.built {
		t.wakeLocked()
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
