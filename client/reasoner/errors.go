package reasoner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Errors that callers match.
var (
	// ErrTimeout: there was no answer in time.
	ErrTimeout = errors.New("timeout")
	// ErrCanceled: somebody canceled the job.
	ErrCanceled = errors.New("canceled")
	// ErrNoQueue: the NATS has no such queue. A worker makes it when it starts.
	ErrNoQueue = errors.New("there is no such queue")
	// ErrAPIKey: the request has a provider's key in it, which the queue would
	// keep in a file. Options.AllowAPIKeys allows it.
	ErrAPIKey = errors.New("llm.api_key would be written to the queue's files")
	// ErrClosed: the client was closed.
	ErrClosed = errors.New("client closed")
)

// Codes of errors that are made here, beside those that a service sends.
const (
	CodeValidation = "intent_validation_error"
	CodeQueueFull  = "queue_full"
)

// APIError is what a service answered in place of a result.
type APIError struct {
	Status  int    // of HTTP; in the queue what HTTP would have answered
	Code    string // the service's word, such as invalid_request; may be empty
	Message string // its sentence
	Path    string // JSON pointer of the place in the request; empty for the whole
}

// Error gives the service's sentence.
func (e *APIError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "reasoning service answered %d", e.Status)
	if e.Code != "" {
		fmt.Fprintf(&b, " (%s)", e.Code)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	return b.String()
}

// ValidationError says that a service chose a tool that was not offered.
type ValidationError struct {
	Tool    string
	Offered []string
}

// Code is CodeValidation.
func (e *ValidationError) Code() string { return CodeValidation }

// Error begins with the code.
func (e *ValidationError) Error() string {
	return fmt.Sprintf("%s: the tool %q is not among those that were offered", CodeValidation, e.Tool)
}

// timeoutError says what was waited for, and matches both ErrTimeout and what
// ended the waiting.
func timeoutError(ctx context.Context, what string, timeout time.Duration, attempts int, cause error) error {
	switch {
	case ctx.Err() != nil: // the caller's own time
		return fmt.Errorf("%s: %w: %w", what, ErrTimeout, cause)
	case attempts > 1:
		return fmt.Errorf("%s: %w after %s, %d times: %w", what, ErrTimeout, timeout, attempts, cause)
	}
	return fmt.Errorf("%s: %w after %s: %w", what, ErrTimeout, timeout, cause)
}
