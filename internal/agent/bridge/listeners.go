package bridge

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the stored listeners.
const (
	maxListeners     = 256     // per notification; the one with the oldest request is evicted
	maxSubscriptions = 1024    // also of the server, including those without a subscriber
	maxURI           = 8 << 10 // bytes of a subscribed URI
)

// listeners stores which participants receive the server's notifications.
type listeners struct {
	mu    sync.Mutex
	lists map[string][]protocol.ParticipantID // by notification, in the order of the requests
	subs  []subscription
	// remote has the URIs that the server has a subscription of, oldest first. One
	// without a subscriber is kept where its end would cost more.
	remote []string
}

type subscription struct {
	uri      string
	asker    protocol.ParticipantID
	envelope protocol.ID // of the latest request
	count    int         // requests: several clients may act as one participant
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
	list = append(list, who)
	if len(list) > maxListeners {
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
			s.count = x.count + 1
			l.subs[i] = s
			return true
		}
	}
	if len(l.subs) >= maxSubscriptions {
		return false
	}
	s.count = 1
	l.subs = append(l.subs, s)
	return true
}

// unsubscribe takes back one request to subscribe, and reports whether the
// resource has no subscriber left.
func (l *listeners) unsubscribe(uri string, who protocol.ParticipantID) (last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.subs {
		if s := &l.subs[i]; s.uri == uri && s.asker == who {
			s.count--
			if s.count == 0 {
				l.subs = slices.Delete(l.subs, i, i+1)
			}
			break
		}
	}
	return !slices.ContainsFunc(l.subs, func(s subscription) bool { return s.uri == uri })
}

// subscribed records that the server has a subscription. If it has too many, one
// that has no subscriber is removed and returned.
func (l *listeners) subscribed(uri string) (surplus string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Contains(l.remote, uri) {
		return ""
	}
	l.remote = append(l.remote, uri)
	if len(l.remote) <= maxSubscriptions {
		return ""
	}
	wanted := make(map[string]bool)
	for _, s := range l.subs {
		wanted[s.uri] = true
	}
	i := max(0, slices.IndexFunc(l.remote, func(uri string) bool { return !wanted[uri] }))
	surplus = l.remote[i]
	l.remote = slices.Delete(l.remote, i, i+1)
	return surplus
}

// unsubscribed records that the server has no subscription of a resource.
func (l *listeners) unsubscribed(uri string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remote = slices.DeleteFunc(l.remote, func(x string) bool { return x == uri })
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

// restarted records that the server was restarted. It returns the resources that have
// subscribers.
func (l *listeners) restarted() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remote = nil
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
	if !b.listeners.subscribe(subscription{uri: params.URI, asker: c.asker, envelope: c.envelope}) {
		return outcome{}, faultOf(participant.CodeFailed, Busy, "busy: there are %d subscriptions", maxSubscriptions)
	}
	result, err := b.subscribeAtServer(c.ctx, params)
	if err != nil {
		b.listeners.unsubscribe(params.URI, c.asker)
	}
	return outcomeOf(result), err
}

func (b *Bridge) subscribeAtServer(ctx context.Context, params *mcp.SubscribeParams) (mcptools.Result, error) {
	return b.opts.Server.Do(ctx, func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
		if err := session.Subscribe(ctx, params); err != nil {
			return nil, err
		}
		if surplus := b.listeners.subscribed(params.URI); surplus != "" {
			b.log.Warn("subscription that no one uses ended: the server may stop to notify of changed lists", "bound", maxSubscriptions)
			if err := session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: surplus}); err != nil {
				b.log.Warn("subscription not ended", "err", err)
			}
		}
		return nil, nil
	})
}

// unsubscribe ends a subscription. Where the server's would end other
// notifications with it, it is kept: its updates have no receivers.
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
	result, err := b.opts.Server.Do(c.ctx, func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
		if b.opts.Server.SharesListen(session) {
			return nil, nil
		}
		b.listeners.unsubscribed(params.URI)
		return nil, session.Unsubscribe(ctx, params)
	})
	return outcomeOf(result), err
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
