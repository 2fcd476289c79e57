package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestHTTPStatus is the list of sections 4 and 5.
func TestHTTPStatus(t *testing.T) {
	for status, codes := range map[int][]Code{
		400: {CodeInvalidJSON, CodeInvalidEnvelope, CodeInvalidPayload, CodeInvalidContext, CodeUnsupportedProtocol, CodeUnknownParticipant, CodeBadRequest},
		401: {CodeUnauthorized},
		403: {CodeCapabilityViolation, CodeReservedKind, CodeIdentityMismatch, CodeCannotDelegate, CodeNotProposer, CodePaused, CodeForbidden, CodeKicked},
		404: {CodeNotFound},
		409: {CodeDuplicateID},
		410: {CodeCursorExpired},
		413: {CodeMessageTooLarge},
		429: {CodeRateLimited, CodeTooMany},
		500: {CodeInternal, "something_else"},
		503: {CodeUnavailable, CodeShuttingDown},
	} {
		for _, c := range codes {
			if got := c.HTTPStatus(); got != status {
				t.Errorf("%s: %d, want %d", c, got, status)
			}
		}
	}
}

// TestErrorNames: peers compare these strings.
func TestErrorNames(t *testing.T) {
	for code, want := range map[Code]string{
		CodeInvalidJSON: "invalid_json", CodeInvalidEnvelope: "invalid_envelope", CodeInvalidPayload: "invalid_payload",
		CodeMessageTooLarge: "message_too_large", CodeUnsupportedProtocol: "unsupported_protocol", CodeInvalidContext: "invalid_context",
		CodeIdentityMismatch: "identity_mismatch", CodeReservedKind: "reserved_kind", CodeUnknownParticipant: "unknown_participant",
		CodeDuplicateID: "duplicate_id", CodeCapabilityViolation: "capability_violation", CodeRateLimited: "rate_limited",
		CodeCannotDelegate: "cannot_delegate", CodeNotProposer: "not_proposer", CodePaused: "paused",
		CodeCursorExpired: "cursor_expired", CodeUnavailable: "unavailable",
	} {
		if string(code) != want {
			t.Errorf("%s is spelled %s", want, code)
		}
	}
}

func TestErrorOnTheWire(t *testing.T) {
	for _, c := range []struct {
		err  Error
		want string
	}{
		{Error{Code: CodePaused, Message: "You are paused."}, `{"error":"paused","message":"You are paused."}`},
		{
			Error{Code: CodeInvalidPayload, Message: "M.", Path: "/payload/a", Detail: "d"},
			`{"error":"invalid_payload","message":"M.","path":"/payload/a","detail":"d"}`,
		},
		{Error{Code: CodeRateLimited, Message: "M.", Limit: "rate", RetryAfterMS: 20}, `{"error":"rate_limited","message":"M.","limit":"rate","retry_after_ms":20}`},
		{Error{Code: CodeMessageTooLarge, Message: "M.", Limit: 1024}, `{"error":"message_too_large","message":"M.","limit":1024}`},
		{Error{Code: CodeCursorExpired, Message: "M.", OldestSeq: 9}, `{"error":"cursor_expired","message":"M.","oldest_seq":9}`},
		{
			Error{Code: CodeCapabilityViolation, Message: "M.", AttemptedKind: "chat", YourCapabilities: []json.RawMessage{[]byte(`"x/*"`)}},
			`{"error":"capability_violation","message":"M.","attempted_kind":"chat","your_capabilities":["x/*"]}`,
		},
	} {
		if got, err := json.Marshal(c.err); err != nil || string(got) != c.want {
			t.Errorf("got %s, %v; want %s", got, err, c.want)
		}
	}
}

func TestErrorMatches(t *testing.T) {
	err := fmt.Errorf("send: %w", Errorf(CodeRateLimited, "Wait %d s.", 2))
	if !errors.Is(err, &Error{Code: CodeRateLimited}) || errors.Is(err, &Error{Code: CodePaused}) || errors.Is(err, errors.New("x")) {
		t.Error("errors match by their code")
	}
	if got := err.Error(); got != "send: rate_limited: Wait 2 s." {
		t.Errorf("got %q", got)
	}
	if got := (&Error{RetryAfterMS: 1500}).RetryAfter(); got != 1500*time.Millisecond {
		t.Errorf("retry after %v", got)
	}
}

func TestCloseCodes(t *testing.T) {
	for code, final := range map[int]bool{
		CloseNormal: false, CloseGoingAway: false, ClosePolicy: true, CloseTooBig: false, CloseInternal: false,
		CloseTokenExpired: true, CloseKicked: true, CloseIdle: false, 1006: false,
	} {
		if CloseIsFinal(code) != final {
			t.Errorf("%d is final: %v", code, !final)
		}
	}
	if CloseTokenExpired != 4001 || CloseKicked != 4003 || CloseIdle != 4008 {
		t.Error("the numbers of section 4")
	}
}
