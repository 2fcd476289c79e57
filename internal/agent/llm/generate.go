package llm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/meup-protocol/meup/internal/kit/textutil"
)

// errEmpty: an answer in one document has no content.
var errEmpty = fmt.Errorf("the answer is empty: %w", ErrTruncated)

// Decoder assembles an answer in a provider's format.
type Decoder interface {
	// Event applies an event, whose data is not blank. It returns true for the
	// last event of an answer.
	Event(ev ServerEvent) (last bool, err error)
	// Document applies an answer in one piece.
	Document(body []byte) error
	// Complete reports whether the answer is complete without further events.
	Complete() bool
	// Response returns the complete answer.
	Response() Response
}

// Generate returns the answer to a request: body is posted as JSON to path, and
// the answer assembled by a new Decoder, which passes each piece to emit. emit
// is nil for a whole answer, of which no piece is wanted.
//
// If the answer ends with an *Error that is temporary, the request is
// retried unless a piece with text was passed on: a server may detect that it is busy only
// during the answer.
//
// Errors: *Error for a refusal (of a busy server: after the last attempt),
// ErrStalled for a server that sends nothing, ErrTruncated for an incomplete
// answer, the Decoder's own, ctx's own, and network errors.
func (c *Client) Generate(ctx context.Context, path string, body any, whole bool, decoder func(emit func(Delta)) Decoder) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var resp Response
		begun, stopped := false, false
		emit := func(d Delta) {
			begun = begun || d.Kind != CallDelta
			stopped = stopped || !yield(Event{Delta: d}, nil)
		}
		if whole {
			emit = nil
		}
		err := c.withRetry(ctx, body, func(payload []byte) (*Error, error) {
			s, refusal, err := c.attempt(ctx, path, payload)
			if s == nil {
				return refusal, err
			}
			defer s.close()
			d := decoder(emit)
			if err := c.decode(s, d, &stopped); err != nil {
				var within *Error
				if !begun && errors.As(err, &within) && within.Temporary() {
					return within, ctx.Err()
				}
				return nil, err
			}
			resp = d.Response()
			return nil, nil
		})
		switch {
		case stopped: // the caller has left the loop
		case err != nil:
			yield(Event{}, err)
		default: // Response may have passed on a last piece
			yield(Event{Response: &resp}, nil)
		}
	}
}

// decode applies the answer to the decoder, until it is complete or stopped is
// true.
func (c *Client) decode(s *stream, d Decoder, stopped *bool) error {
	if s.isJSON {
		err := errEmpty // DeepSeek sends empty lines while a request is in its queue
		if len(bytes.TrimSpace(s.json)) > 0 {
			err = d.Document(s.json)
		}
		return c.readError("", err)
	}
	var split textutil.Halves
	for n := 1; !*stopped; n++ {
		ev, err := s.next()
		switch {
		case err == nil:
		case d.Complete() && (errors.Is(err, io.EOF) || errors.Is(err, ErrTruncated)):
			return nil
		case errors.Is(err, io.EOF) && s.events != nil && s.events.page:
			return s.webPage()
		case errors.Is(err, io.EOF):
			return c.readError("", ErrTruncated)
		default:
			return c.readError("", err)
		}
		if len(bytes.TrimSpace(ev.Data)) == 0 {
			continue
		}
		ev.Data = split.Join(ev.Data)
		last, err := d.Event(ev)
		if last || err != nil {
			return c.readError(fmt.Sprintf(": event %d", n), err)
		}
	}
	return nil
}

// readError names the provider in an error, unless it is a refusal, which names
// it itself.
func (c *Client) readError(at string, err error) error {
	var refusal *Error
	if err == nil || errors.As(err, &refusal) {
		return err
	}
	return fmt.Errorf("read answer of %s%s: %w", c.Provider, at, err)
}

// AdaptRequest returns the answer of ask, and asks again as long as adapt changes the
// request because of the error of an answer that has not begun.
func AdaptRequest(ask func() iter.Seq2[Event, error], adapt func(error) bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		begun := false
		for again := true; again; {
			again = false
			for event, err := range ask() {
				if err != nil && !begun && adapt(err) {
					again = true
					break
				}
				begun = begun || event.Response != nil || event.Kind != CallDelta
				if !yield(event, err) {
					return
				}
			}
		}
	}
}
