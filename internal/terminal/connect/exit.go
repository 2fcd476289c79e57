package connect

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/termsafe"
	"github.com/meup-protocol/meup/protocol"
	"github.com/spf13/cobra"
)

// Exit codes in addition to the common ones of all programs.
const (
	ExitTimedOut    = 3 // the expected envelope did not arrive in time
	ExitUnconnected = 4 // no connection, or access refused
)

// SafeError is an error whose text is safe for a terminal: a gateway may quote
// untrusted text.
type SafeError struct{ Err error }

// Error returns the text without characters that control a terminal.
func (e SafeError) Error() string { return termsafe.Words(e.Err.Error()) }

// Unwrap returns the error for errors.As.
func (e SafeError) Unwrap() error { return e.Err }

// FinishStopped is Finish for a command that runs until it is terminated:
// termination is not an error then.
func FinishStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return Finish(ctx, err)
}

// Finish gives an error its exit code.
func Finish(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return program.ErrInterrupted
	}
	var usage *program.UsageError
	var coded *program.ExitError
	switch {
	case errors.As(err, &usage), errors.As(err, &coded):
		return err
	case errors.Is(err, errUnauthorized):
		return &program.ExitError{Code: ExitUnconnected, Err: SafeError{rejectedToken(err)}}
	case unconnected(err):
		return &program.ExitError{Code: ExitUnconnected, Err: SafeError{client.Unreachable(err)}}
	}
	return SafeError{err}
}

// RunE returns the RunE of a command, whose errors Finish gives their exit codes.
func RunE(run func(c *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error { return Finish(c.Context(), run(c, args)) }
}

// RunStopped is RunE with FinishStopped.
func RunStopped(run func(c *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error { return FinishStopped(c.Context(), run(c, args)) }
}

var errUnauthorized = &protocol.Error{Code: protocol.CodeUnauthorized}

// rejectedToken describes the rejection of a token by HTTP as on a connection.
func rejectedToken(err error) error {
	var dialed *client.DialError
	var answer *api.StatusError
	switch {
	case errors.As(err, &dialed):
		return dialed
	case errors.As(err, &answer):
		return &client.DialError{Gateway: answer.Gateway, Status: answer.Status, Refusal: answer.Refusal}
	}
	return protocol.AsError(err)
}

// unconnected reports whether the request itself was never handled: there is no
// gateway, no such space, or the token is not valid for it.
func unconnected(err error) bool {
	var refused *client.DialError
	var closed *client.CloseError
	if errors.As(err, &refused) || errors.As(err, &closed) {
		return true
	}
	var answer *api.StatusError
	if errors.As(err, &answer) {
		return answer.Refusal == nil || AccessCodes[answer.Refusal.Code]
	}
	var request *url.Error
	var network *net.OpError
	return errors.As(err, &request) || errors.As(err, &network) || errors.Is(err, errNotJoined)
}

// errNotJoined marks errors before the gateway's welcome.
var errNotJoined = errors.New("not joined")

// notJoined marks an error of a dial.
type notJoined struct{ error }

func (e notJoined) Unwrap() error { return e.error }

func (notJoined) Is(target error) bool { return target == errNotJoined }

// Dial joins the space.
func Dial(ctx context.Context, opts client.Options) (*client.Client, error) {
	c, err := client.Dial(ctx, opts)
	if err != nil {
		return nil, notJoined{err}
	}
	return c, nil
}

// retryTime is how long Retry tries, and retryInterval the time between two attempts.
const (
	retryTime     = time.Minute
	retryInterval = time.Second
)

// Retry returns the result of do. While the gateway is away or busy, it calls do again for a
// minute, and warns of that once.
func Retry[T any](ctx context.Context, errOut io.Writer, do func() (T, error)) (T, error) {
	end := time.Now().Add(retryTime)
	for attempt := 1; ; attempt++ {
		v, err := do()
		if ctx.Err() != nil || !isTemporary(err) || time.Now().After(end) {
			return v, err
		}
		if attempt == 1 {
			Warn(errOut, "%s; trying again for %s", SafeError{client.Unreachable(err)}, retryTime)
		}
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
			return v, ctx.Err()
		}
	}
}

// isTemporary reports whether the same request may succeed later: no gateway answered, or one
// that stops, starts or is busy.
func isTemporary(err error) bool {
	var answer *api.StatusError
	if errors.As(err, &answer) {
		return answer.Temporary()
	}
	var request *url.Error
	return errors.As(err, &request)
}

// AccessCodes are the codes that concern the caller and not the request.
var AccessCodes = map[protocol.Code]bool{
	protocol.CodeUnauthorized: true, protocol.CodeForbidden: true, protocol.CodeKicked: true,
	protocol.CodeShuttingDown: true, protocol.CodeTooMany: true, protocol.CodeNotFound: true,
}

// NotFound reports whether the gateway returned 404.
func NotFound(err error) bool {
	var answer *api.StatusError
	return errors.As(err, &answer) && answer.Refusal != nil && answer.Refusal.Code == protocol.CodeNotFound
}
