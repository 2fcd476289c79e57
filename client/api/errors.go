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

// StatusError means that the gateway rejected a request.
type StatusError struct {
	Status     int             // HTTP status
	Gateway    string          // its address
	Refusal    *protocol.Error // the body; nil if it had another form
	RetryAfter time.Duration   // from the header, at most an hour; 0 if absent
}

// Error returns the message of the gateway, or only the status.
func (e *StatusError) Error() string {
	if e.Refusal == nil {
		return fmt.Sprintf("gateway answered with HTTP status %d", e.Status)
	}
	return e.Refusal.Error()
}

// Unwrap returns the refusal, for errors.As.
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

// maxRefusal bounds the body of an error response, which may contain
// your_capabilities.
const maxRefusal = 256 << 10

// refusal decodes a response whose status is not 200.
func refusal(resp *http.Response) *StatusError {
	e := &StatusError{Status: resp.StatusCode}
	if resp.Request != nil {
		e.Gateway = resp.Request.URL.Scheme + "://" + resp.Request.URL.Host
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")) // the largest int if it is out of range
	if (err == nil || errors.Is(err, strconv.ErrRange)) && seconds > 0 {
		e.RetryAfter = time.Duration(min(seconds, int(maxRetryAfter/time.Second))) * time.Second
	}
	var r protocol.Error
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // a partial body is not valid JSON
	if json.Unmarshal(body, &r) == nil && r.Code != "" {
		e.Refusal = &r
	}
	return e
}

// maxRetryAfter bounds the delay that a gateway can request.
const maxRetryAfter = time.Hour
