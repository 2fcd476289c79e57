package reasoner

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/schemas"
)

// Fault is an error that the sender of a request receives.
type Fault struct {
	Status  int    // HTTP status
	Code    string // one of the codes below
	Message string // a sentence with the remedy
	Path    string // JSON pointer into the request; empty for the whole request
}

// Codes of a Fault.
const (
	CodeInvalidJSON    = "invalid_json"
	CodeInvalidRequest = "invalid_request"
	CodeUnknownTool    = "unknown_tool"
	CodeUnknownNode    = "unknown_node"
	CodeMissingValue   = "missing_value"
	CodeUndecided      = "undecided"
	CodeCallback       = "callback_refused"
	CodeUnauthorized   = "unauthorized"
	CodeForbidden      = "forbidden"
	CodeNotFound       = "not_found"
	CodeMethod         = "method_not_allowed"
	CodeVersion        = "unsupported_version"
	CodeMediaType      = "unsupported_media_type"
	CodeTooLarge       = "too_large"
	CodeOverloaded     = "overloaded"
	CodeTimeout        = "timeout"
	CodeCancelled      = "cancelled"
	CodeInternal       = "internal"
)

// statusGone is the status by which proxies count a request that its sender
// abandoned; no client receives it.
const statusGone = 499

// Error returns the code and the message.
func (f *Fault) Error() string { return f.Code + ": " + f.Message }

// IntentError is the error of a decision, with the id and the duration under
// which the decision is logged, and what it has cost.
type IntentError struct {
	ID    string
	Took  time.Duration
	Usage *wire.Usage // nil: no model answered
	Err   error
}

// Error returns the text of Err.
func (e *IntentError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *IntentError) Unwrap() error { return e.Err }

// Body returns the response body of the fault.
func (f *Fault) Body() wire.ErrorBody {
	return wire.ErrorBody{Error: f.Code, Message: f.Message, Path: f.Path}
}

// UsageOf returns what the decision of an error has cost; nil: no model answered.
func UsageOf(err error) *wire.Usage {
	var intent *IntentError
	if errors.As(err, &intent) {
		return intent.Usage
	}
	return nil
}

// FaultOf returns the Fault of an error. The details of an error that is not a
// Fault are not disclosed to the client.
func FaultOf(err error) *Fault {
	var f *Fault
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, context.DeadlineExceeded):
		return &Fault{Status: http.StatusGatewayTimeout, Code: CodeTimeout, Message: "There was no decision in time. Try again, or use a faster model."}
	case errors.Is(err, context.Canceled):
		return &Fault{Status: statusGone, Code: CodeCancelled, Message: "The request was canceled before there was a decision."}
	}
	return &Fault{Status: http.StatusInternalServerError, Code: CodeInternal, Message: "The service failed. Its log has the reason."}
}

// MaskKey replaces the API key of a request in a text.
func MaskKey(text string, l *wire.LLM) string {
	if l == nil || l.APIKey == "" {
		return text
	}
	return strings.ReplaceAll(text, l.APIKey, "[key]")
}

// Invalid returns the Fault of a request that its schema accepts and that
// cannot be answered.
func Invalid(path, message string) error {
	return &Fault{Status: http.StatusBadRequest, Code: CodeInvalidRequest, Message: message, Path: path}
}

// Overloaded returns the Fault of a request that can be sent again later.
func Overloaded(message string) error {
	return &Fault{Status: http.StatusServiceUnavailable, Code: CodeOverloaded, Message: message}
}

// schemaFault converts a schema violation to a Fault.
func schemaFault(err error) error {
	var f *schemas.Fault
	if !errors.As(err, &f) {
		return err
	}
	if f.Syntax {
		return &Fault{Status: http.StatusBadRequest, Code: CodeInvalidJSON, Message: f.Message, Path: f.Path}
	}
	return &Fault{Status: http.StatusUnprocessableEntity, Code: CodeInvalidRequest, Message: f.Message, Path: f.Path}
}
