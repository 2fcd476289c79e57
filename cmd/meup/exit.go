package main

import (
	"context"
	"errors"
	"net"
	"net/url"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/internal/terminal/termsafe"
	"github.com/meup-protocol/meup/protocol"
)

// Exit codes in addition to the common ones of all programs.
const (
	exitTimedOut    = 3 // the expected envelope did not arrive in time
	exitUnconnected = 4 // no connection, or access refused
)

// safeError is an error whose text is safe for a terminal: a gateway may quote
// untrusted text.
type safeError struct{ error }

func (e safeError) Error() string { return termsafe.Words(e.error.Error()) }

func (e safeError) Unwrap() error { return e.error }

// finishStopped is finish for a command that runs until it is terminated:
// termination is not an error then.
func finishStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return finish(ctx, err)
}

// finish gives an error its exit code.
func finish(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	var usage *program.UsageError
	var coded *program.ExitError
	switch {
	case errors.As(err, &usage), errors.As(err, &coded):
		return err
	case unconnected(err):
		return &program.ExitError{Code: exitUnconnected, Err: safeError{err}}
	}
	return safeError{err}
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
		return answer.Refusal == nil || accessCodes[answer.Refusal.Code]
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

// dial joins the space.
func dial(ctx context.Context, opts client.Options) (*client.Client, error) {
	c, err := client.Dial(ctx, opts)
	if err != nil {
		return nil, notJoined{err}
	}
	return c, nil
}

// accessCodes are the codes that concern the caller and not the request.
var accessCodes = map[protocol.Code]bool{
	protocol.CodeUnauthorized: true, protocol.CodeForbidden: true, protocol.CodeKicked: true,
	protocol.CodeShuttingDown: true, protocol.CodeTooMany: true, protocol.CodeNotFound: true,
}

// notFound reports whether the gateway returned 404.
func notFound(err error) bool {
	var answer *api.StatusError
	return errors.As(err, &answer) && answer.Refusal != nil && answer.Refusal.Code == protocol.CodeNotFound
}
