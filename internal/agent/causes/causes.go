// Package causes describes why the work on a question ended: for the space, and for
// the operator's log.
package causes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/redact"
	"github.com/meup-protocol/meup/protocol"
)

// Error is a cause whose text is for the space.
type Error string

// Error returns the text.
func (e Error) Error() string { return string(e) }

// Public returns the text.
func (e Error) Public() string { return string(e) }

// Explain describes a cause for the space. Text from elsewhere in an error
// (addresses of this network, quotes from a provider) is written only to the
// log. An error with a method Public describes itself.
func Explain(cause error) string {
	var (
		refusal *protocol.Error
		public  interface{ Public() string }
		network net.Error
		service *reasoner.APIError
	)
	switch {
	case errors.As(cause, &refusal):
		return fmt.Sprintf("the gateway refused it (%s: %s)", refusal.Code, trimStop(refusal.Message))
	case errors.As(cause, &public):
		return public.Public()
	case errors.As(cause, &service):
		return "the Reasoning API answered with " + llm.PublicCode(service.Status, service.Code)
	case errors.Is(cause, reasoner.ErrTimeout):
		return "the Reasoning API did not answer in time"
	case errors.Is(cause, llm.ErrTruncated):
		return "the model's answer was cut off"
	case errors.Is(cause, context.DeadlineExceeded):
		return "it took too long"
	case errors.As(cause, &network):
		return "the model or the Reasoning API cannot be reached"
	}
	for _, plain := range []error{
		planner.ErrRefused, planner.ErrRemote, planner.ErrLength, planner.ErrSilent, planner.ErrBadCalls, planner.ErrForced,
	} {
		if errors.Is(cause, plain) {
			return plain.Error()
		}
	}
	return "internal error; see the log of the agent"
}

// ForLog formats an error for the operator's log. Secrets are masked, because
// the error may quote a key.
func ForLog(err error) string {
	rules, broken := redact.Default()
	if broken != nil { // the rules are built in
		return Explain(err)
	}
	return rules.Mask(err.Error())
}

func trimStop(s string) string { return strings.TrimRight(strings.TrimSpace(s), ". ") }
