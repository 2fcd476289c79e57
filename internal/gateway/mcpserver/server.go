// Package mcpserver serves a space to MCP clients over Streamable HTTP.
//
// A tool is a request to the gateway's own HTTP API with the caller's token, so
// the caller's capabilities, limits, visibility and redaction apply as
// everywhere else.
package mcpserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/memorytools"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of a request.
const (
	maxBody     = 64 << 10 // bytes
	maxParallel = 8        // calls; each holds a response of up to maxResponse
	bodyTimeout = 15 * time.Second
	callTimeout = 50 * time.Second // clients give up after about a minute
)

// Options configures the server.
type Options struct {
	API     http.Handler // the HTTP API of the gateway
	Origins []string
	Version string
	Logger  *slog.Logger
}

type server struct {
	options Options
	mcp     http.Handler
	slots   chan struct{} // taken by calls in progress
}

// New returns the handler of the route /mcp. The parameter space of the route
// names the space; a token that is good for one space needs none.
func New(o Options) http.Handler {
	s := &server{options: o, slots: make(chan struct{}, maxParallel)}
	s.mcp = mcp.NewStreamableHTTPHandler(s.forCaller, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // CheckHost does it, for all addresses
		Logger:                     o.Logger,
	})
	return s
}

// callerKey is the key of the caller in the context of a request.
type callerKey struct{}

type caller struct {
	client *api.Client
	space  string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if refused := access.CheckHost(r, s.options.Origins); refused != nil {
		access.WriteError(w, refused)
		return
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		w.Header().Set("WWW-Authenticate", "Bearer")
		access.WriteError(w, protocol.Errorf(protocol.CodeUnauthorized, "Send a token: Authorization: Bearer TOKEN."))
		return
	}
	c, err := s.identify(r, token)
	if err != nil {
		if err.Code == protocol.CodeUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		access.WriteError(w, err)
		return
	}
	body, failed := access.ReadBody(w, r, maxBody, bodyTimeout)
	if failed != nil {
		access.WriteError(w, failed)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), callerKey{}, c), callTimeout)
	defer cancel()
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		busy := protocol.Errorf(protocol.CodeTooMany, "The gateway is busy; try again in a moment.")
		busy.RetryAfterMS = 1000
		access.WriteError(w, busy)
		return
	}
	defer func() { <-s.slots }()
	r = r.WithContext(ctx)
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mcp.ServeHTTP(w, r)
}

// identify returns the caller of a request, by the session of its token.
func (s *server) identify(r *http.Request, token string) (*caller, *protocol.Error) {
	client, err := api.New(api.Options{
		URL: "http://gateway.internal", Token: token,
		HTTPClient: &http.Client{Transport: &local{api: s.options.API, outer: r}},
	})
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeUnauthorized, "The token cannot be one of this gateway.")
	}
	session, err := client.Session(r.Context())
	if err != nil {
		return nil, protocol.AsError(err)
	}
	name := r.URL.Query().Get("space")
	if name == "" {
		if len(session.Spaces) != 1 || len(session.Globs) > 0 {
			return nil, access.BadRequest("The token is good for more than one space; add ?space=NAME to the address.")
		}
		name = session.Spaces[0].Name
	} else if session.In(name) == "" {
		if _, err := client.Participants(r.Context(), name); err != nil { // it does not exist, or is not open to the token
			return nil, protocol.AsError(err)
		}
	}
	return &caller{client: client, space: name}, nil
}

// forCaller returns the tools of one request.
func (s *server) forCaller(r *http.Request) *mcp.Server {
	c, _ := r.Context().Value(callerKey{}).(*caller)
	return memorytools.New(memorytools.Options{Memory: c.client, Space: c.space, Version: s.options.Version})
}

// local sends requests to a handler of this process on behalf of a request from
// outside: with its address and the values of its context.
type local struct {
	api   http.Handler
	outer *http.Request
}

// RoundTrip answers a request.
func (l *local) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.outer.Context())) // the values of its connection
	defer cancel()
	defer context.AfterFunc(r.Context(), cancel)()
	inner := r.Clone(ctx)
	inner.RemoteAddr, inner.Host, inner.TLS = l.outer.RemoteAddr, l.outer.Host, l.outer.TLS
	inner.RequestURI = inner.URL.RequestURI()
	w := &response{header: make(http.Header), status: http.StatusOK}
	l.api.ServeHTTP(w, inner)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if w.tooLong {
		return nil, fmt.Errorf("the response has more than %d bytes", maxResponse)
	}
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// maxResponse bounds a response of the API, in bytes.
const maxResponse = 8 << 20

// response keeps the response of a handler.
type response struct {
	header  http.Header
	status  int
	begun   bool
	body    bytes.Buffer
	tooLong bool
}

// Header returns the headers.
func (w *response) Header() http.Header { return w.header }

// WriteHeader sets the status.
func (w *response) WriteHeader(status int) {
	if !w.begun && status >= http.StatusOK {
		w.status, w.begun = status, true
	}
}

// Write appends to the body, up to its bound.
func (w *response) Write(p []byte) (int, error) {
	w.begun = true
	if w.body.Len()+len(p) > maxResponse {
		w.tooLong = true
		return 0, fmt.Errorf("the response has more than %d bytes", maxResponse)
	}
	return w.body.Write(p)
}
