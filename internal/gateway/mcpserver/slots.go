package mcpserver

import (
	"context"
	"errors"
	"sync"
)

// SlotPool bounds how many requests of a server run at the same time, and how many wait.
type SlotPool struct {
	running chan struct{} // taken by requests in progress
	waiting chan struct{} // taken by requests that wait, in place of a slot
}

// NewSlotPool returns a SlotPool for so many requests.
func NewSlotPool(running, waiting int) *SlotPool {
	return &SlotPool{make(chan struct{}, running), make(chan struct{}, waiting)}
}

// Running returns how many slots are taken.
func (p *SlotPool) Running() int { return len(p.running) }

// SlotShare is the share of one request. Its methods may be called concurrently.
type SlotShare struct {
	pool  *SlotPool
	ended context.Context //nolint:containedctx // of the request

	mu   sync.Mutex
	slot bool // it has a slot
	over bool // it gets no more
}

// Share returns the share of a request that ends with ctx. Finish must be called.
func (p *SlotPool) Share(ctx context.Context) *SlotShare { return &SlotShare{pool: p, ended: ctx} }

// ErrManyWaiting means that too many requests wait.
var ErrManyWaiting = errors.New("too many calls are waiting at this gateway; try again in a moment")

var errOver = errors.New("the request has ended")

// Resume takes a slot, unless the request has one.
func (s *SlotShare) Resume(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return errOver
	}
	if s.slot {
		return nil
	}
	select {
	case s.pool.running <- struct{}{}:
		s.slot = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Release returns the slot.
func (s *SlotShare) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slot {
		<-s.pool.running
		s.slot = false
	}
}

// Finish returns the slot at the end of the request.
func (s *SlotShare) Finish() {
	s.Release()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// Await calls wait without a slot, so that the request does not keep others from
// running. Errors: ErrManyWaiting, or the one of wait.
func (s *SlotShare) Await(ctx context.Context, wait func(context.Context) error) error {
	select {
	case s.pool.waiting <- struct{}{}:
		defer func() { <-s.pool.waiting }()
	default:
		return ErrManyWaiting
	}
	s.Release()
	if err := wait(ctx); err != nil {
		return err
	}
	return s.Resume(s.ended)
}
