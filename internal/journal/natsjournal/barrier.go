package natsjournal

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/meup-protocol/meup/internal/journal"
)

// Barrier implements [journal.Journal]: it requests the last message from the
// stream's leader, then waits until this gateway has applied it and the sink
// has its entries. Concurrent calls share a request.
func (j *Journal) Barrier(ctx context.Context, space string) error {
	s := j.streamOf(space)
	if err := j.startCall(space); err != nil {
		return err
	}
	defer j.appending.Done()
	ctx, cancel := context.WithTimeout(ctx, j.opts.AppendTimeout)
	defer cancel()
	last, err := s.ends.do(ctx, func() (uint64, error) { return s.durableEnd(j.life) })
	if err == nil {
		err = s.progress.wait(ctx, last)
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = cmp.Or(s.healthErr(), err)
	}
	return journal.Unavailable(err)
}

// durableEnd returns the sequence up to which a gateway must have applied the
// stream to have everything that is durable now.
func (s *stream) durableEnd(ctx context.Context) (uint64, error) {
	handle, err := s.open(ctx)
	if err != nil {
		return 0, err
	}
	last := handle.CachedInfo().State.LastSeq
	if at, _ := s.progress.get(); last <= at {
		return last, nil
	}
	return s.lastStored(ctx, handle) // the last messages may have been deleted
}

// progress is the sequence up to which the sink has received the entries of a
// stream.
type progress struct {
	mu      sync.Mutex
	seq     uint64
	changed chan struct{} // closed by the next advance; nil: no call waits
}

// get returns the progress, and a channel that the next advance closes.
func (p *progress) get() (seq uint64, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.seq, p.changed
}

// reset sets the progress, which may be lower than before.
func (p *progress) reset(seq uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seq = seq
}

// advance records progress and wakes waiting calls.
func (p *progress) advance(seq uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seq = max(p.seq, seq)
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// wait returns when the progress is at least seq, or ctx ends.
func (p *progress) wait(ctx context.Context, seq uint64) error {
	for {
		at, changed := p.get()
		if at >= seq {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sharedCall shares one result among concurrent callers. A result is valid for
// every call that arrived before f started.
type sharedCall struct {
	turn chan struct{} // capacity one: f runs once at a time

	mu   sync.Mutex
	next *pendingCall // later callers can join it
}

type pendingCall struct {
	done chan struct{}
	seq  uint64
	err  error
}

// do returns the result of f, which bounds its time itself.
func (q *sharedCall) do(ctx context.Context, f func() (uint64, error)) (uint64, error) {
	q.mu.Lock()
	c := q.next
	first := c == nil
	if first {
		c = &pendingCall{done: make(chan struct{})}
		q.next = c
	}
	q.mu.Unlock()
	if first {
		q.turn <- struct{}{}
		q.mu.Lock()
		q.next = nil
		q.mu.Unlock()
		c.seq, c.err = f()
		close(c.done)
		<-q.turn
	}
	select {
	case <-c.done:
		return c.seq, c.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
