package access

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// HoldBody makes reads of a request's body fail until OpenBody, and closes a
// connection with an unread body after the response. Otherwise the HTTP server
// would wait for the rest of the body without a limit. With HTTP/2 only the
// stream is reset.
func HoldBody(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody || r.ProtoMajor != 1 {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // fails only for a recorder in a test
}

// Body is the body of a request. Read returns an *http.MaxBytesError beyond its
// limit, and a timeout if the body does not arrive in time. Once it is read to
// its end, the connection is kept for further requests.
type Body struct {
	body  io.Reader
	w     http.ResponseWriter
	ended bool
}

// OpenBody lets a handler read the body of a request, up to limit bytes, which
// have to arrive within the timeout. Close must be called before the handler
// returns.
func OpenBody(w http.ResponseWriter, r *http.Request, limit int64, timeout time.Duration) *Body {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeout)) // fails only for a recorder in a test
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

// Close stops reading; the rest is not waited for.
func (b *Body) Close() {
	if !b.ended {
		_ = http.NewResponseController(b.w).SetReadDeadline(time.Now()) // as in OpenBody
	}
}

// Discard reads the rest of the body, within its limit and for at most
// discardTimeout, and returns its size. Many clients read no response before
// they have sent the whole request.
func (b *Body) Discard() int64 {
	if b.ended {
		return 0
	}
	_ = http.NewResponseController(b.w).SetReadDeadline(time.Now().Add(discardTimeout)) // as in OpenBody
	n, _ := io.Copy(io.Discard, b)                                                      // it ends with the body or the timeout
	return n
}

const discardTimeout = 5 * time.Second

// ReadBody reads the whole body of a small request. Error: message_too_large,
// bad_request.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64, timeout time.Duration) ([]byte, error) {
	body := OpenBody(w, r, limit, timeout)
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, BodyError(err, limit)
	}
	return text, nil
}

// BodyError converts an error of reading a body. It is never nil.
func BodyError(err error, limit int64) *protocol.Error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		refused := protocol.Errorf(protocol.CodeMessageTooLarge, "A message may have at most %d bytes.", limit)
		refused.Limit = limit
		return refused
	}
	return BadRequest("The body could not be read, or did not arrive in time.")
}
