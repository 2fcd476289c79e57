package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"time"
)

const (
	maxAnswer = 256 << 20 // bytes of a complete stream
	maxJSON   = 32 << 20  // bytes of an answer in one document
)

var (
	// ErrStalled: the server sent nothing for too long.
	ErrStalled = errors.New("the model's server has gone silent")
	// ErrTooLarge: an event or an answer exceeds its maximum size.
	ErrTooLarge = errors.New("the answer is too large")

	errClosed = errors.New("the stream is closed")
)

// stream is an incoming answer. next must be called from one goroutine; close
// may be called from any, and more than once.
type stream struct {
	client  *Client
	ctx     context.Context // the caller's
	request context.Context // of this attempt; ends with ErrStalled or errClosed
	cancel  context.CancelCauseFunc
	body    io.ReadCloser
	timer   *time.Timer // cancels request
	idle    time.Duration
	begun   bool  // the first byte has arrived
	left    int64 // remaining bytes of maxAnswer

	events *reader
	json   []byte // the answer of a server that does not stream; it has no events
	isJSON bool
}

// accept selects the form of the answer by its content type.
func (s *stream) accept(contentType string) error {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind = "" // some servers send no type with a stream
	}
	switch {
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		body, err := io.ReadAll(io.LimitReader(s, maxJSON+1))
		if err != nil {
			return err
		}
		if len(body) > maxJSON {
			return fmt.Errorf("%w: more than %d MiB", ErrTooLarge, maxJSON>>20)
		}
		s.json, s.isJSON = body, true
		return nil
	case kind == "text/html":
		return s.webPage()
	}
	s.events = newReader(s, maxEvent)
	return nil
}

// webPage returns the refusal that a page stands for: a proxy whose upstream fails sends one
// with status 200, too.
func (s *stream) webPage() *Error {
	return s.client.Refusal(0, "server_error", "it is a web page, not a model's answer; is the base URL right?")
}

// next returns the next event; the caller owns its Data. At the end of the body
// it returns io.EOF, even if the provider's format does not allow an end there:
// the caller checks that.
//
// Other errors: ErrTruncated for a broken connection, with ErrStalled if the
// server sent nothing for too long; ErrTooLarge; ctx's own.
func (s *stream) next() (ServerEvent, error) {
	if s.events == nil {
		return ServerEvent{}, io.EOF
	}
	return s.events.next()
}

// close ends the stream and discards its unread part.
func (s *stream) close() {
	s.timer.Stop()
	s.cancel(errClosed)
	if s.body != nil {
		_ = s.body.Close() // its unread part is of no use
	}
}

// Read reads the body for the package itself, within the time and size bounds,
// with errors that callers can distinguish. The timer of the first byte runs
// from the request on; later it runs only during a Read, so that a slow caller
// does not end the stream.
func (s *stream) Read(p []byte) (int, error) {
	if s.begun {
		s.timer.Reset(s.idle)
	}
	n, err := s.body.Read(p)
	if n > 0 || err != nil {
		s.timer.Stop()
		s.begun = true
	}
	s.left -= int64(n)
	if s.left < 0 {
		return 0, fmt.Errorf("%w: more than %d MiB", ErrTooLarge, maxAnswer>>20)
	}
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	err = s.explain(err)
	if s.ctx.Err() != nil || errors.Is(err, errClosed) {
		return n, err
	}
	return n, fmt.Errorf("%w: %w", ErrTruncated, err)
}

// explain returns the reason why the connection failed: the end of the caller's
// ctx, a timeout and close all cancel the same request.
func (s *stream) explain(err error) error {
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if cause := context.Cause(s.request); cause != nil {
		return cause
	}
	return s.client.maskError(err)
}
