package natsjournal

import (
	"context"
	"errors"
	"sync"

	"github.com/meup-protocol/meup/internal/journal"
)

// Barrier implements [journal.Journal]: it asks the stream's leader for the
// last message and waits until this gateway has applied it and the sink has
// its entries. Calls at the same time share a question.
func (j *Journal) Barrier(ctx context.Context, space string) error {
	s := j.streams[j.names.bucket(space)]
	if err := j.enter(space); err != nil {
		return err
	}
	defer j.appending.Done()
	ctx, cancel := context.WithTimeout(ctx, j.opts.AppendTimeout)
	defer cancel()
	last, err := s.ends.ask(ctx, func() (uint64, error) { return s.end(j.life) })
	if err == nil {
		err = s.progress.wait(ctx, last)
	}
	switch {
	case err == nil, errors.Is(err, journal.ErrUnavailable):
		return err
	case errors.Is(err, context.DeadlineExceeded) && s.healthErr() != nil:
		return unavailable(s.healthErr())
	}
	return unavailable(err)
}

// end returns the sequence that a gateway must have applied to have everything
// that is durable now.
func (s *stream) end(ctx context.Context) (uint64, error) {
	handle, err := s.open(ctx)
	if err != nil {
		return 0, err
	}
	if last := handle.CachedInfo().State.LastSeq; last <= s.progress.at() {
		return last, nil
	}
	return s.lastStored(ctx, handle) // the last messages may have been deleted
}

// progress is up to which message the sink has had the entries of a stream.
type progress struct {
	mu      sync.Mutex
	seq     uint64
	waiters map[chan struct{}]uint64
}

func (p *progress) at() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seq
}

// reset sets the progress, which may be less than before.
func (p *progress) reset(seq uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seq = seq
}

// reach notes progress and wakes those that wait for it.
func (p *progress) reach(seq uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seq = max(p.seq, seq)
	for c, target := range p.waiters {
		if target <= p.seq {
			close(c)
			delete(p.waiters, c)
		}
	}
}

// wait returns when seq is reached or ctx ends.
func (p *progress) wait(ctx context.Context, seq uint64) error {
	p.mu.Lock()
	if seq <= p.seq {
		p.mu.Unlock()
		return nil
	}
	c := make(chan struct{})
	if p.waiters == nil {
		p.waiters = make(map[chan struct{}]uint64)
	}
	p.waiters[c] = seq
	p.mu.Unlock()
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiters, c)
		return ctx.Err()
	}
}

// question shares the answers to one question among its callers: an answer is
// good for every call that came before the question was asked.
type question struct {
	turn chan struct{} // room for one: the question that is being asked

	mu   sync.Mutex
	next *questionCall // that later callers can join
}

type questionCall struct {
	done chan struct{}
	seq  uint64
	err  error
}

// ask returns the answer of f, which bounds its time itself.
func (q *question) ask(ctx context.Context, f func() (uint64, error)) (uint64, error) {
	q.mu.Lock()
	c := q.next
	first := c == nil
	if first {
		c = &questionCall{done: make(chan struct{})}
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
