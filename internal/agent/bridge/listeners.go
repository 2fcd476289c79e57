package bridge

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/participant"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the stored listeners.
const (
	maxListeners     = 256 // per notification; the one with the oldest request is evicted
	maxSubscriptions = 1024
	maxURI           = 8 << 10 // bytes of a subscribed URI
)

// listeners stores which participants receive the server's notifications.
type listeners struct {
	mu    sync.Mutex
	lists map[string][]protocol.ParticipantID // by notification, in the order of the requests
	subs  []subscription
}

type subscription struct {
	uri      string
	asker    protocol.ParticipantID
	envelope protocol.ID // of the request
}

// progress identifies a requester of progress notifications for a call.
type progress struct {
	asker       protocol.ParticipantID
	envelope    protocol.ID
	contextPath protocol.ContextPath
	token       json.RawMessage // as written by the requester
}

func newListeners() *listeners {
	return &listeners{lists: make(map[string][]protocol.ParticipantID)}
}

// listen adds a participant to the receivers of a notification.
func (l *listeners) listen(method string, who protocol.ParticipantID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.DeleteFunc(l.lists[method], func(id protocol.ParticipantID) bool { return id == who })
	if list = append(list, who); len(list) > maxListeners {
		list = slices.Delete(list, 0, 1)
	}
	l.lists[method] = list
}

func (l *listeners) of(method string) []protocol.ParticipantID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lists[method])
}

// forget removes a participant from all lists and subscriptions.
func (l *listeners) forget(who protocol.ParticipantID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for method, list := range l.lists {
		l.lists[method] = slices.DeleteFunc(list, func(id protocol.ParticipantID) bool { return id == who })
	}
	l.subs = slices.DeleteFunc(l.subs, func(s subscription) bool { return s.asker == who })
}

// subscribe stores a subscription, or reports false if there are too many.
func (l *listeners) subscribe(s subscription) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, x := range l.subs {
		if x.uri == s.uri && x.asker == s.asker {
			l.subs[i] = s
			return true
		}
	}
	if len(l.subs) >= maxSubscriptions {
		return false
	}
	l.subs = append(l.subs, s)
	return true
}

// unsubscribe removes a subscription and reports whether the resource has no
// subscriber left.
func (l *listeners) unsubscribe(uri string, who protocol.ParticipantID) (last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subs = slices.DeleteFunc(l.subs, func(s subscription) bool { return s.uri == uri && s.asker == who })
	return !slices.ContainsFunc(l.subs, func(s subscription) bool { return s.uri == uri })
}

// subscribers returns the subscriptions to a resource and to the resources that
// contain it: a server may report only the changed part.
func (l *listeners) subscribers(uri string) []subscription {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []subscription
	for _, s := range l.subs {
		if s.uri == uri || strings.HasPrefix(uri, strings.TrimSuffix(s.uri, "/")+"/") {
			out = append(out, s)
		}
	}
	return out
}

func (l *listeners) uris() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, s := range l.subs {
		out = append(out, s.uri)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// subscribe subscribes a requester to a resource. The server has one
// subscriber; the bridge stores which participants receive an update.
// Subscriptions are serialized, so that the server's state and the stored state
// remain consistent.
func (b *Bridge) subscribe(c *call) (outcome, error) {
	params, err := decode[mcp.SubscribeParams](c.Params, shape{"uri": nil})
	if err != nil {
		return outcome{}, err
	}
	if len(params.URI) > maxURI {
		return outcome{}, &client.RPCError{Code: participant.CodeInvalidParams, Message: "the uri is too long"}
	}
	if err := b.lockSubscribe(c.ctx); err != nil {
		return outcome{}, err
	}
	defer b.unlockSubscribe()
	// Store it first: an update may arrive before the response.
	if !b.listeners.subscribe(subscription{params.URI, c.asker, c.envelope}) {
		return outcome{}, faultOf(participant.CodeFailed, Busy, "busy: there are %d subscriptions", maxSubscriptions)
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
	params, err := decode[mcp.UnsubscribeParams](c.Params, shape{"uri": nil})
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
