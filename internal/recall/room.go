package recall

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/turns"
	"github.com/meup-protocol/meup/protocol"
)

// retry is how long a room waits when its log cannot be read.
const retry = 250 * time.Millisecond

// room is one space's turns.
type room struct {
	name string
	opts Options
	log  *slog.Logger
	used time.Time // guarded by Keeper.mu

	projection *turns.Projection

	mu        sync.Mutex
	space     *space.Space       // that is followed, or was last
	cancel    context.CancelFunc // of the following; nil: nobody does
	ended     <-chan struct{}    // closed when the last following has ended
	read      protocol.Seq       // everything up to here was applied
	built     bool               // what was there at the beginning has been applied
	advanced  chan struct{}      // closed and replaced whenever read has grown or following has ended
	events    recent
	listeners map[*Listener]struct{}
	waiting   int  // requests
	forgotten bool // by the keeper
}

func newRoom(name string, o Options) *room {
	r := &room{
		name: name, opts: o, log: o.Logger.With("space", name), advanced: make(chan struct{}),
		listeners: make(map[*Listener]struct{}),
	}
	r.projection = turns.New(turns.Options{
		Space: name, Reader: reader{r}, Mask: o.Mask, IndexBytes: indexBytes, CacheBytes: cacheBytes,
	})
	return r
}

// reader gives a projection the log of whatever the space is now.
type reader struct{ room *room }

// Range implements turns.Reader.
func (l reader) Range(ctx context.Context, first, last protocol.Seq) iter.Seq2[turns.Entry, error] {
	return func(yield func(turns.Entry, error) bool) {
		for e, err := range l.room.current().Range(ctx, first, last) {
			if err != nil {
				yield(turns.Entry{}, err)
				return
			}
			if !yield(entryOf(e), nil) {
				return
			}
		}
	}
}

func entryOf(e *space.Entry) turns.Entry {
	return turns.Entry{Envelope: e.Envelope, Thread: e.Thread()}
}

func (r *room) current() *space.Space {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.space
}

// follow begins to follow the space, unless the room does already. Only the
// keeper calls it, under its lock.
func (r *room) follow(k *Keeper, s *space.Space) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel != nil && r.space == s {
		return
	}
	if r.cancel != nil { // the space was closed and opened again
		r.cancel()
	}
	r.space = s
	ctx, cancel := context.WithCancel(k.ctx)
	before, ended := r.ended, make(chan struct{})
	r.cancel, r.ended = cancel, ended
	k.wait.Add(1)
	go func() { // ends with cancel, or with the space; Close waits
		defer k.wait.Done()
		defer close(ended)
		defer cancel()
		if before != nil {
			<-before // only one may apply
		}
		r.run(ctx, s)
	}()
}

// outdated reports whether the space has another log than the one that was
// read: it was closed, and when it was opened again its log was shorter.
func (r *room) outdated(s *space.Space) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.space == s || s.Head() >= r.read {
		return false
	}
	r.log.Warn("the log is another one than before; its turns are read anew")
	return true
}

// leave ends the following for good.
func (r *room) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgotten = true
	r.announceLocked()
	if r.cancel != nil {
		r.cancel()
	}
}

// wanted reports whether somebody listens, or waits.
func (r *room) wanted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.listeners) > 0 || r.waiting > 0
}

func (r *room) remask() {
	r.projection.Remask()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = recent{} // they hold on to what was shown before
}

// run applies the log until ctx ends or the space is closed.
func (r *room) run(ctx context.Context, s *space.Space) {
	r.mu.Lock()
	at := r.read
	r.mu.Unlock()
	goal := s.Head()
	c := s.Follow(at)
	defer c.Close()
	begun := r.opts.Clock()
	for {
		if at >= goal {
			r.finish(goal, r.opts.Clock().Sub(begun))
			goal = ^protocol.Seq(0)
		}
		entries, read, err := c.Next(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, space.ErrRetired):
			r.end(s)
			return
		case err != nil:
			r.log.Warn("read the log for its turns", "error", wrap(s, err))
			pause(ctx, retry)
			continue
		}
		at = read
		r.apply(entries, read)
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// apply takes a batch of the log.
func (r *room) apply(entries []*space.Entry, read protocol.Seq) {
	var events []turns.Event
	for _, e := range entries {
		events = append(events, r.projection.Apply(entryOf(e))...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read = max(r.read, read)
	for _, e := range events {
		r.events.add(e)
	}
	if r.built || len(events) > 0 {
		r.announceLocked()
	}
	if len(events) > 0 && r.built {
		for l := range r.listeners {
			l.wake()
		}
	}
}

// finish notes that the log that was there has been read.
func (r *room) finish(goal protocol.Seq, took time.Duration) {
	if took > time.Second {
		r.log.Info("read the turns of the log", "seq", goal, "took", took.Round(time.Millisecond))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.built = true
	r.read = max(r.read, goal)
	r.announceLocked()
	for l := range r.listeners {
		l.wake()
	}
}

// end notes that the space is followed no more.
func (r *room) end(s *space.Space) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.space == s {
		r.cancel = nil
	}
	r.announceLocked()
}

func (r *room) announceLocked() {
	close(r.advanced)
	r.advanced = make(chan struct{})
}

// reach waits until everything up to seq has been applied. Until then the room
// is not forgotten.
func (r *room) reach(ctx context.Context, k *Keeper, seq protocol.Seq) error {
	r.wait(1)
	defer r.wait(-1)
	err := r.applies(ctx, seq)
	if errors.Is(err, space.ErrRetired) && k.ctx.Err() != nil {
		return ErrClosed
	}
	return err
}

// applies waits until everything up to seq has been applied, or the following
// ends.
func (r *room) applies(ctx context.Context, seq protocol.Seq) error {
	for {
		r.mu.Lock()
		there, ended, forgotten, advanced := r.built && r.read >= seq, r.cancel == nil, r.forgotten, r.advanced
		r.mu.Unlock()
		switch {
		case there:
			return nil
		case forgotten:
			return errForgotten
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

func (r *room) wait(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting += n
}

// applied returns up to where the log has been applied; false while it is read
// for the first time.
func (r *room) applied() (protocol.Seq, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read, r.built
}
