package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/protocol"
)

// Errors that callers match.
var (
	// ErrClosed: the client was closed with Close.
	ErrClosed = errors.New("client closed")
	// ErrInterrupted: the connection was lost behind an envelope that is kept
	// nowhere (stream.data), so that it cannot be sent again safely.
	ErrInterrupted = errors.New("connection lost")
	// ErrNoAddressees: a request names no participant whose response counts.
	ErrNoAddressees = errors.New("no addressees: name the participants whose response counts")
)

// CloseError says that the gateway closed the connection for good: codes 1008,
// 4001 and 4003 of section 4.
type CloseError struct {
	Code   int
	Reason string
}

// Error names the code and what the gateway gave as the reason.
func (e *CloseError) Error() string {
	text := map[int]string{
		protocol.ClosePolicy:       "policy violated",
		protocol.CloseTokenExpired: "token expired or revoked",
		protocol.CloseKicked:       "kicked",
	}[e.Code]
	if text == "" {
		text = "closed"
	}
	if e.Reason == "" {
		return fmt.Sprintf("gateway closed the connection: %s (%d)", text, e.Code)
	}
	return fmt.Sprintf("gateway closed the connection: %s (%d): %s", text, e.Code, e.Reason)
}

// DialError says that the gateway refused the connection before the upgrade.
type DialError struct {
	Status     int             // of HTTP
	Refusal    *protocol.Error // the body; nil if there was none of that form
	RetryAfter time.Duration   // from the header; 0 if absent
}

// Error gives the gateway's own sentence, or the status alone.
func (e *DialError) Error() string {
	if e.Refusal == nil {
		return fmt.Sprintf("gateway refused the connection with HTTP status %d", e.Status)
	}
	return fmt.Sprintf("gateway refused the connection: %v", e.Refusal)
}

// Unwrap gives the refusal to errors.As.
func (e *DialError) Unwrap() error {
	if e.Refusal == nil {
		return nil
	}
	return e.Refusal
}

// final reports whether another attempt with the same options is pointless.
func (e *DialError) final() bool {
	return e.Status >= 400 && e.Status < 500 && e.Status != 408 && e.Status != 429
}

// GapError says that the log no longer has everything that should have come
// next. Receive returns it in its place, once; delivery then goes on with the
// oldest envelope that is there.
type GapError struct {
	// After is the last envelope received before the gap.
	After protocol.Seq
	// Oldest is the oldest that is still kept; 0 if unknown.
	Oldest protocol.Seq
	// Reset: the space has another log now, which counts from the beginning.
	Reset bool
}

// Error says what is missing.
func (e *GapError) Error() string {
	if e.Reset {
		return fmt.Sprintf("the space's log was replaced: it ends before envelope %d, which was received from it", e.After)
	}
	return fmt.Sprintf("envelopes after %d are no longer kept; going on with %d", e.After, e.Oldest)
}

// Is makes a gap equal to the code cursor_expired.
func (e *GapError) Is(target error) bool {
	t, ok := target.(*protocol.Error)
	return ok && t.Code == protocol.CodeCursorExpired
}

// finalError returns the error with which the client ends, or nil if
// connecting again makes sense.
func finalError(err error) error {
	var refused *DialError
	if errors.As(err, &refused) && refused.final() {
		return refused
	}
	var closed websocket.CloseError
	if errors.As(err, &closed) && protocol.CloseIsFinal(int(closed.Code)) {
		return &CloseError{Code: int(closed.Code), Reason: closed.Reason}
	}
	return nil
}
