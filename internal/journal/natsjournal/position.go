// Package position tracks how far a stream was delivered, and lets concurrent
// calls share one question to its leader.
package natsjournal

import (
	"context"
	"sync"
)

// progress is the sequence up to which the sink has received the entries of a
// stream.
type progress struct {
	mu      sync.Mutex
	seq     uint64
	changed chan struct{} // closed by the next advance; nil: no call waits
}

// Get returns the progress, and a channel that the next advance closes.
func (p *progress) Get() (seq uint64, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return p.seq, p.changed
}

// Reset sets the progress, which may be lower than before.
func (p *progress) Reset(seq uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seq = seq
}

// Advance records progress and wakes waiting calls.
func (p *progress) Advance(seq uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seq = max(p.seq, seq)
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// Wait returns when the progress is at least seq, or ctx ends.
func (p *progress) Wait(ctx context.Context, seq uint64) error {
	for {
		at, changed := p.Get()
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
	turn sync.Mutex // f runs once at a time

	mu   sync.Mutex
	next *pendingCall // later callers can join it
}

type pendingCall struct {
	done chan struct{}
	seq  uint64
	err  error
}

// Do returns the result of f, which bounds its time itself.
func (q *sharedCall) Do(ctx context.Context, f func() (uint64, error)) (uint64, error) {
	q.mu.Lock()
	c := q.next
	first := c == nil
	if first {
		c = &pendingCall{done: make(chan struct{})}
		q.next = c
	}
	q.mu.Unlock()
	if first {
		q.turn.Lock()
		q.mu.Lock()
		q.next = nil
		q.mu.Unlock()
		c.seq, c.err = f()
		close(c.done)
		q.turn.Unlock()
	}
	select {
	case <-c.done:
		return c.seq, c.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
