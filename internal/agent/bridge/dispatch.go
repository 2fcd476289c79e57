package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/textutil"

	"github.com/meup-protocol/meup/protocol"
)

type dispatchResult bool

const (
	proceed  dispatchResult = false
	shutdown dispatchResult = true
)

// dispatch handles one received envelope.
func (b *Bridge) dispatch(work context.Context, env *protocol.Envelope) dispatchResult {
	if !env.AddressedTo(b.you) || env.From == b.you {
		return proceed
	}
	switch env.Kind {
	case protocol.KindMCPRequest:
		b.admit(work, env)
	case protocol.KindParticipantShutdown:
		return shutdown
	case protocol.KindParticipantPause:
		b.gate.close(pauseOf(env))
	case protocol.KindParticipantResume:
		b.gate.open()
	case protocol.KindParticipantRequestStatus:
		b.sendAsync(work, protocol.Envelope{
			Kind: protocol.KindParticipantStatus, To: []protocol.ParticipantID{env.From},
			Correlation: protocol.CorrelateTo(env.ID), Payload: b.status(),
		})
	}
	return proceed
}

// pauseOf returns the duration of a pause; 0: until it is resumed.
func pauseOf(env *protocol.Envelope) time.Duration {
	doc, err := protocol.ParseJSON(env.Payload, protocol.MaxDepth)
	if err != nil {
		return 0
	}
	return protocol.PauseDuration(doc.Root())
}

func (b *Bridge) status() json.RawMessage {
	b.mu.Lock()
	calls, begun := len(b.calls), b.begun
	b.mu.Unlock()
	s := struct {
		Status  string `json:"status"`
		Calls   int    `json:"calls"`
		Waiting int    `json:"waiting"`
		Paused  bool   `json:"paused"`
	}{"idle", begun, calls - begun, b.gate.closed()}
	if calls > 0 {
		s.Status = "working"
	}
	return mustMarshal(s)
}

// admit accepts a request, or rejects it at once.
func (b *Bridge) admit(work context.Context, env *protocol.Envelope) {
	doc, err := protocol.ParseJSON(env.Payload, protocol.MaxDepth)
	if err != nil {
		b.log.Warn("request not understood", "envelope", env.ID, "err", err)
		return
	}
	rpc := doc.Root()
	id, method, params := rpc.Get("id"), rpc.Get("method").Text(), rpc.Get("params")
	if strings.HasPrefix(method, "notifications/") || method == "" && !id.Exists() {
		if method == "notifications/cancelled" {
			b.cancelled(env, params)
		}
		return // other notifications are ignored
	}
	callID := id.Raw()
	if !id.Exists() { // MEW clients omit the id
		callID = protocol.AppendString(nil, string(env.ID))
	}
	c := &call{asker: env.From, envelope: env.ID, contextPath: env.Context, id: callID, method: method, params: params}
	run, known := methods[method]
	switch {
	case method == "ping":
		b.sendAsync(work, b.response(c, outcome{result: json.RawMessage(`{}`)}))
	case !known:
		b.sendAsync(work, b.response(c, outcome{fault: &fault{Code: codeNoSuchMethod, Message: "Method not found: " + textutil.Shorten(method, 200)}}))
	case b.accept(work, c):
		b.group.Go(func() {
			defer b.drop(c)
			b.respond(work, c, b.execute(c, run))
		})
	default:
		b.log.Warn("request refused: too many are waiting", "envelope", env.ID, "from", env.From)
		b.sendAsync(work, b.response(c, outcome{fault: b.busy()}))
	}
}

func (b *Bridge) busy() *fault {
	return faultOf(codeFailed, Busy, "busy: too many calls are under way or waiting; retry later")
}

// accept stores a call, unless there are too many.
func (b *Bridge) accept(work context.Context, c *call) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	ofAsker := 0
	for _, other := range b.calls {
		if other.asker == c.asker {
			ofAsker++
		}
	}
	// At most a quarter of the slots per requester, so that slots remain for
	// others.
	places := b.opts.MaxCalls + b.opts.MaxWaiting
	if len(b.calls) >= places || ofAsker >= max(1, places/4) {
		return false
	}
	c.ctx, c.cancel = context.WithCancelCause(work)
	b.calls[c.envelope] = c
	return true
}

func (b *Bridge) drop(c *call) {
	c.cancel(nil)
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.calls, c.envelope)
}

// errCancelled is the cause that ends a call cancelled by its requester.
var errCancelled = errors.New("cancelled by the asker")

// cancelled cancels the calls that a notification names: the call whose
// envelope has the id, or else the requester's calls with that JSON-RPC id.
func (b *Bridge) cancelled(env *protocol.Envelope, params protocol.Value) {
	id := params.Get("requestId")
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.calls[protocol.ID(id.Text())]; c != nil && c.asker == env.From {
		c.cancel(errCancelled)
		return
	}
	for _, c := range b.calls {
		if c.asker == env.From && sameID(c.id, id) {
			c.cancel(errCancelled)
		}
	}
}

// sameID compares JSON-RPC ids: strings by their decoded text, numbers as
// written.
func sameID(raw []byte, id protocol.Value) bool {
	if id.Type() != protocol.TypeString {
		return id.Exists() && string(raw) == string(id.Raw())
	}
	var text string
	return json.Unmarshal(raw, &text) == nil && text == id.Text()
}

// sendAsync sends one short envelope on its own goroutine.
func (b *Bridge) sendAsync(work context.Context, env protocol.Envelope) {
	select {
	case b.asyncSlots <- struct{}{}:
	case <-work.Done():
		return
	}
	b.group.Go(func() {
		defer func() { <-b.asyncSlots }()
		_ = b.send(work, env) // send logs the error
	})
}
