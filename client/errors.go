package client

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/protocol"
)

// Errors that callers match.
var (
	// ErrClosed means that the client was closed with Close.
	ErrClosed = errors.New("client closed")
	// ErrInterrupted means that the connection was lost after an envelope that
	// is not stored (stream.data), so that it cannot be sent again safely.
	ErrInterrupted = errors.New("connection lost")
	// ErrNoAddressees means that a request names no participants to respond.
	ErrNoAddressees = errors.New("no addressees: name the participants whose response counts")
)

// CloseError means that the gateway closed the connection permanently, with
// code 1008, 4001 or 4003 (section 4).
type CloseError struct {
	Code   int
	Reason string
}

// Error includes the code and the reason that the gateway sent.
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

// DialError means that the gateway rejected the connection before the upgrade.
type DialError struct {
	Status     int             // HTTP status
	Host       string          // host:port of the gateway
	Refusal    *protocol.Error // the body; nil if it had another form
	RetryAfter time.Duration   // from the header; 0 if absent
}

// Error returns the message of the gateway, or only the status.
func (e *DialError) Error() string {
	if e.Refusal == nil {
		return fmt.Sprintf("gateway refused the connection with HTTP status %d", e.Status)
	}
	return fmt.Sprintf("gateway refused the connection: %v", e.Refusal)
}

// Unwrap returns the refusal, for errors.As.
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

// Unreachable returns why there is no connection, without the layers of libraries: if there
// never was one, as a sentence with the address and what to check. Other errors are returned
// unchanged.
func Unreachable(err error) error {
	var name *net.DNSError
	var network *net.OpError
	var closed websocket.CloseError
	var system syscall.Errno
	switch {
	case errors.As(err, &closed):
		return &networkError{strings.TrimSuffix(fmt.Sprintf("the gateway closed the connection (%d): %s", closed.Code, closed.Reason), ": "), closed}
	case errors.Is(err, io.EOF):
		return &networkError{"the gateway ended the connection", io.EOF}
	case errors.As(err, &name) && name.IsNotFound:
		return &networkError{fmt.Sprintf("no host is named %s: check the URL of the gateway", name.Name), name}
	case !errors.As(err, &network):
		return err
	case network.Op == "dial" && errors.Is(network, syscall.ECONNREFUSED):
		return &networkError{fmt.Sprintf("connection refused: is the gateway running at %s?", network.Addr), network}
	case network.Op == "dial" && network.Timeout():
		return &networkError{fmt.Sprintf("no answer from %s: check the URL of the gateway, and the network", network.Addr), network}
	case errors.As(err, &system):
		return &networkError{system.Error(), network}
	}
	return network
}

// networkError is an error of the network in other words.
type networkError struct {
	text string
	err  error
}

func (e *networkError) Error() string { return e.text }

func (e *networkError) Unwrap() error { return e.err }

// GapError means that the log no longer has all envelopes after the cursor.
// Receive returns it once, in place of the missing envelopes; delivery then
// continues with the oldest envelope in the log.
type GapError struct {
	// After is the last envelope received before the gap.
	After protocol.Seq
	// Oldest is the oldest envelope in the log; 0 if unknown.
	Oldest protocol.Seq
	// Reset means that the space has a new log, which counts from the
	// beginning.
	Reset bool
}

// Error describes the missing envelopes.
func (e *GapError) Error() string {
	if e.Reset {
		return fmt.Sprintf("the space's log was replaced: it ends before envelope %d, which was received from it", e.After)
	}
	return fmt.Sprintf("envelopes after %d are no longer kept; going on with %d", e.After, e.Oldest)
}

// Is matches a *protocol.Error with the code cursor_expired.
func (e *GapError) Is(target error) bool {
	t, ok := target.(*protocol.Error)
	return ok && t.Code == protocol.CodeCursorExpired
}

// finalError returns the error that ends the client, or nil if a reconnect may
// succeed.
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
