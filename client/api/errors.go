package api

import (
	"encoding/json"
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
	RetryAfter time.Duration   // from the header; 0 if absent
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
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	var r protocol.Error
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // half a body is no JSON
	if json.Unmarshal(body, &r) == nil && r.Code != "" {
		e.Refusal = &r
	}
	return e
}
