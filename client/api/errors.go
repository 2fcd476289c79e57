package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// StatusError says that the gateway refused a request.
type StatusError struct {
	Status     int             // of HTTP
	Refusal    *protocol.Error // the body; nil if there was none of that form
	RetryAfter time.Duration   // from the header, an hour at most; 0 if absent
}

// Error gives the gateway's own sentence, or the status alone.
func (e *StatusError) Error() string {
	if e.Refusal == nil {
		return fmt.Sprintf("gateway answered with HTTP status %d", e.Status)
	}
	return e.Refusal.Error()
}

// Unwrap gives the refusal to errors.As.
func (e *StatusError) Unwrap() error {
	if e.Refusal == nil {
		return nil
	}
	return e.Refusal
}

// Temporary reports whether the same request may succeed later.
func (e *StatusError) Temporary() bool {
	return e.Status >= 500 || e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests
}

// maxRefusal bounds the body of a refusal; your_capabilities are in it.
const maxRefusal = 256 << 10

// refusal reads the body of an answer that is not 200.
func refusal(resp *http.Response) *StatusError {
	e := &StatusError{Status: resp.StatusCode}
	e.RetryAfter = retryAfter(resp.Header.Get("Retry-After"))
	var r protocol.Error
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // half a body is no JSON
	if json.Unmarshal(body, &r) == nil && r.Code != "" {
		e.Refusal = &r
	}
	return e
}

// maxRetryAfter bounds how long a gateway can keep somebody waiting.
const maxRetryAfter = time.Hour

// retryAfter reads a header in seconds, which may be more than there are.
func retryAfter(header string) time.Duration {
	s, err := strconv.Atoi(header)
	if err != nil && !errors.Is(err, strconv.ErrRange) || s <= 0 {
		return 0
	}
	return time.Duration(min(s, int(maxRetryAfter/time.Second))) * time.Second
}
