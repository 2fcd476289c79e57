package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// listener is a stream of notifications to a client. It has a server of its own,
// whose changes the SDK sends to the client.
type listener struct {
	c      *caller
	server *mcp.Server
	want   *mcp.NotificationSubscriptions
	have   map[string]foreign // tools of server
}

var errTooManySubscriptions = errors.New("too many resources in one subscription")

// maxSubscribed bounds the resources of one stream.
const maxSubscribed = 64

// listen runs a stream of notifications until the client or the gateway ends it.
func (c *caller) listen(ctx context.Context, p *mcp.SubscriptionsListenParams, next func(context.Context) (mcp.Result, error)) (mcp.Result, error) {
	if p.Notifications == nil {
		return next(ctx) // an error
	}
	if len(p.Notifications.ResourceSubscriptions) > maxSubscribed {
		return nil, errTooManySubscriptions
	}
	l := &listener{c: c, server: c.mcp, want: p.Notifications, have: c.listening}
	at, err := c.position(ctx, "", api.EnvelopeQuery{})
	if err != nil {
		return nil, err
	}
	if err := l.register(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan error, 1)
	go func() { // ends with ctx; listen waits for it
		defer cancel()
		watched <- c.Await(ctx, func(ctx context.Context) error { return l.watch(ctx, at) })
	}()
	result, err := next(ctx)
	cancel()
	if failed := <-watched; errors.Is(failed, ErrManyWaiting) {
		return nil, failed
	}
	return result, err
}

// register requests the lists whose changes the one participant that is shown is
// to report: it reports them to the participants that requested them.
func (l *listener) register(ctx context.Context) error {
	if l.c.of == "" {
		return nil
	}
	caps, in := l.c.shown.Capabilities, new(inquiry)
	for method, wanted := range map[string]bool{
		methodList:       l.want.ToolsListChanged && caps.Tools != nil,
		"prompts/list":   l.want.PromptsListChanged && caps.Prompts != nil,
		"resources/list": l.want.ResourcesListChanged && caps.Resources != nil,
	} {
		if !wanted {
			continue
		}
		e := requestTo(l.c.of, "", method, map[string]any{})
		receipt, err := l.c.door.Send(ctx, l.c.space, e)
		if err != nil {
			return refusal(err)
		}
		in.sent(&e, receipt.Seq)
	}
	if len(in.ids) == 0 {
		return nil
	}
	_, _, err := l.c.answers(ctx, in, time.Now().Add(l.c.server.listWait))
	return err
}

// watch reads the events of the space, from the cursor on, and changes the server
// accordingly.
func (l *listener) watch(ctx context.Context, at cursor) error {
	q := api.EnvelopeQuery{Since: at.seq, Log: at.log}
	if l.c.of != "" {
		q.Kinds, q.From = []string{string(protocol.KindMCPRequest)}, []protocol.ParticipantID{l.c.of}
	} else if len(l.want.ResourceSubscriptions) == 0 {
		q.Kinds = []string{string(protocol.KindMCPRequest), string(protocol.KindMCPResponse), string(protocol.KindSystemPresence)}
	}
	if l.c.of == "" && l.c.server.view(l.c).awaits("") { // it may have answered before the cursor
		if err := l.c.Resume(ctx); err != nil {
			return err
		}
		l.tools(ctx)
		l.c.Release()
	}
	return l.c.client.Events(ctx, l.c.space, q, func(e *api.Event) bool {
		if err := l.c.Resume(ctx); err != nil {
			return false
		}
		defer l.c.Release()
		switch {
		case e.Name == "envelope" && e.ID != "":
			env, err := protocol.DecodeDelivered(e.Data)
			if err != nil {
				return true // too long to be a notification
			}
			l.envelope(ctx, &env)
		case e.Name == "presence" && l.c.of == "" && l.changesTools(e), e.Name == "system":
			l.tools(ctx)
		}
		return ctx.Err() == nil
	})
}

// changesTools reports whether the presence of a participant concerns tools: it offers
// some, or has left and did. Each call of a client that does not listen is a join and a
// leave of its participant.
func (l *listener) changesTools(e *api.Event) bool {
	var p protocol.Presence
	if env, err := protocol.DecodeDelivered(e.Data); err != nil || json.Unmarshal(env.Payload, &p) != nil {
		return true
	}
	if p.Event != "leave" {
		return slices.Contains(p.Participant.Serves, protocol.ServesTools)
	}
	for _, f := range l.have {
		if f.host == p.Participant.ID {
			return true
		}
	}
	return false
}

func (l *listener) envelope(ctx context.Context, e *protocol.Envelope) {
	if e.Kind == protocol.KindMCPRequest && e.AddressedTo(l.c.you) {
		if l.c.of != "" {
			l.notified(ctx, e)
			return
		}
		if methodOf(e) == toolsChanged {
			l.tools(ctx)
		}
	}
	if e.Kind == protocol.KindMCPResponse && e.AddressedTo(l.c.you) && l.c.of == "" && l.c.server.view(l.c).awaits(e.From) {
		l.tools(ctx)
	}
	closes := e.Kind.ClosesContext()
	changed := map[string]bool{contextsURI: e.Kind == protocol.KindReasoningStart || closes}
	switch e.Kind {
	case protocol.KindMCPRequest:
		changed[proposalsURI] = len(e.Correlation.IDs) > 0 // it settles a proposal
	case protocol.KindMCPProposal, protocol.KindMCPWithdraw, protocol.KindMCPReject:
		changed[proposalsURI] = true
	default:
		changed[proposalsURI] = closes
	}
	if slices.ContainsFunc(l.want.ResourceSubscriptions, func(uri string) bool { return strings.HasPrefix(uri, threadsURI) }) {
		if of, err := l.c.client.TurnOf(ctx, l.c.space, e.ID); err == nil {
			changed[threadsURI+string(of.ThreadID)] = true
		}
	}
	for _, uri := range l.want.ResourceSubscriptions {
		if changed[uri] {
			l.updated(ctx, uri)
		}
	}
}

// updated tells the client that a resource has changed. It needs no slot; the
// client may not read.
func (l *listener) updated(ctx context.Context, uri string) {
	l.c.Release()
	_ = l.server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri}) // it returns nil
}

// tools brings the tools of the server up to date.
func (l *listener) tools(ctx context.Context) {
	if l.c.of != "" || !l.want.ToolsListChanged {
		return
	}
	v := l.c.server.view(l.c)
	if v.refresh(ctx, l.c) != nil {
		return // the stream ends
	}
	now := v.tools()
	for name, f := range l.have {
		if _, ok := now[name]; !ok {
			l.server.RemoveTools(name)
			delete(l.have, f.tool.Name)
		}
	}
	for name, f := range now {
		if had, ok := l.have[name]; !ok || string(encodeJSON(had.tool)) != string(encodeJSON(f.tool)) {
			addForeign(l.server, f)
			l.have[name] = f
		}
	}
}

// notified passes on a notification of the one participant that is shown. A
// feature that is replaced makes the SDK send that a list has changed.
func (l *listener) notified(ctx context.Context, e *protocol.Envelope) {
	switch methodOf(e) {
	case toolsChanged:
		l.server.AddTool(&mcp.Tool{Name: "changed", InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
	case "notifications/prompts/list_changed":
		l.server.AddPrompt(&mcp.Prompt{Name: "changed"}, nil)
	case "notifications/resources/list_changed":
		l.server.AddResource(&mcp.Resource{Name: "changed", URI: "meup://changed"}, nil)
	case "notifications/resources/updated":
		if uri := e.ParsePayload().Get("params").Get("uri").Text(); uri != "" {
			l.updated(ctx, uri)
		}
	}
}
