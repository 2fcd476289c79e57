package bridge

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/protocol"
)

// notify forwards the server's notifications until ctx ends.
func (b *Bridge) notify(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.opts.Notices.ready:
		}
		list, restarted, dropped := b.opts.Notices.drain()
		if dropped > 0 {
			b.log.Warn("notifications of the server dropped: it says more than can be passed on", "dropped", dropped)
		}
		for _, n := range list {
			b.forward(ctx, n)
		}
		if restarted {
			b.restore(ctx)
		}
	}
}

func (b *Bridge) forward(ctx context.Context, n notice) {
	switch p := n.params.(type) {
	case *mcp.ResourceUpdatedNotificationParams:
		for _, s := range b.listeners.subscribers(p.URI) {
			b.sendNotification(ctx, n.method, paramsOf(p), s.asker, s.envelope, "")
		}
	case *mcp.ProgressNotificationParams:
		token, _ := p.ProgressToken.(string)
		x := b.listeners.expected(token)
		if x == nil {
			return // the call has ended, or the token is unknown
		}
		theirs := *p
		theirs.ProgressToken = x.token
		b.sendNotification(ctx, n.method, paramsOf(&theirs), x.asker, x.envelope, x.contextPath)
	default:
		var params json.RawMessage
		if n.method == logMessage {
			params = paramsOf(p)
		}
		b.notifyListeners(ctx, n.method, params)
	}
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
	for _, uri := range b.listeners.uris() {
		_, err := b.opts.Server.Do(ctx, func(ctx context.Context, session *mcp.ClientSession) (mcp.Result, error) {
			return nil, session.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
		})
		if err != nil {
			b.log.Warn("subscription not renewed", "err", err)
		}
	}
	if level := b.listeners.level(); level != "" {
		if _, err := b.setServerLevel(ctx, level); err != nil {
			b.log.Warn("log level not set again", "err", err)
		}
	}
}
