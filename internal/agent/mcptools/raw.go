package mcptools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/mcp/elicit"
)

// capture stores the result of one call as the server wrote it. The SDK's types
// would round large numbers and drop unknown fields. It is passed in the call's
// context, which every transport receives.
type capture struct {
	mu     sync.Mutex
	result json.RawMessage
	bodies []*tee // of HTTP responses
}

type captureKey struct{}

func captureOf(ctx context.Context) *capture {
	c, _ := ctx.Value(captureKey{}).(*capture)
	return c
}

func (c *capture) set(result json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result = result
}

func (c *capture) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result, c.bodies = nil, nil
}

// raw returns the result captured last, or nil.
func (c *capture) raw() json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.bodies {
		if result := t.response(); result != nil {
			c.result = result
		}
	}
	return c.result
}

// tapped is a transport over pipes that fills captures. It also wraps a
// server's own errors: the SDK compares error codes by number and would treat
// some of them as the end of the connection.
type tapped struct {
	mcp.Transport
	// notice receives progress and log messages in their order with responses,
	// which the SDK does not keep.
	notice func(method string, params mcp.Params)
	// asked receives the params of the server's questions.
	asked func(params json.RawMessage)
}

// Connect connects the underlying transport.
func (t tapped) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &tappedConn{Connection: conn, notice: t.notice, asked: t.asked, writing: make(chan struct{}, 1), calls: make(map[jsonrpc.ID]waiter)}, nil
}

type tappedConn struct {
	mcp.Connection
	notice  func(method string, params mcp.Params)
	asked   func(params json.RawMessage)
	writing chan struct{} // has a place for one message

	mu    sync.Mutex
	calls map[jsonrpc.ID]waiter // in progress
}

type waiter struct {
	keep *capture
	stop func() bool // stops the removal on cancellation
}

// Write registers the capture of a call. It returns when ctx ends, also if the server does
// not read: the rest of the message is written when it does, or never.
func (c *tappedConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	req, isRequest := msg.(*jsonrpc.Request)
	keep := captureOf(ctx)
	if isRequest && req.IsCall() && keep != nil {
		c.mu.Lock()
		c.calls[req.ID] = waiter{keep, context.AfterFunc(ctx, func() { c.take(req.ID) })}
		c.mu.Unlock()
	}
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	written := make(chan error, 1)
	go func() { // ends with the connection
		err := c.Connection.Write(context.WithoutCancel(ctx), msg)
		<-c.writing
		written <- err
	}()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Read stores the result of a response in the capture of its call.
func (c *tappedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if req, ok := msg.(*jsonrpc.Request); ok && err == nil && !req.IsCall() {
		pass(req, c.notice)
	} else if ok && err == nil && req.Method == elicit.Method && c.asked != nil {
		c.asked(req.Params)
	}
	res, isResponse := msg.(*jsonrpc.Response)
	if err != nil || !isResponse {
		return msg, err
	}
	if keep := c.take(res.ID); keep != nil {
		keep.set(res.Result)
	}
	var refusal *jsonrpc.Error
	if errors.As(res.Error, &refusal) {
		res.Error = &serverError{refusal}
	}
	return res, nil
}

// pass passes progress and log messages on, with the numbers as the server wrote them.
func pass(req *jsonrpc.Request, notice func(method string, params mcp.Params)) {
	switch req.Method {
	case progressMade:
		params := new(mcp.ProgressNotificationParams)
		if json.Unmarshal(req.Params, params) == nil {
			notice(req.Method, params)
		}
	case logMessage:
		params := new(mcp.LoggingMessageParams)
		var written struct {
			Data json.RawMessage `json:"data"`
		}
		if json.Unmarshal(req.Params, params) == nil && json.Unmarshal(req.Params, &written) == nil {
			params.Data = written.Data
			notice(req.Method, params)
		}
	}
}

func (c *tappedConn) take(id jsonrpc.ID) *capture {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, found := c.calls[id]
	if !found {
		return nil
	}
	w.stop()
	delete(c.calls, id)
	return w.keep
}

// serverError is an error from or to the server that equals no error of the SDK.
type serverError struct{ refusal *jsonrpc.Error }

// Error returns the message.
func (e *serverError) Error() string { return e.refusal.Message }

// As returns the refusal, for errors.As.
func (e *serverError) As(target any) bool {
	t, ok := target.(**jsonrpc.Error)
	if ok {
		*t = e.refusal
	}
	return ok
}

// tee keeps a copy of the bytes read from a body.
type tee struct {
	io.ReadCloser
	events bool

	mu   sync.Mutex
	kept []byte
	over bool // the body exceeds maxLine
}

// Read reads from the body.
func (t *tee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.kept)+n > maxLine {
		t.over, t.kept = true, nil
	}
	if !t.over {
		t.kept = append(t.kept, p[:n]...)
	}
	return n, err
}

// response returns the result in the bytes read so far, or nil.
func (t *tee) response() json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.events {
		return resultIn(t.kept)
	}
	for data := range eventData(t.kept) {
		if result := resultIn(data); result != nil {
			return result
		}
	}
	return nil
}

// eventBody is a stream of events, whose messages are repaired. It passes on the progress and log
// messages before the SDK reads what follows them.
type eventBody struct {
	io.ReadCloser
	notice func(method string, params mcp.Params)

	event   []byte // read of the current event
	scanned int    // the part of event without its end
	over    bool   // the event exceeds maxLine
	ready   []byte // to be returned by Read
	err     error  // of reading, after ready
}

// Read reads from the body. It is called by one goroutine.
func (b *eventBody) Read(p []byte) (int, error) {
	for len(b.ready) == 0 && b.err == nil && len(p) > 0 {
		var n int
		n, b.err = b.ReadCloser.Read(p)
		b.event = append(b.event, p[:n]...)
		b.divide()
	}
	n := copy(p, b.ready)
	b.ready = b.ready[n:]
	if len(b.ready) > 0 {
		return n, nil
	}
	return n, b.err
}

// divide makes ready what is complete.
func (b *eventBody) divide() {
	for {
		end, next := eventEnd(b.event, b.scanned)
		if end < 0 {
			break
		}
		if b.over {
			b.ready = append(b.ready, b.event[:next]...)
		} else {
			b.passOn(b.event[:end])
			b.ready = append(b.ready, repairedEvent(b.event[:next])...)
		}
		b.event, b.scanned, b.over = b.event[next:], 0, false
	}
	b.scanned = max(0, len(b.event)-len("\n\r"))
	switch {
	case b.err != nil:
		b.ready, b.event = append(b.ready, b.event...), nil
	case len(b.event) > maxLine:
		b.ready = append(b.ready, b.event[:b.scanned]...)
		b.event, b.scanned, b.over = b.event[b.scanned:], 0, true
	}
}

// passOn passes on the progress and log messages of an event.
func (b *eventBody) passOn(event []byte) {
	if !bytes.Contains(event, []byte(progressMade)) && !bytes.Contains(event, []byte(logMessage)) {
		return
	}
	for data := range eventData(event) {
		msg, err := jsonrpc.DecodeMessage(data)
		if req, ok := msg.(*jsonrpc.Request); ok && err == nil && !req.IsCall() {
			pass(req, b.notice)
		}
	}
}

// eventEnd returns the end of the first event at from or later, and the begin of the next
// one; -1: there is none.
func eventEnd(stream []byte, from int) (end, next int) {
	end = -1
	for _, blank := range []string{"\n\n", "\n\r\n"} {
		if i := bytes.Index(stream[from:], []byte(blank)); i >= 0 && (end < 0 || from+i < end) {
			end, next = from+i, from+i+len(blank)
		}
	}
	return end, next
}

// eventData yields the data of each event of a stream.
func eventData(stream []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		text := bytes.ReplaceAll(stream, []byte("\r\n"), []byte("\n"))
		for event := range bytes.SplitSeq(text, []byte("\n\n")) {
			var data [][]byte
			for line := range bytes.SplitSeq(event, []byte("\n")) {
				if rest, found := bytes.CutPrefix(line, []byte("data:")); found {
					data = append(data, bytes.TrimPrefix(rest, []byte(" ")))
				}
			}
			if !yield(bytes.Join(data, []byte("\n"))) {
				return
			}
		}
	}
}

func resultIn(message []byte) json.RawMessage {
	if len(message) == 0 {
		return nil
	}
	msg, err := jsonrpc.DecodeMessage(message)
	if err != nil {
		return nil
	}
	res, ok := msg.(*jsonrpc.Response)
	if !ok {
		return nil
	}
	return res.Result
}
