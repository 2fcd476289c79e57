package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/mcpserver/offer"
	"github.com/meup-protocol/meup/internal/gateway/mcpserver/progress"
	"github.com/meup-protocol/meup/protocol"
)

// keyMeta is the field of _meta with the key of a request that has no argument
// for it: a second request with the same key is the first one.
const keyMeta = "meup/key"

// firstSessionless is the first revision of MCP in which each request names its
// revision.
const firstSessionless = "2026-07-28"

// codeFailed is the JSON-RPC code of errors of the gateway.
const codeFailed = -32000

// inquiry is a set of requests to other participants that were sent.
type inquiry struct {
	ids  []protocol.ID
	to   []protocol.ParticipantID
	at   cursor                   // of the first request
	note func(*protocol.Envelope) // gets the notifications of the recipients; nil: none
}

// sent adds a request.
func (q *inquiry) sent(e *protocol.Envelope, seq protocol.Seq) {
	if len(q.ids) == 0 || seq < q.at.seq {
		q.at.seq = seq
	}
	q.ids, q.to = append(q.ids, e.ID), append(q.to, e.To...)
}

// answers waits until all requests have a response, or until the deadline. The
// cursor is after the last response, or at the first request if one is missing.
func (c *caller) answers(ctx context.Context, in *inquiry, deadline time.Time) (map[protocol.ID]*protocol.Envelope, cursor, error) {
	q := api.EnvelopeQuery{Since: in.at.seq, Log: in.at.log, Kinds: []string{string(protocol.KindMCPResponse)}, From: in.to, Limit: maxMessages}
	if in.note != nil {
		q.Kinds = append(q.Kinds, string(protocol.KindMCPRequest))
	}
	got, missing := make(map[protocol.ID]*protocol.Envelope), in.at
	for {
		err := c.awaitUntil(ctx, deadline, q)
		if errors.Is(err, errNoneInTime) {
			return got, missing, nil
		}
		if err != nil {
			return nil, missing, err
		}
		page, err := c.page(ctx, q)
		if err != nil {
			return nil, missing, err
		}
		missing.log = page.Log
		for i := range page.Envelopes {
			e := &page.Envelopes[i]
			if e.Kind == protocol.KindMCPRequest {
				c.release() // the client may not read
				in.note(e)
				if err := c.resume(ctx); err != nil {
					return nil, missing, err
				}
				continue
			}
			for _, id := range in.ids {
				if e.Correlation.Names(id) && got[id] == nil {
					got[id] = e
				}
			}
			if len(got) == len(in.ids) {
				return got, cursor{e.Seq, page.Log}, nil
			}
		}
		q.Since, q.Log = max(q.Since, page.Next), page.Log
	}
}

// requestTo returns a request to one participant. Without an id, one is
// generated.
func requestTo(host protocol.ParticipantID, id protocol.ID, method string, params any) protocol.Envelope {
	if id == "" {
		id = protocol.ID(uuid.Must(uuid.NewV7()).String())
	}
	return protocol.Envelope{
		ID: id, Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{host},
		Payload: object("jsonrpc", "2.0", "id", string(id), "method", method, "params", params),
	}
}

// forwarded is a result as another participant wrote it: the types of the SDK
// would round numbers and drop unknown fields.
type forwarded struct {
	mcp.ResultBase
	raw        json.RawMessage // an object
	resultType string          // if the participant wrote none
}

// MarshalJSON returns the result.
func (r *forwarded) MarshalJSON() ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(r.raw, &fields); err != nil {
		return nil, err
	}
	if _, ok := fields["resultType"]; !ok && r.resultType != "" {
		fields["resultType"] = offer.Encode(r.resultType)
	}
	if _, ok := fields["cacheScope"]; ok {
		fields["cacheScope"] = offer.Encode("private") // others may have other rights
	}
	if len(r.Meta) > 0 {
		meta := make(map[string]json.RawMessage)
		for name, value := range r.Meta {
			meta[name] = offer.Encode(value)
		}
		if own, ok := fields["_meta"]; ok {
			if err := json.Unmarshal(own, &meta); err != nil { // replaces the same names
				return nil, err
			}
		}
		fields["_meta"] = offer.Encode(meta)
	}
	return json.Marshal(fields)
}

// resultOf returns the result of a response, or its error, for a client of a
// revision.
func resultOf(e *protocol.Envelope, revision string) (*forwarded, error) {
	payload := e.ParsePayload()
	if failed := payload.Get("error"); failed.Exists() {
		out := &jsonrpc.Error{Code: codeFailed, Message: failed.Get("message").Text(), Data: json.RawMessage(failed.Get("data").Raw())}
		_ = json.Unmarshal(failed.Get("code").Raw(), &out.Code) // otherwise codeFailed
		return nil, out
	}
	result := payload.Get("result")
	if result.Type() != protocol.TypeObject {
		return nil, &jsonrpc.Error{Code: codeFailed, Message: fmt.Sprintf("the response of %s has no result", e.From)}
	}
	if revision < firstSessionless && result.Get("resultType").Text() == "input_required" {
		return nil, &jsonrpc.Error{Code: codeFailed, Message: fmt.Sprintf("%s asks for input, which needs a client of revision %s", e.From, firstSessionless)}
	}
	return forwardedOf(result.Raw(), revision), nil
}

// forwardedOf returns a result for a client of a revision: later ones have a type.
func forwardedOf(result []byte, revision string) *forwarded {
	out := &forwarded{raw: result}
	if revision >= firstSessionless {
		out.resultType = "complete"
	}
	return out
}

// relayed is a request of a client that another participant handles.
type relayed struct {
	host   protocol.ParticipantID
	method string
	params map[string]json.RawMessage // without _meta
	meta   map[string]any
	req    mcp.Request
}

// relayedOf returns a request as it goes to a participant.
func relayedOf(host protocol.ParticipantID, method string, req mcp.Request, params mcp.Params) (*relayed, error) {
	r := &relayed{host: host, method: method, params: make(map[string]json.RawMessage), meta: make(map[string]any), req: req}
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	if string(text) == "null" {
		return r, nil // the client sent no params
	}
	if err := json.Unmarshal(text, &r.params); err != nil {
		return nil, err
	}
	delete(r.params, "_meta")
	maps.Copy(r.meta, params.GetMeta())
	if revisionOf(req) < firstSessionless && method == methodCall {
		r.meta[mcp.MetaKeyLogLevel] = "info" // later revisions send no log messages without it
	}
	return r, nil
}

// withMeta returns all params.
func (r *relayed) withMeta() map[string]any {
	all := make(map[string]any)
	for name, value := range r.params {
		all[name] = value
	}
	if len(r.meta) > 0 {
		all["_meta"] = r.meta
	}
	return all
}

// relay sends a request of a client to another participant, and returns its
// result. A call that the caller may not make is proposed.
func (c *caller) relay(ctx context.Context, r *relayed) (mcp.Result, error) {
	key, _ := r.meta[keyMeta].(string)
	id, err := c.id(r.method, key, []any{r.host, r.params, key})
	if err != nil {
		return nil, err
	}
	e := requestTo(r.host, id, r.method, r.withMeta())
	receipt, err := c.client.Send(ctx, c.space, e)
	if errors.Is(err, &protocol.Error{Code: protocol.CodeCapabilityViolation}) && r.method == methodCall {
		return c.proposeInstead(ctx, r, key, err)
	}
	if err != nil {
		return nil, refusal(err)
	}
	in := &inquiry{note: func(n *protocol.Envelope) { c.passOn(ctx, r, e.ID, n) }}
	in.sent(&e, receipt.Seq)
	got, at, err := c.answers(ctx, in, time.Now().Add(c.longest()))
	if err != nil {
		return nil, refusal(err)
	}
	if answer := got[e.ID]; answer != nil {
		return resultOf(answer, revisionOf(r.req))
	}
	if r.method != methodCall {
		return nil, &jsonrpc.Error{Code: codeFailed, Message: fmt.Sprintf("%s has not answered in time", r.host)}
	}
	return notDone(r, &answered{Note: notice, State: callPending, ID: string(e.ID), Cursor: at.String(), Next: awaitResponse})
}

// proposeInstead proposes a call that the caller may not make.
func (c *caller) proposeInstead(ctx context.Context, r *relayed, key string, cause error) (mcp.Result, error) {
	var tool string
	if err := json.Unmarshal(r.params["name"], &tool); err != nil {
		return nil, err
	}
	proposed, err := c.propose(ctx, proposeInput{Participant: string(r.host), Tool: tool, Arguments: r.params["arguments"], Key: key})
	if err != nil {
		return nil, refusal(cause) // it may neither call nor propose
	}
	return notDone(r, &answered{Note: notice, State: callProposed, ID: proposed.ID, Cursor: proposed.Cursor, Next: proposed.Next})
}

// notDone returns the result of a call that has no response. It is an error: a
// client checks every other result against the output schema of the tool.
func notDone(r *relayed, out *answered) (mcp.Result, error) {
	text, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	result, err := json.Marshal(&mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}})
	if err != nil {
		return nil, err
	}
	return forwardedOf(result, revisionOf(r.req)), nil
}

// refusal returns an error of the API as a JSON-RPC error.
func refusal(err error) error {
	var refused *protocol.Error
	if !errors.As(err, &refused) {
		return err
	}
	data, _ := json.Marshal(map[string]any{"error": refused.Code}) // a text
	return &jsonrpc.Error{Code: codeFailed, Message: refused.Message, Data: data}
}

// passOn passes a notification of the participant that handles a request on to
// the client, if it concerns the request.
func (c *caller) passOn(ctx context.Context, r *relayed, id protocol.ID, n *protocol.Envelope) {
	payload := n.ParsePayload()
	session, ok := r.req.GetSession().(*mcp.ServerSession)
	if !ok {
		return
	}
	params := payload.Get("params").Raw()
	switch payload.Get("method").Text() {
	case "notifications/progress":
		p := new(mcp.ProgressNotificationParams)
		if to := progress.Of(ctx); to != nil && n.Correlation.Names(id) && json.Unmarshal(params, p) == nil {
			to.Send(ctx, p)
		}
	case "notifications/message":
		p := new(mcp.LoggingMessageParams)
		if (n.Correlation.Names(id) || n.AddressedTo(c.you)) && json.Unmarshal(params, p) == nil {
			_ = session.Log(ctx, p) //nolint:staticcheck // deprecated from 2026-07-28 on, but servers use it
		}
	}
}

// revisionOf returns the revision of MCP of a request.
func revisionOf(r mcp.Request) string {
	if v, ok := r.(interface{ ProtocolVersion() string }); ok {
		return v.ProtocolVersion()
	}
	return ""
}
