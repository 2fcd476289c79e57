package access

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// HoldBody lets nothing wait for the body of a request: reading it fails until
// OpenBody, and a connection with an unread body is closed after the response.
// The HTTP server would wait for the rest of the body otherwise, for as long as
// the client likes. HTTP/2 resets the one stream instead.
func HoldBody(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody || r.ProtoMajor != 1 {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // a recorder in a test has none
}

// Body is the body of a request. Read returns an *http.MaxBytesError beyond its
// limit, and a timeout when the body does not arrive in time. Once it is read
// to its end, the connection is kept for further requests.
type Body struct {
	body  io.Reader
	w     http.ResponseWriter
	ended bool
}

// OpenBody lets a handler read the body of a request: so many bytes at most,
// which have to arrive within the timeout. Close must be called before the
// handler returns.
func OpenBody(w http.ResponseWriter, r *http.Request, limit int64, timeout time.Duration) *Body {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeout)) // a recorder in a test has none
	return &Body{body: http.MaxBytesReader(w, r.Body, limit), w: w}
}

// Read reads from the body.
func (b *Body) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if errors.Is(err, io.EOF) && !b.ended {
		b.ended = true
		b.w.Header().Del("Connection")
		_ = http.NewResponseController(b.w).SetReadDeadline(time.Time{}) // as in OpenBody
	}
	return n, err
}

// Close ends the reading: nothing waits for the rest.
func (b *Body) Close() {
	if !b.ended {
		_ = http.NewResponseController(b.w).SetReadDeadline(time.Now()) // as in OpenBody
	}
}

// Discard reads the rest of the body, within its limit and for discardTimeout at
// most, and returns its size: many clients read no answer before they have sent
// all of their request.
func (b *Body) Discard() int64 {
	if b.ended {
		return 0
	}
	_ = http.NewResponseController(b.w).SetReadDeadline(time.Now().Add(discardTimeout)) // as in OpenBody
	n, _ := io.Copy(io.Discard, b)                                                      // it ends, or its time does
	return n
}

const discardTimeout = 5 * time.Second

// ReadBody reads a whole body, which belongs to a small request. Error:
// message_too_large, bad_request.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64, timeout time.Duration) ([]byte, *protocol.Error) {
	body := OpenBody(w, r, limit, timeout)
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, BodyError(err, limit)
	}
	return text, nil
}

// BodyError is how a body that cannot be read is answered.
func BodyError(err error, limit int64) *protocol.Error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		refused := protocol.Errorf(protocol.CodeMessageTooLarge, "A message may have at most %d bytes.", limit)
		refused.Limit = limit
		return refused
	}
	return BadRequest("The body could not be read, or did not arrive in time.")
}
