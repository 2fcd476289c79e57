package client

import (
	"context"
	"fmt"
	"iter"

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
		return c.unwrap(it)
	default:
	}
	select {
	case it := <-c.in.items:
		return c.unwrap(it)
	case <-ctx.Done():
		return protocol.Envelope{}, fmt.Errorf("receive: %w", ctx.Err())
	case <-c.done:
	}
	select {
	case it := <-c.in.items: // received before the end
		return c.unwrap(it)
	default:
		return protocol.Envelope{}, fmt.Errorf("receive: %w", c.final)
	}
}

func (c *Client) unwrap(it item) (protocol.Envelope, error) {
	c.in.removed(it)
	return it.env, it.err
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
			if ctx.Err() != nil || err != nil && c.finished() {
				return
			}
		}
	}
}

// finished reports whether the client has ended and the inbox is empty.
func (c *Client) finished() bool { return c.Err() != nil && c.in.empty() }
