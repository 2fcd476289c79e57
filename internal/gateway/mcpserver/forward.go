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
	"github.com/meup-protocol/meup/protocol"
)

// keyMeta is the field of _meta with the key of a request that has no argument
// for it: a second request with the same key is the first one. The id of JSON-RPC is no
// such key: clients count it from 1 in each process.
const keyMeta = "meup/key"

// inquiry is a set of requests that were sent, each to one other participant.
type inquiry struct {
	ids  []protocol.ID
	to   []protocol.ParticipantID // the recipient of each
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
		page, err := c.awaitUntil(ctx, deadline, q)
		if errors.Is(err, errNoneInTime) {
			return got, missing, nil
		}
		if c.pause(ctx, deadline, err) {
			continue
		}
		if err != nil {
			return nil, missing, err
		}
		missing.log = page.Log
		for i := range page.Envelopes {
			e := &page.Envelopes[i]
			if e.Kind == protocol.KindMCPRequest {
				c.Release() // the client may not read
				in.note(e)
				if err := c.Resume(ctx); err != nil {
					return nil, missing, err
				}
				continue
			}
			for i, id := range in.ids {
				if e.From == in.to[i] && e.Correlation.Names(id) && got[id] == nil {
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

// ask sends a request to one participant, and returns its response; nil: there is
// none in time. The cursor is after the response, or at the request.
func (c *caller) ask(ctx context.Context, e *protocol.Envelope, key string, note func(*protocol.Envelope), patience time.Duration) (*protocol.Envelope, cursor, error) {
	receipt, err := c.door.Send(ctx, c.space, *e)
	if err != nil {
		c.abandon(e, key) // it may have been sent
		return nil, cursor{}, err
	}
	in := &inquiry{note: note}
	in.sent(e, receipt.Seq)
	got, at, err := c.answers(ctx, in, time.Now().Add(patience))
	if err != nil {
		c.abandon(e, key)
	}
	return got[e.ID], at, err
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
	if revisionOf(req) < sessionless && method == methodCall {
		r.meta[mcp.MetaKeyLogLevel] = "info" // later revisions send no log messages without it
	}
	return r, nil
}

// relay sends a request of a client to another participant, and returns its
// result. A call that the caller may not make is proposed.
func (c *caller) relay(ctx context.Context, r *relayed) (mcp.Result, error) {
	key, _ := r.meta[keyMeta].(string)
	id, err := c.id(r.method, key, []any{r.host, r.params, key})
	if err != nil {
		return nil, err
	}
	for name, value := range c.asks.meta.Members { // the SDK has rounded its numbers
		if _, given := r.meta[name.Text()]; given && value.Type() != protocol.TypeString {
			r.meta[name.Text()] = json.RawMessage(value.Raw())
		}
	}
	params := maps.Clone(r.params)
	if len(r.meta) > 0 {
		params["_meta"] = encodeJSON(r.meta)
	}
	e := requestTo(r.host, id, r.method, params)
	wait := func(ctx context.Context, note func(*protocol.Envelope)) (*protocol.Envelope, cursor, error) {
		return c.ask(ctx, &e, key, note, c.longest())
	}
	resumed, from, err := r.resumed()
	if err == nil && resumed != "" {
		err = c.answerResumed(ctx, r, resumed)
		e.ID = resumed
		wait = func(ctx context.Context, note func(*protocol.Envelope)) (*protocol.Envelope, cursor, error) {
			in := &inquiry{ids: []protocol.ID{e.ID}, to: e.To, at: from, note: note}
			got, at, err := c.answers(ctx, in, time.Now().Add(c.longest()))
			if err != nil {
				c.abandon(&e, key)
			}
			return got[e.ID], at, err
		}
	}
	if err != nil {
		return nil, refusal(err)
	}
	question, got, at, err := c.untilAsked(ctx, r, e.ID, wait)
	if question != nil {
		return inputRequired(r, e.ID, question), nil
	}
	if errors.Is(err, &protocol.Error{Code: protocol.CodeCapabilityViolation}) && r.method == methodCall {
		return c.proposeInstead(ctx, r, key, err)
	}
	if err != nil {
		return nil, refusal(err)
	}
	if got != nil {
		return forwardedResult(got, revisionOf(r.req))
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
		return nil, refusal(notProposed(cause, err))
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
	text, err = json.Marshal(&mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}})
	if err != nil {
		return nil, err
	}
	return rawResult(text, revisionOf(r.req)), nil
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
		if to := ReportOf(ctx); to != nil && n.Correlation.Names(id) && json.Unmarshal(params, p) == nil {
			to.Send(ctx, p)
		}
	case "notifications/message":
		p := new(mcp.LoggingMessageParams)
		if (n.Correlation.Names(id) || n.AddressedTo(c.you)) && json.Unmarshal(params, p) == nil {
			if data := payload.Get("params").Get("data"); data.Exists() {
				p.Data = json.RawMessage(data.Raw()) // numbers stay as they were written
			}
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
