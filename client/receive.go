package client

import (
	"context"
	"fmt"
	"iter"

	"github.com/meup-protocol/meup/protocol"
)

// Receive returns the next envelope: those of the log in their order, and
// between them, without a Seq, presence, fresh welcomes and stream.data. It
// waits for one until ctx ends.
//
// A fresh welcome comes when the rights have changed, and with every
// connection but the first, whose welcome [Client.Welcome] gives: it tells who
// is there now, since nothing was heard of who came and went in between.
//
// A *GapError tells that envelopes are missing here; the next call goes on
// behind the gap. Every other error but ctx's own is final: ErrClosed, a
// *CloseError or a *DialError, after everything that was received before.
func (c *Client) Receive(ctx context.Context) (protocol.Envelope, error) {
	select {
	case it := <-c.in.items:
		return c.take(it)
	default:
	}
	select {
	case it := <-c.in.items:
		return c.take(it)
	case <-ctx.Done():
		return protocol.Envelope{}, fmt.Errorf("receive: %w", ctx.Err())
	case <-c.done:
	}
	select {
	case it := <-c.in.items: // what came in before the end
		return c.take(it)
	default:
		return protocol.Envelope{}, fmt.Errorf("receive: %w", c.final)
	}
}

func (c *Client) take(it item) (protocol.Envelope, error) {
	c.in.took(it)
	return it.env, it.err
}

// All yields what Receive returns until the client or ctx ends. A *GapError is
// yielded and the loop goes on; the last error is yielded too, so that a loop
// which leaves at any error sees why.
func (c *Client) All(ctx context.Context) iter.Seq2[protocol.Envelope, error] {
	return func(yield func(protocol.Envelope, error) bool) {
		for {
			env, err := c.Receive(ctx)
			if !yield(env, err) {
				return
			}
			if ctx.Err() != nil || err != nil && c.over() {
				return
			}
		}
	}
}

// over reports whether the client has ended and everything was taken.
func (c *Client) over() bool { return c.Err() != nil && c.in.empty() }
