package llmhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"time"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

const (
	maxAnswer = 256 << 20 // bytes of a whole stream
	maxJSON   = 32 << 20  // bytes of an answer in one document
)

var (
	// ErrStalled: the server said nothing for too long.
	ErrStalled = errors.New("the model's server has gone silent")
	// ErrTooLarge: an event, or a whole answer, is larger than any should be.
	ErrTooLarge = errors.New("the answer is too large")

	errClosed = errors.New("the stream is closed")
)

// Stream is an answer as it comes in. Next is called by one goroutine; Close
// may be called by another, and more than once.
type Stream struct {
	client  *Client
	ctx     context.Context // the caller's
	request context.Context // of this attempt; ends with ErrStalled or errClosed
	cancel  context.CancelCauseFunc
	body    io.ReadCloser
	timer   *time.Timer // cancels request
	idle    time.Duration
	begun   bool  // the first byte is there
	left    int64 // bytes that may still come

	events *reader
	json   []byte
	isJSON bool
}

// newStream starts the clock of an attempt.
func newStream(ctx context.Context, c *Client) *Stream {
	s := &Stream{client: c, ctx: ctx, idle: orDefault(c.Idle, defaultIdle), left: maxAnswer}
	s.request, s.cancel = context.WithCancelCause(ctx)
	cancel := s.cancel
	s.timer = time.AfterFunc(orDefault(c.FirstByte, defaultFirstByte), func() { cancel(ErrStalled) })
	return s
}

// accept looks at what kind of answer it is.
func (s *Stream) accept(contentType string) error {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind = "" // some servers name none; their streams are streams all the same
	}
	switch {
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		return s.readJSON()
	case kind == "text/html":
		return errors.New("it is a web page, not a model's answer; is the base URL right?")
	}
	s.events = newReader(s, maxEvent)
	return nil
}

func (s *Stream) readJSON() error {
	body, err := io.ReadAll(io.LimitReader(s, maxJSON+1))
	if err != nil {
		return err
	}
	if len(body) > maxJSON {
		return fmt.Errorf("%w: more than %d MiB", ErrTooLarge, maxJSON>>20)
	}
	s.json, s.isJSON = body, true
	return nil
}

// JSON returns the answer of a server that did not stream. There are no events
// then.
func (s *Stream) JSON() (body []byte, ok bool) { return s.json, s.isJSON }

// Next returns the next event; its Data is the caller's. At the end of the
// body it returns io.EOF, whether or not the provider's format expects an end
// there: that is the caller's to judge.
//
// Other errors: llm.ErrCut for a connection that broke, with ErrStalled where
// the server went silent; ErrTooLarge; ctx's own.
func (s *Stream) Next() (Event, error) {
	if s.events == nil {
		return Event{}, io.EOF
	}
	return s.events.next()
}

// Close ends the stream. Whatever of it has not been read is lost.
func (s *Stream) Close() error {
	s.timer.Stop()
	s.cancel(errClosed)
	if s.body == nil {
		return nil
	}
	return s.body.Close()
}

// Read reads the body for the package itself: under the clock, within the
// bound, with errors that callers can tell apart. The clock of the first byte
// runs since the request; any later one only while it is waited for, so that a
// caller may take its time.
func (s *Stream) Read(p []byte) (int, error) {
	if s.begun {
		s.timer.Reset(s.idle)
	}
	n, err := s.body.Read(p)
	if n > 0 || err != nil {
		s.timer.Stop()
		s.begun = true
	}
	if s.left -= int64(n); s.left < 0 {
		return 0, fmt.Errorf("%w: more than %d MiB", ErrTooLarge, maxAnswer>>20)
	}
	if err != nil && err != io.EOF {
		return n, s.cutOff(err)
	}
	return n, err
}

// cutOff says why an answer that had begun could not be read on.
func (s *Stream) cutOff(err error) error {
	err = s.explain(err)
	if s.ctx.Err() != nil || errors.Is(err, errClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", llm.ErrCut, err)
}

// explain says why the connection failed: the caller's ctx, the clock and Close
// all look like the same cancelled request from inside.
func (s *Stream) explain(err error) error {
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if cause := context.Cause(s.request); cause != nil {
		return cause
	}
	return s.client.maskError(err)
}
