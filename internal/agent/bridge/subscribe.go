package bridge

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// subscribe subscribes a requester to a resource. The server has one
// subscriber; the bridge stores which participants receive an update.
// Subscriptions are serialized, so that the server's state and the stored state
// remain consistent.
func (b *Bridge) subscribe(c *call) (outcome, error) {
	params, err := decode[mcp.SubscribeParams](c.params, shape{"uri": nil})
	if err != nil {
		return outcome{}, err
	}
	if len(params.URI) > maxURI {
		return outcome{}, &fault{Code: codeInvalidParams, Message: "the uri is too long"}
	}
	if err := b.lockSubscribe(c.ctx); err != nil {
		return outcome{}, err
	}
	defer b.unlockSubscribe()
	// Store it first: an update may arrive before the response.
	if !b.listeners.subscribe(subscription{params.URI, c.asker, c.envelope}) {
		return outcome{}, faultOf(codeFailed, Busy, "busy: there are %d subscriptions", maxSubscriptions)
	}
	raw, err := b.opts.Server.Do(c.ctx, func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
		return nil, session.Subscribe(ctx, params)
	})
	if err != nil {
		b.listeners.unsubscribe(params.URI, c.asker)
	}
	return outcome{result: raw}, err
}

func (b *Bridge) unsubscribe(c *call) (outcome, error) {
	params, err := decode[mcp.UnsubscribeParams](c.params, shape{"uri": nil})
	if err != nil {
		return outcome{}, err
	}
	if err := b.lockSubscribe(c.ctx); err != nil {
		return outcome{}, err
	}
	defer b.unlockSubscribe()
	if !b.listeners.unsubscribe(params.URI, c.asker) {
		return outcome{result: []byte(`{}`)}, nil // other subscribers remain
	}
	raw, err := b.opts.Server.Do(c.ctx, func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
		return nil, session.Unsubscribe(ctx, params)
	})
	return outcome{result: raw}, err
}

func (b *Bridge) lockSubscribe(ctx context.Context) error {
	select {
	case b.subscribeLock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (b *Bridge) unlockSubscribe() { <-b.subscribeLock }
