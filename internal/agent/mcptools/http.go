package mcptools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// overHTTP returns the transport to a server that uses streamable HTTP. The
// SDK's errors contain its address. The parts of the address that may be
// secret, the user and the query, are therefore added to the requests below the
// SDK.
func (s *server) overHTTP() (mcp.Transport, <-chan struct{}, error) {
	u, err := url.Parse(s.config.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("parse URL of the tool server: %w", err)
	}
	t := &httpTransport{header: s.config.Header, user: u.User, query: u.RawQuery, base: s.http, away: &s.away, notice: s.notice, noticesEnded: make(chan struct{}, 1)}
	u.User, u.RawQuery = nil, ""
	return &mcp.StreamableClientTransport{
		Endpoint:     u.String(),
		HTTPClient:   &http.Client{Transport: t},
		MaxEventSize: maxLine,
	}, t.noticesEnded, nil
}

// httpTransport completes every request and captures results.
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
	switch kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind {
	case "text/event-stream":
		resp.Body = &eventBody{ReadCloser: resp.Body, notice: t.notice}
	case "application/json":
		resp.Body = &jsonBody{ReadCloser: resp.Body}
	}
	captureBody(req.Context(), resp) // what the SDK reads
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
