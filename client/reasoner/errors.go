package reasoner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// Errors that callers match.
var (
	// ErrTimeout means that there was no response in time.
	ErrTimeout = errors.New("timeout")
	// ErrCanceled means that the job was canceled.
	ErrCanceled = errors.New("canceled")
	// ErrNoQueue means that the NATS server does not have the queue. A worker
	// creates it when it starts.
	ErrNoQueue = errors.New("there is no such queue")
	// ErrNoWorker means that no worker takes jobs from the queue.
	ErrNoWorker = errors.New("no worker takes jobs from the queue")
	// ErrAPIKey means that the request contains a provider's API key, which the
	// queue would store in a file. Options.AllowAPIKeys permits it.
	ErrAPIKey = errors.New("llm.api_key would be stored in the files of the queue")
	// ErrResponse means that a response is too long, or not one of a Reasoning API.
	ErrResponse = errors.New("unusable response")
	// ErrClosed means that the client was closed.
	ErrClosed = errors.New("client closed")
)

// Codes of errors that originate in this package, in addition to the codes of a
// service.
const (
	CodeValidation = "intent_validation_error"
	CodeQueueFull  = "queue_full"
)

// APIError is an error response of a service.
type APIError struct {
	Status  int         // HTTP status; with the queue, the equivalent status
	Code    string      // the service's code, such as invalid_request; may be empty
	Message string      // the service's message
	Path    string      // JSON pointer into the request; empty for the whole request
	Usage   *wire.Usage // of the decision that failed; nil: no model answered
}

// Error returns the status, the code and the message.
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

// ValidationError means that a service chose a tool that was not offered.
type ValidationError struct {
	Tool    string
	Offered []string
	Usage   *wire.Usage // of the decision; nil: no model answered
}

// Code returns CodeValidation.
func (e *ValidationError) Code() string { return CodeValidation }

// Error returns a message that begins with the code.
func (e *ValidationError) Error() string {
	return fmt.Sprintf("%s: the tool %q was not offered", CodeValidation, e.Tool)
}

// timeoutError names the operation. It matches both ErrTimeout and the cause.
func timeoutError(ctx context.Context, what string, timeout time.Duration, attempts int, cause error) error {
	switch {
	case ctx.Err() != nil: // the caller's own timeout
		return fmt.Errorf("%s: %w: %w", what, ErrTimeout, cause)
	case attempts > 1:
		return fmt.Errorf("%s: %w after %s, %d times: %w", what, ErrTimeout, timeout, attempts, cause)
	}
	return fmt.Errorf("%s: %w after %s: %w", what, ErrTimeout, timeout, cause)
}
