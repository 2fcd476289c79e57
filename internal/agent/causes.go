package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/meup-protocol/meup/client/reasoner"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/safety/redact"
	"github.com/meup-protocol/meup/protocol"
)

// publicError is a cause whose text is for the space.
type publicError string

// Error returns the text.
func (e publicError) Error() string { return string(e) }

// Public returns the text.
func (e publicError) Public() string { return string(e) }

// errTakenOver is the cause that ends a question when another process of the
// same participant continues it.
const errTakenOver = publicError("another process of this agent continues it")

// errBehind is the cause that ends a question when another process of the same
// participant has begun to answer it first.
const errBehind = publicError("another process of this agent began first")

// errGivenUp is the cause that ends a question when maxInterrupted attempts to answer it
// ended with their process.
const errGivenUp = publicError("this agent ended three times while it worked on the question, and does not try again. Ask once more if something else was the cause")

// errPanicked replaces the panic of a planner or a solver.
const errPanicked = publicError("the planner failed")

// cancelledError is the cause that ends a question or a part of it.
type cancelledError struct {
	By      protocol.ParticipantID
	Reason  string
	Context protocol.ContextPath // already closed; "": the question was withdrawn
	// TakenOver: another process of the same participant cancelled it and
	// continues it.
	TakenOver bool
}

// Error names the participant that cancelled and its reason.
func (c *cancelledError) Error() string {
	if c.Reason == "" {
		return fmt.Sprintf("cancelled by %s", c.By)
	}
	return fmt.Sprintf("cancelled by %s: %s", c.By, c.Reason)
}

// Public returns the text, which is for the space.
func (c *cancelledError) Public() string { return c.Error() }

// explainCause describes a cause for the space. Text from elsewhere in an error
// (addresses of this network, quotes from a provider) is written only to the
// log. An error with a method Public describes itself.
func explainCause(cause error) string {
	var (
		refusal *protocol.Error
		public  interface{ Public() string }
		network net.Error
		service *reasoner.APIError
	)
	switch {
	case errors.As(cause, &refusal):
		return fmt.Sprintf("the gateway refused it (%s: %s)", refusal.Code, strings.TrimRight(strings.TrimSpace(refusal.Message), ". "))
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
	case errors.Is(cause, contextwindow.ErrTooLarge):
		return "the instructions and the question do not fit the context window of the model"
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

// errorForLog formats an error for the operator's log. Secrets are masked, because
// the error may quote a key.
func errorForLog(err error) string {
	rules, broken := redact.Default()
	if broken != nil { // the rules are built in
		return explainCause(err)
	}
	return rules.Mask(err.Error())
}
