package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/protocol"
)

// plainCode matches a provider's error code that is safe to publish.
var plainCode = regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`)

// errTakenOver is the cause that ends a question when another process of the
// same participant continues it.
var errTakenOver = errors.New("another process of this agent goes on with it")

// errPlannerFailed replaces the panic of a planner.
var errPlannerFailed = errors.New("the planner failed")

// explain describes a cause for the space. Text from elsewhere in an error
// (addresses of this network, quotes from a provider) is written only to the
// log.
func explain(cause error) string {
	var (
		refusal *protocol.Error
		model   *llm.Error
		stopped *cancelled
		network net.Error
	)
	switch {
	case errors.As(cause, &stopped):
		return stopped.Error()
	case errors.As(cause, &refusal):
		return fmt.Sprintf("the gateway does not let me (%s: %s)", refusal.Code, trimStop(refusal.Message))
	case errors.As(cause, &model):
		return refusedBy(model)
	case errors.Is(cause, llm.ErrTruncated):
		return "the model's answer broke off"
	case errors.Is(cause, context.DeadlineExceeded):
		return "it took too long"
	case errors.As(cause, &network):
		return "what I decide with cannot be reached"
	}
	for _, plain := range []error{
		errShutdown, errRestarted, errTakenOver, errPlannerFailed,
		planner.ErrRefused, planner.ErrLength, planner.ErrSilent, planner.ErrBadCalls, planner.ErrForced,
	} {
		if errors.Is(cause, plain) {
			return plain.Error()
		}
	}
	return "something went wrong that my log tells more about"
}

// forLog formats an error for the operator's log. Secrets are masked, because
// the error may quote a key.
func (a *Agent) forLog(err error) string {
	if a.mask == nil {
		return explain(err)
	}
	return a.mask(err.Error())
}

func refusedBy(e *llm.Error) string {
	var parts []string
	if e.Status != 0 {
		parts = append(parts, fmt.Sprintf("status %d", e.Status))
	}
	if plainCode.MatchString(e.Code) {
		parts = append(parts, e.Code)
	}
	if len(parts) == 0 {
		return "the model refused"
	}
	return "the model refused (" + strings.Join(parts, ", ") + ")"
}

func trimStop(s string) string { return strings.TrimRight(strings.TrimSpace(s), ". ") }
