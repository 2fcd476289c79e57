package client

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/meup-protocol/meup/protocol"
)

// subscription is a filter change that the gateway has not acknowledged.
type subscription struct {
	filter  protocol.Filter
	matcher *protocol.Matcher
}

// Subscribe changes the filter of this client and returns when the new filter
// is in effect; it remains so across reconnects. If the gateway rejects the
// filter, Subscribe returns a *protocol.Error and the old filter remains. If
// ctx ends first, the new filter still takes effect.
func (c *Client) Subscribe(ctx context.Context, filter protocol.Filter) error {
	matcher, refusal := filter.Compile()
	if refusal != nil {
		return fmt.Errorf("subscribe: %w", refusal)
	}
	id := newID()
	frame, err := subscribeFrame(id, filter)
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	c.mu.Lock()
	c.subscribed[id] = &subscription{filter: filter, matcher: matcher}
	// It is unknown which of the next envelopes passed the old filter and which
	// the new one: keep all of them until the gateway responds.
	c.matcher = nil
	c.mu.Unlock()

	p := &Pending{ID: id, kind: protocol.KindSystemSubscribe, frame: frame, done: make(chan struct{})}
	if err := c.out.add(ctx, c.done, p); err != nil {
		c.dropSubscription(id)
		return fmt.Errorf("subscribe: %w", err)
	}
	_, err = p.Wait(ctx)
	return err
}

func subscribeFrame(id protocol.ID, filter protocol.Filter) ([]byte, error) {
	body, err := json.Marshal(filter)
	if err != nil {
		return nil, err
	}
	frame := append(protocol.AppendString([]byte(`{"id":`), string(id)), `,"kind":"system.subscribe","payload":`...)
	return append(append(frame, body...), '}'), nil
}

// handleSubscribed handles the acknowledgement of a filter.
func (c *Client) handleSubscribed(id protocol.ID) {
	c.mu.Lock()
	sub := c.subscribed[id]
	if sub != nil {
		delete(c.subscribed, id)
		c.filter, c.matcher = sub.filter, sub.matcher
		if len(c.subscribed) > 0 {
			c.matcher = nil // another change is in flight
		}
	}
	c.mu.Unlock()
	if sub != nil {
		c.out.answer(id, protocol.Ack{}, nil)
	}
}

// dropSubscription discards a failed change and restores the previous filter.
func (c *Client) dropSubscription(id protocol.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscribed[id] == nil {
		return false
	}
	delete(c.subscribed, id)
	if len(c.subscribed) == 0 {
		c.matcher, _ = c.filter.Compile()
	}
	return true
}
