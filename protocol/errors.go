package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Code is a stable name for an error in an envelope or a request. Section 5
// lists the codes of system.error, section 4 the codes of a rejected
// connection.
//
// A new one is also in [Code.HTTPStatus], docs/protocol/5-errors.md, the metrics of
// internal/gateway, web/src/core/sentences.ts and, after go generate, sdk/typescript; a field
// of it in schemas/http/error.schema.json.
type Code string

// The codes of section 5.
const (
	CodeInvalidJSON         Code = "invalid_json"
	CodeInvalidEnvelope     Code = "invalid_envelope"
	CodeInvalidPayload      Code = "invalid_payload"
	CodeMessageTooLarge     Code = "message_too_large"
	CodeUnsupportedProtocol Code = "unsupported_protocol"
	CodeInvalidContext      Code = "invalid_context"
	CodeIdentityMismatch    Code = "identity_mismatch"
	CodeReservedKind        Code = "reserved_kind"
	CodeUnknownParticipant  Code = "unknown_participant"
	CodeDuplicateID         Code = "duplicate_id"
	CodeCapabilityViolation Code = "capability_violation"
	CodeRateLimited         Code = "rate_limited"
	CodeCannotDelegate      Code = "cannot_delegate"
	CodeNotProposer         Code = "not_proposer"
	CodePaused              Code = "paused"
	CodeCursorExpired       Code = "cursor_expired"
	CodeUnavailable         Code = "unavailable"
	CodeOutcomeUnknown      Code = "outcome_unknown"
	CodeProposalMismatch    Code = "proposal_mismatch"
	CodeProposalSettled     Code = "proposal_settled"
	CodeClaimed             Code = "claimed"
)

// The codes of mew/v0.4 for streams.
const (
	CodeUnauthorizedStreamWrite Code = "unauthorized_stream_write"
	CodeStreamNotFound          Code = "stream_not_found"
	CodeTargetNotFound          Code = "target_not_found"
	CodeParticipantNotFound     Code = "participant_not_found"
	CodeInvalidOperation        Code = "invalid_operation"
)

// The codes of a request that was refused as a whole (section 4).
const (
	CodeBadRequest   Code = "bad_request"
	CodeUnauthorized Code = "unauthorized"
	CodeForbidden    Code = "forbidden"
	CodeKicked       Code = "kicked"
	CodeNotFound     Code = "not_found"
	CodeNotAllowed   Code = "method_not_allowed"
	CodeTooMany      Code = "too_many_requests"
	CodeShuttingDown Code = "shutting_down"
	CodeInternal     Code = "internal"
)

// Error is a rejection: a code for programs, a message for people, and the
// fields that section 5 lists for the code. It is the payload of system.error
// and the body of a rejected HTTP request.
type Error struct {
	Code    Code   `json:"error"`
	Message string `json:"message"`

	Path             string            `json:"path,omitempty"`   // JSON pointer
	Detail           string            `json:"detail,omitempty"` // the validator's message
	Limit            any               `json:"limit,omitempty"`  // bytes, or the name of the limit
	RetryAfterMS     int64             `json:"retry_after_ms,omitempty"`
	AttemptedKind    string            `json:"attempted_kind,omitempty"`
	YourCapabilities []json.RawMessage `json:"your_capabilities,omitzero"`
	OldestSeq        Seq               `json:"oldest_seq,omitempty"`
	ID               ID                `json:"id,omitempty"`         // outcome_unknown: the id to retry with
	By               ParticipantID     `json:"by,omitempty"`         // proposal_settled: the participant that decided; claimed: the one that holds it
	Seq              Seq               `json:"seq,omitempty"`        // proposal_settled: position of that decision
	ExpiresAt        string            `json:"expires_at,omitempty"` // claimed: when that ends, RFC 3339
	StreamID         string            `json:"stream_id,omitempty"`  // unauthorized_stream_write
	Targets          []ParticipantID   `json:"targets,omitempty"`    // target_not_found: the unknown ones
}

// MarshalJSON writes the fields that section 5 lists for the code. For errors
// in an envelope, path and detail are present even if empty, because the
// pointer of the envelope's root is empty.
func (e *Error) MarshalJSON() ([]byte, error) {
	type plain Error
	switch e.Code {
	case CodeInvalidJSON, CodeInvalidEnvelope, CodeInvalidPayload:
	default:
		return json.Marshal((*plain)(e))
	}
	detail := e.Detail
	if detail == "" {
		detail = e.Message
	}
	return json.Marshal(struct {
		*plain
		Path   string `json:"path"`
		Detail string `json:"detail"`
	}{(*plain)(e), e.Path, detail})
}

// Error returns the code and the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Is compares only the codes, for errors.Is.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// AsError returns the Error in the chain of err; nil if err is nil. Any other
// error becomes an internal one without its text, which may be private.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Errorf(CodeInternal, "The request failed.")
}

// Errorf returns an Error with a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// RetryAfter returns how long to wait before trying again; 0 if unknown.
func (e *Error) RetryAfter() time.Duration {
	return time.Duration(e.RetryAfterMS) * time.Millisecond
}

// HTTPStatus returns the code's HTTP status as listed in section 5.
func (c Code) HTTPStatus() int {
	switch c {
	case CodeInvalidJSON, CodeInvalidEnvelope, CodeInvalidPayload, CodeInvalidContext,
		CodeUnsupportedProtocol, CodeUnknownParticipant, CodeBadRequest, CodeTargetNotFound, CodeInvalidOperation:
		return 400
	case CodeUnauthorized:
		return 401
	case CodeCapabilityViolation, CodeReservedKind, CodeIdentityMismatch, CodeCannotDelegate,
		CodeNotProposer, CodePaused, CodeForbidden, CodeKicked, CodeProposalMismatch, CodeUnauthorizedStreamWrite:
		return 403
	case CodeNotFound, CodeStreamNotFound, CodeParticipantNotFound:
		return 404
	case CodeNotAllowed:
		return 405
	case CodeDuplicateID, CodeProposalSettled, CodeClaimed:
		return 409
	case CodeCursorExpired:
		return 410
	case CodeMessageTooLarge:
		return 413
	case CodeRateLimited, CodeTooMany:
		return 429
	case CodeUnavailable, CodeOutcomeUnknown, CodeShuttingDown:
		return 503
	}
	return 500
}

// Close codes of section 4.
const (
	CloseNormal       = 1000
	CloseGoingAway    = 1001
	ClosePolicy       = 1008
	CloseTooBig       = 1009
	CloseInternal     = 1011
	CloseTokenExpired = 4001
	CloseKicked       = 4003
	CloseIdle         = 4008
)

// CloseIsFinal reports whether reconnecting with the same token is pointless
// after this close code.
func CloseIsFinal(code int) bool {
	return code == CloseTokenExpired || code == CloseKicked || code == ClosePolicy
}
