package client

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/meup-protocol/meup/protocol"
)

// RPCError is the error of a JSON-RPC response.
type RPCError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error returns the message and the code.
func (e *RPCError) Error() string { return fmt.Sprintf("%s (JSON-RPC error %d)", e.Message, e.Code) }

// RequestOptions sets the context and the correlation of a request.
type RequestOptions struct {
	Context     protocol.ContextPath
	Correlation protocol.Correlation
}

// call is a request that awaits its response.
type call struct {
	to   []protocol.ParticipantID
	done chan struct{} // closed once res and err are set
	res  json.RawMessage
	err  error
}

// Request sends an mcp.request to the participants in to and returns the result
// of the first mcp.response of one of them. Responses of others are ignored. to
// must not be empty: with a request to all participants, the sender must choose
// among the responses. Use Send for such a request, and read the responses with
// Receive.
//
// Errors: ErrNoAddressees, *RPCError if the response is an error,
// *protocol.Error if the gateway rejects the request. If ctx ends before the
// response, Request sends MCP's notifications/cancelled to the same
// participants and returns ctx's error.
func (c *Client) Request(ctx context.Context, to []protocol.ParticipantID, method string, params any, opts RequestOptions) (json.RawMessage, error) {
	if len(to) == 0 {
		return nil, fmt.Errorf("request %s: %w", method, ErrNoAddressees)
	}
	id := newID()
	body, err := json.Marshal(struct {
		JSONRPC string      `json:"jsonrpc"`
		ID      protocol.ID `json:"id"`
		Method  string      `json:"method"`
		Params  any         `json:"params,omitempty"`
	}{"2.0", id, method, params})
	if err != nil {
		return nil, fmt.Errorf("request %s: marshal params: %w", method, err)
	}
	draft := protocol.Envelope{
		ID: id, To: to, Kind: protocol.KindMCPRequest, Payload: body,
		Context: opts.Context, Correlation: opts.Correlation,
	}
	w := &call{to: to, done: make(chan struct{})}
	c.mu.Lock()
	c.calls[id] = w
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.calls, id)
	}()
	if err := c.Err(); err != nil { // shutdown may have failed the calls already
		return nil, fmt.Errorf("request %s: %w", method, err)
	}
	p, err := c.SendAsync(ctx, draft)
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", method, err)
	}
	if _, err := p.Wait(ctx); err != nil {
		if ctx.Err() != nil && c.out.withdraw(p, ctx.Err()) {
			c.cancelRequest(draft)
		}
		return nil, fmt.Errorf("request %s: %w", method, err)
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		c.cancelRequest(draft)
		return nil, fmt.Errorf("request %s: %w", method, ctx.Err())
	}
	if w.err != nil {
		return nil, fmt.Errorf("request %s: %w", method, w.err)
	}
	return w.res, nil
}

// cancelRequest notifies the addressees that the request was abandoned. It is
// best effort: it does not wait for an acknowledgement, and sends nothing if
// the outbox is full.
func (c *Client) cancelRequest(request protocol.Envelope) {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0",
		"method":  "notifications/cancelled",
		"params":  map[string]any{"requestId": request.ID, "reason": "no longer waited for"},
	})
	if err != nil {
		return
	}
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_, _ = c.SendAsync(now, protocol.Envelope{
		Kind: protocol.KindMCPRequest, To: request.To, Context: request.Context,
		Correlation: protocol.CorrelateTo(request.ID), Payload: body,
	})
}

// handleResponse completes the call that the response names, if the sender is
// one of its addressees.
func (c *Client) handleResponse(env *protocol.Envelope) {
	c.mu.Lock()
	var w *call
	for _, id := range env.Correlation.IDs {
		if x := c.calls[id]; x != nil && slices.Contains(x.to, env.From) {
			w = x
			delete(c.calls, id)
			break
		}
	}
	c.mu.Unlock()
	if w == nil {
		return
	}
	body, err := payload[struct {
		Result json.RawMessage `json:"result"`
		Error  *RPCError       `json:"error"`
	}](env)
	switch {
	case err != nil:
		w.err = err
	case body.Error != nil:
		w.err = body.Error
	default:
		w.res = body.Result
	}
	close(w.done)
}
