package mcptools

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// httpTransport completes every request and captures results. The SDK's errors contain the
// address of the server. The parts of it that may be secret, the user and the query, are
// therefore added to the requests here, below the SDK.
type httpTransport struct {
	header       http.Header
	user         *url.Userinfo
	query        string
	base         http.RoundTripper
	away         *atomic.Bool // whether the last request has not reached a server
	notice       func(method string, params mcp.Params)
	noticesEnded chan struct{} // receives a token when a stream of notifications ends
}

// RoundTrip sends one request.
func (t *httpTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if req.URL.RawQuery == "" {
		req.URL.RawQuery = t.query
	}
	if t.user != nil {
		password, _ := t.user.Password()
		req.SetBasicAuth(t.user.Username(), password)
	}
	for k, v := range t.header {
		req.Header[k] = v
	}
	resp, err := t.base.RoundTrip(req)
	var network *net.OpError
	if err != nil {
		t.away.Store(errors.As(err, &network) && network.Op == "dial")
		return nil, err
	}
	t.away.Store(slices.Contains([]int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, resp.StatusCode))
	kind, _, malformed := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	hasEvents, hasMessage := kind == "text/event-stream", kind == "application/json"
	switch {
	case hasEvents:
		resp.Body = &eventBody{ReadCloser: resp.Body, notice: t.notice}
	case hasMessage:
		resp.Body = &jsonBody{ReadCloser: resp.Body}
	}
	keep := captureOf(req.Context())
	if keep != nil && (hasEvents || hasMessage) && malformed == nil { // what the SDK reads
		copied := &tee{ReadCloser: resp.Body, events: hasEvents}
		resp.Body = copied
		if add, ok := req.Context().Value(operationKey{}).(func(*tee)); ok {
			add(copied)
		}
		keep.mu.Lock()
		keep.bodies = append(keep.bodies, copied)
		keep.mu.Unlock()
	}
	if req.Header.Get("Mcp-Method") == "subscriptions/listen" {
		resp.Body = &notificationStream{ReadCloser: resp.Body, ctx: req.Context(), ended: t.noticesEnded}
	}
	return resp, nil
}

// notificationStream is the body of a response that carries a server's
// notifications, from revision 2026-07-28 on. The SDK does not notice its end,
// because nothing waits for that call.
type notificationStream struct {
	io.ReadCloser
	ctx          context.Context // of the request; ends when the subscription is no longer needed
	ended        chan<- struct{}
	begun        []byte // the first bytes, until the server has acknowledged
	acknowledged bool
}

// maxBegin bounds the part of the body that must contain the acknowledgment.
const maxBegin = 4096

// Read reads from the body. It is called by one goroutine.
func (l *notificationStream) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if !l.acknowledged && len(l.begun) < maxBegin {
		l.begun = append(l.begun, p[:n]...)
		l.acknowledged = bytes.Contains(l.begun, []byte("notifications/subscriptions/acknowledged"))
	}
	if err != nil && l.acknowledged && l.ctx.Err() == nil {
		select {
		case l.ended <- struct{}{}:
		default:
		}
	}
	return n, err
}
