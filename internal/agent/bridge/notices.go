package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/protocol"
)

// Notices queues the server's notifications until the bridge has sent them. The
// reader of the server's connection fills it and must not block.
type Notices struct {
	ready chan struct{}

	mu        sync.Mutex
	list      []notice // in order
	dropped   int
	restarted bool
	count     int
}

type notice struct {
	method string
	key    string // a notice replaces the newest queued one with the same key
	params mcp.Params
}

// Bounds of the queued notifications, and of those about the progress of one call: further
// ones replace the newest. Some clients want each step of a short call.
const (
	maxNotices  = 256
	maxProgress = 8
)

// NewNotices returns an empty queue.
func NewNotices() *Notices { return &Notices{ready: make(chan struct{}, 1)} }

// Put queues a notification; it serves as mcptools.Options.OnNotice. A
// notification replaces a queued one with the same key, one of progress only if
// maxProgress of its call are queued. If the queue is full,
// the oldest is dropped.
func (n *Notices) Put(method string, params mcp.Params) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count++
	it := notice{method, method, params}
	switch p := params.(type) {
	case *mcp.ResourceUpdatedNotificationParams:
		it.key += " " + p.URI
	case *mcp.ProgressNotificationParams:
		it.key = fmt.Sprint(method, " ", p.ProgressToken)
	default:
		if method == logMessage {
			it.key = fmt.Sprint(method, " ", n.count) // log messages do not replace one another
		}
	}
	newest, queued, most := 0, 0, 1
	if method == progressMade {
		most = maxProgress
	}
	for i := range n.list {
		if n.list[i].key == it.key {
			newest, queued = i, queued+1
		}
	}
	if queued >= most {
		n.list[newest] = it
		return
	}
	n.list = append(n.list, it)
	if len(n.list) > maxNotices {
		n.list = append(n.list[:0], n.list[1:]...)
		n.dropped++
	}
	n.wake()
}

// Restarted records that the server was restarted; it serves as
// mcptools.Options.OnRestart.
func (n *Notices) Restarted() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.restarted = true
	n.wake()
}

func (n *Notices) wake() {
	select {
	case n.ready <- struct{}{}:
	default:
	}
}

// drain empties the queue and returns its content.
func (n *Notices) drain() (list []notice, restarted bool, dropped int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list, restarted, dropped = n.list, n.restarted, n.dropped
	n.list, n.restarted, n.dropped = nil, false, 0
	return list, restarted, dropped
}

// paramsOf returns the params of a notification to forward. _meta is removed
// because it describes the connection to the server.
func paramsOf(params mcp.Params) json.RawMessage {
	doc := make(map[string]json.RawMessage)
	raw := mustMarshal(params)
	if json.Unmarshal(raw, &doc) != nil {
		return json.RawMessage(`{}`)
	}
	delete(doc, "_meta")
	return mustMarshal(doc)
}

// notify forwards the server's notifications until ctx ends.
func (b *Bridge) notify(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.opts.Notices.ready:
		}
		if b.forwardQueued(ctx) {
			b.restore(ctx)
		}
	}
}

// flush forwards the queued notifications before the response of a call.
func (b *Bridge) flush() {
	if b.forwardQueued(b.runtime.Work) {
		b.opts.Notices.Restarted() // for notify
	}
}

// forwardQueued forwards the queued notifications. It reports whether the server
// was restarted.
func (b *Bridge) forwardQueued(ctx context.Context) (restarted bool) {
	b.forwarding.Lock()
	defer b.forwarding.Unlock()
	list, restarted, dropped := b.opts.Notices.drain()
	if dropped > 0 {
		b.log.Warn("notifications of the server dropped: it sends more than the space accepts", "dropped", dropped)
	}
	for _, n := range list {
		switch p := n.params.(type) {
		case *mcp.ResourceUpdatedNotificationParams:
			for _, s := range b.listeners.subscribers(p.URI) {
				b.sendNotification(ctx, n.method, paramsOf(p), s.asker, s.envelope, "")
			}
		case *mcp.ProgressNotificationParams:
			token, _ := p.ProgressToken.(string)
			v, _ := b.progress.Load(token)
			x, ok := v.(*progress)
			if !ok {
				continue // the call has ended, or the token is unknown
			}
			theirs := *p
			theirs.ProgressToken = x.token
			b.sendNotification(ctx, n.method, paramsOf(&theirs), x.asker, x.envelope, x.contextPath)
		default:
			var params json.RawMessage
			switch n.method {
			case logMessage:
				params = paramsOf(p)
			case toolsChanged:
				b.toolsChanged()
			}
			b.notifyListeners(ctx, n.method, params)
		}
	}
	return restarted
}

func (b *Bridge) notifyListeners(ctx context.Context, method string, params json.RawMessage) {
	for _, who := range b.listeners.of(method) {
		b.sendNotification(ctx, method, params, who, "", "")
	}
}

// sendNotification sends one notification. A participant unknown to the space
// is removed from the listeners.
func (b *Bridge) sendNotification(ctx context.Context, method string, params json.RawMessage, who protocol.ParticipantID, about protocol.ID, place protocol.ContextPath) {
	env := protocol.Envelope{
		Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{who}, Context: place,
		Payload: mustMarshal(struct {
			JSONRPC string          `json:"jsonrpc"`
			Method  string          `json:"method"`
			Params  json.RawMessage `json:"params,omitempty"`
		}{"2.0", method, params}),
	}
	if about != "" {
		env.Correlation = protocol.CorrelateTo(about)
	}
	_, err := b.opts.Space.Send(ctx, env)
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, &protocol.Error{Code: protocol.CodeUnknownParticipant}):
		b.listeners.forget(who)
	default:
		b.log.Warn("notification not passed on", "method", method, "to", who, "err", err)
	}
}

// restore renews the subscriptions and the log level on a restarted server.
func (b *Bridge) restore(ctx context.Context) {
	for _, uri := range b.listeners.restarted() {
		_, err := b.subscribeAtServer(ctx, &mcp.SubscribeParams{URI: uri})
		if err != nil {
			b.log.Warn("subscription not renewed", "err", err)
			continue
		}
		b.opts.Notices.Put(resourceUpdated, &mcp.ResourceUpdatedNotificationParams{URI: uri}) // it may have changed meanwhile
	}
	if level, ok := b.logLevel.Load().(string); ok {
		if _, err := b.setServerLevel(ctx, level); err != nil {
			b.log.Warn("log level not set again", "err", err)
		}
	}
}
