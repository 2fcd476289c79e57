package client

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/meup-protocol/meup/protocol"
)

// Receive returns the next envelope. Envelopes of the log are in order; between
// them are envelopes without a Seq: presence, fresh welcomes and stream.data.
// Receive blocks until there is an envelope or ctx ends.
//
// A fresh welcome is delivered when the rights have changed, and on every
// connection but the first, whose welcome [Client.Welcome] returns. It lists
// the connected participants, because presence notices are missed while
// disconnected.
//
// A *GapError means that envelopes are missing at this position; the next call
// continues after the gap. Every other error except ctx's is final, and is
// returned after all received envelopes: ErrClosed, a *CloseError or a
// *DialError.
func (c *Client) Receive(ctx context.Context) (protocol.Envelope, error) {
	select {
	case it := <-c.in.items:
		return c.in.unwrap(it)
	default:
	}
	select {
	case it := <-c.in.items:
		return c.in.unwrap(it)
	case <-ctx.Done():
		return protocol.Envelope{}, fmt.Errorf("receive: %w", ctx.Err())
	case <-c.done:
	}
	select {
	case it := <-c.in.items: // received before the end
		return c.in.unwrap(it)
	default:
		return protocol.Envelope{}, fmt.Errorf("receive: %w", c.final)
	}
}

// All yields the results of Receive until the client or ctx ends. It yields a
// *GapError and continues; it also yields the last error, so that a loop that
// stops at any error has the reason.
func (c *Client) All(ctx context.Context) iter.Seq2[protocol.Envelope, error] {
	return func(yield func(protocol.Envelope, error) bool) {
		for {
			env, err := c.Receive(ctx)
			if !yield(env, err) {
				return
			}
			finished := c.Err() != nil && c.in.empty()
			if ctx.Err() != nil || err != nil && finished {
				return
			}
		}
	}
}

// inbox holds received envelopes until Receive returns them. It is bounded in
// number and in bytes. Only the connection's reader adds items; any goroutine
// may remove them.
type inbox struct {
	items    chan item // capacity: maxCount and a welcome
	maxCount int
	maxBytes int64
	bytes    atomic.Int64
	// welcomes is 1 while the items contain a welcome that does not count
	// against the bounds. Otherwise a buffer for one envelope would be filled
	// by the welcome of every reconnect, and no other envelope would get
	// through.
	welcomes atomic.Int64

	// skipping is set after the reader dropped an envelope that did not fit.
	// The envelopes from there on must be requested again once the inbox is
	// empty.
	skipping atomic.Bool
	// freed wakes the reader, drained wakes keepalive.
	freed, drained chan struct{}
}

type item struct {
	env  protocol.Envelope
	err  error
	size int64
	free bool // a welcome that does not count against the bounds
}

func newInbox(count int, maxBytes int64) *inbox {
	return &inbox{
		items:    make(chan item, count+1),
		maxCount: count,
		maxBytes: maxBytes,
		freed:    make(chan struct{}, 1),
		drained:  make(chan struct{}, 1),
	}
}

// put adds an item, or reports that there is no space.
func (b *inbox) put(it item) bool {
	if !b.hasRoom() {
		return false
	}
	b.bytes.Add(it.size)
	b.items <- it // cannot block: there is only one sender
	return true
}

// putWelcome adds a welcome. The first one is always accepted; further ones
// count like other items.
func (b *inbox) putWelcome(it item) bool {
	if b.welcomes.Load() > 0 || len(b.items) == cap(b.items) {
		return b.put(it)
	}
	b.welcomes.Store(1)
	it.size, it.free = 0, true
	b.items <- it // cannot block: there is only one sender
	return true
}

// hasRoom is for the reader: only the reader itself can fill the inbox.
func (b *inbox) hasRoom() bool {
	n := len(b.items)
	return n < cap(b.items) && n-int(b.welcomes.Load()) < b.maxCount && b.bytes.Load() < b.maxBytes
}

func (b *inbox) empty() bool { return len(b.items) == 0 }

// markSkipped records that an envelope was dropped.
func (b *inbox) markSkipped() {
	b.skipping.Store(true)
	if b.empty() { // the last item was removed before skipping was set
		wake(b.drained)
	}
}

// mustResume reports that all kept items were received and later ones were
// dropped.
func (b *inbox) mustResume() bool { return b.skipping.Load() && b.empty() }

// unwrap returns the envelope or the error of an item that was removed from items.
func (b *inbox) unwrap(it item) (protocol.Envelope, error) {
	b.bytes.Add(-it.size)
	if it.free {
		b.welcomes.Store(0)
	}
	wake(b.freed)
	if b.mustResume() {
		wake(b.drained)
	}
	return it.env, it.err
}

// wake leaves one signal in a channel of capacity 1.
func wake(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
