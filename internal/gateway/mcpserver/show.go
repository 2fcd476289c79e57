package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/protocol"
)

// shown is what a participant that is shown alone returned to initialize.
type shown struct {
	about mcp.InitializeResult
	at    time.Time
}

// relayedMethods are the methods that the participant itself handles.
var relayedMethods = []string{
	methodList, methodCall,
	"resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe",
	"prompts/list", "prompts/get", "completion/complete", "logging/setLevel",
}

// show chooses the server for a request to one participant, and brings it up to
// date if the request needs it.
func (v *view) show(ctx context.Context, c *caller) error {
	v.mu.Lock()
	c.mcp = v.server
	_, known := v.foreign[c.asks.name]
	v.mu.Unlock()
	about := slices.Contains([]string{"initialize", "server/discover", methodListen}, c.asks.method)
	if c.mcp != nil && !about && (known || c.asks.method != methodCall) {
		return nil
	}
	if err := v.lock(ctx, c); err != nil {
		return err
	}
	defer v.unlock()
	if err := v.introduce(ctx, c); err != nil {
		return err
	}
	if v.shown.about.Capabilities.Tools != nil {
		if err := v.directory.update(ctx, c, []protocol.ParticipantID{c.of}, c.server.listWait); err != nil {
			return err
		}
	}
	tools := make(map[string]foreign)
	if l := v.directory.lists[c.of]; l != nil {
		for _, t := range l.Tools {
			shown := *t
			shown.Name = textutil.ToolName(t.Name)
			tools[shown.Name] = foreign{c.of, t.Name, &shown}
		}
	}
	version := versionOf(tools)
	own := sha256.Sum256(append(version[:], encodeJSON(v.shown.about)...))
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.server == nil || own != v.version {
		v.build(c.serverOf(v.shown), own, tools) // the tools, for the headers that a call of them must have
	}
	c.mcp = v.server
	if c.asks.method == methodListen {
		c.mcp, c.shown = c.serverOf(v.shown), &v.shown.about
	}
	return nil
}

// introduce asks the participant what it offers, unless that is known.
func (v *view) introduce(ctx context.Context, c *caller) error {
	if v.shown != nil && time.Since(v.shown.at) < listAge {
		return nil
	}
	present, err := c.client.Participants(ctx, c.space)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(present, func(p protocol.Participant) bool { return p.ID == c.of }) {
		return protocol.Errorf(protocol.CodeNotFound, "No participant %s is connected to this space.", c.of)
	}
	e := requestTo(c.of, "", "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": struct{}{}, "clientInfo": map[string]string{"name": "meup", "version": c.server.options.Version},
	})
	receipt, err := c.door.Send(ctx, c.space, e)
	if errors.Is(err, &protocol.Error{Code: protocol.CodeCapabilityViolation}) {
		return v.introduceTools(ctx, c, err)
	}
	if err != nil {
		return err
	}
	in := new(inquiry)
	in.sent(&e, receipt.Seq)
	got, _, err := c.answers(ctx, in, time.Now().Add(c.server.listWait))
	if err != nil {
		return err
	}
	if got[e.ID] == nil {
		return c.silent()
	}
	answer, err := forwardedResult(got[e.ID], "")
	if err != nil {
		return protocol.Errorf(protocol.CodeNotFound, "The participant %s offers no MCP server: %s", c.of, err)
	}
	s := &shown{at: time.Now()}
	if err := json.Unmarshal(answer.JSON, &s.about); err != nil || s.about.Capabilities == nil {
		return protocol.Errorf(protocol.CodeNotFound, "The participant %s offers no MCP server.", c.of)
	}
	v.shown = s
	c.server.keep(c, v)
	return nil
}

// introduceTools shows only the tools of the participant, to a caller that may not send it
// initialize. If the caller may not list them either, or there are none, the error is that of initialize, refused.
func (v *view) introduceTools(ctx context.Context, c *caller, refused error) error {
	if err := v.directory.update(ctx, c, []protocol.ParticipantID{c.of}, c.server.listWait); err != nil {
		return err
	}
	if _, late := v.directory.late[c.of]; late {
		return c.silent()
	}
	if len(v.directory.lists[c.of].Tools) == 0 {
		return refused
	}
	v.shown = &shown{at: time.Now(), about: mcp.InitializeResult{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}}}}
	c.server.keep(c, v)
	return nil
}

// silent returns the error for a participant that is shown alone and does not answer.
func (c *caller) silent() error {
	return protocol.Errorf(protocol.CodeUnavailable, "The participant %s has not answered in time.", c.of)
}

// serverOf returns the server that shows one participant.
func (c *caller) serverOf(s *shown) *mcp.Server {
	about := s.about.ServerInfo
	if about == nil {
		about = &mcp.Implementation{Name: string(c.of), Version: c.server.options.Version}
	}
	text, _ := bounded(s.about.Instructions, maxDescription)
	if text != "" {
		text = fmt.Sprintf("Instructions of the participant %s of the space %s: %s", c.of, c.space, text)
	}
	server := mcp.NewServer(about, &mcp.ServerOptions{
		Instructions: text, Capabilities: s.about.Capabilities, SetCacheable: private,
		SubscribeHandler: func(ctx context.Context, r *mcp.SubscribeRequest) error {
			c := callerOf(ctx)
			relayed, err := relayedOf(c.of, "resources/subscribe", r, r.Params)
			if err == nil {
				_, err = c.relay(ctx, relayed)
			}
			return err
		},
		UnsubscribeHandler: func(ctx context.Context, r *mcp.UnsubscribeRequest) error {
			c := callerOf(ctx)
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listTimeout) // the request has ended
			defer cancel()
			_, err := c.door.Send(ctx, c.space, requestTo(c.of, "", "resources/unsubscribe", map[string]any{"uri": r.Params.URI}))
			return err // the response is not awaited
		},
	})
	server.AddReceivingMiddleware(relayAll)
	return server
}

// relayAll passes the requests on that the participant handles.
func relayAll(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		c := callerOf(ctx)
		ctx, stop := c.endWith(ctx)
		defer stop()
		if p, ok := req.GetParams().(*mcp.SubscriptionsListenParams); ok {
			return c.listen(ctx, p, func(ctx context.Context) (mcp.Result, error) { return next(ctx, method, req) })
		}
		if !slices.Contains(relayedMethods, method) {
			return next(ctx, method, req)
		}
		params := req.GetParams()
		if p, ok := params.(*mcp.CallToolParamsRaw); ok {
			if f, ok := c.foreign(p.Name); ok {
				renamed := *p
				renamed.Name = f.name
				params = &renamed
			}
		}
		r, err := relayedOf(c.of, method, req, params)
		if err != nil {
			return nil, err
		}
		out, err := c.relay(WithReport(ctx, req, r.meta), r)
		if list, ok := out.(*forwarded); ok && err == nil && method == methodList {
			list.JSON = withLegalNames(list.JSON)
		}
		return out, err
	}
}

// withLegalNames returns the result of tools/list with the names that MCP clients
// accept. It is unchanged if it has no others.
func withLegalNames(list json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	var tools []map[string]json.RawMessage
	if json.Unmarshal(list, &fields) != nil || json.Unmarshal(fields["tools"], &tools) != nil {
		return list
	}
	changed := false
	for _, tool := range tools {
		var name string
		if json.Unmarshal(tool["name"], &name) != nil || textutil.ToolName(name) == name {
			continue
		}
		tool["name"], changed = encodeJSON(textutil.ToolName(name)), true
	}
	if !changed {
		return list
	}
	fields["tools"] = encodeJSON(tools)
	return encodeJSON(fields)
}
