package adapter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// NewClient returns a client of the gateway's own HTTP API, for an adapter in the same
// process. Its requests reach the handler without a network, with a token and with the
// address, the host and the connection of the outer request, so the API checks them as
// any others. The log gets the panics of the handler.
func NewClient(handler http.Handler, outer *http.Request, token string, log *slog.Logger) (*api.Client, error) {
	return api.New(api.Options{
		URL: "http://gateway.internal", Token: token,
		HTTPClient: &http.Client{Transport: &local{api: handler, outer: outer, log: log}},
	})
}

// local sends requests to a handler of this process on behalf of a request from
// outside: with its address and the values of its context.
type local struct {
	api   http.Handler
	outer *http.Request
	log   *slog.Logger
}

// unfinished returns the error for a request that the API has not answered: the gateway
// stops, or the request outside has ended.
func unfinished(cause error) error {
	return errors.Join(protocol.Errorf(protocol.CodeUnavailable, "The gateway could not finish the request; send it again."), cause)
}

// RoundTrip answers a request.
func (l *local) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.outer.Context())) // the values of its connection
	stop := context.AfterFunc(r.Context(), cancel)
	inner := r.Clone(ctx)
	inner.RemoteAddr, inner.Host, inner.TLS = l.outer.RemoteAddr, l.outer.Host, l.outer.TLS
	inner.RequestURI = inner.URL.RequestURI()
	if r.Header.Get("Accept") == "text/event-stream" {
		return l.stream(r, inner, func() { stop(); cancel() })
	}
	defer cancel()
	defer stop()
	w := &response{header: make(http.Header), status: http.StatusOK}
	failed := guard(l.log, r.URL.Path, func() { l.api.ServeHTTP(w, inner) })
	if err := r.Context().Err(); err != nil {
		return nil, unfinished(err)
	}
	if failed != nil {
		return nil, failed
	}
	if w.tooLong {
		return nil, ErrResponseTooLong
	}
	return responseTo(r, w.status, w.header, io.NopCloser(&w.body), int64(w.body.Len())), nil
}

// guard calls a handler or an operation of the API. A panic becomes an error, as the HTTP
// server recovers from it: with http.ErrAbortHandler, a handler ends a response that it
// cannot complete.
func guard(log *slog.Logger, name string, call func()) (err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if aborted, ok := p.(error); ok && errors.Is(aborted, http.ErrAbortHandler) {
			err = unfinished(aborted)
			return
		}
		log.Error("the API panicked", "path", name, "panic", p, "stack", string(debug.Stack()))
		err = fmt.Errorf("the API aborted its response: %v", p)
	}()
	call()
	return nil
}

func responseTo(r *http.Request, status int, header http.Header, body io.ReadCloser, length int64) *http.Response {
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: body, ContentLength: length, Request: r,
	}
}

// maxResponse bounds a response of the API, in bytes.
const maxResponse = 8 << 20

// ErrResponseTooLong means that a response exceeds the bound.
var ErrResponseTooLong = fmt.Errorf("the response has more than %d bytes", maxResponse)

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
		return 0, ErrResponseTooLong
	}
	return w.body.Write(p)
}

// stream answers with a body that is read while the handler writes it. Closing
// the body ends the handler and waits for it.
func (l *local) stream(r, inner *http.Request, cancel func()) (*http.Response, error) {
	body, out := io.Pipe()
	w := &streamed{header: make(http.Header), out: out, begun: make(chan int, 1)}
	done := make(chan struct{})
	go func() { // ends with the body, which waits for it
		defer close(done)
		err := guard(l.log, r.URL.Path, func() { l.api.ServeHTTP(w, inner) })
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
		w.WriteHeader(http.StatusOK)
		_ = out.CloseWithError(err) // it returns nil
	}()
	end := func() error {
		cancel()
		_ = body.Close()
		<-done
		return nil
	}
	select {
	case status := <-w.begun:
		if r.Context().Err() == nil { // a handler that ended with the request has not answered it
			return responseTo(r, status, w.header.Clone(), &streamBody{body, end}, -1), nil
		}
	case <-r.Context().Done():
	}
	return nil, unfinished(errors.Join(r.Context().Err(), end()))
}

type streamBody struct {
	io.Reader
	end func() error
}

// Close ends the stream.
func (b *streamBody) Close() error { return b.end() }

// streamed forwards the bytes that a handler writes.
type streamed struct {
	header http.Header
	out    *io.PipeWriter
	once   sync.Once
	begun  chan int // the status, once
}

// Header returns the headers.
func (w *streamed) Header() http.Header { return w.header }

// WriteHeader sets the status.
func (w *streamed) WriteHeader(status int) {
	if status >= http.StatusOK {
		w.once.Do(func() { w.begun <- status })
	}
}

// Write waits until the reader has taken the bytes, or has closed the body.
func (w *streamed) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.out.Write(p)
}

// FlushError does nothing: the bytes are handed on at once.
func (w *streamed) FlushError() error { return nil }
