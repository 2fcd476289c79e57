package telemetry

import (
	"context"
	"errors"
	"net"
	"strconv"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// The values of error.type, in addition to the HTTP status of a provider's
// refusal.
const (
	errorCanceled = "canceled"
	errorTimeout  = "timeout"
	errorCut      = "answer_cut_off"
	errorRefused  = "refused" // by a provider, within a stream
	errorNetwork  = "network"
	errorOther    = "_OTHER" // defined by the conventions
)

// errorType returns the class of an error. There are few classes, since they
// are metric labels.
func errorType(err error) string {
	if err == nil {
		return ""
	}
	if refused, ok := errors.AsType[*llm.Error](err); ok {
		if refused.Status >= 100 && refused.Status <= 599 {
			return strconv.Itoa(refused.Status)
		}
		return errorRefused
	}
	network, isNetwork := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, context.Canceled):
		return errorCanceled
	case errors.Is(err, context.DeadlineExceeded), isNetwork && network.Timeout():
		return errorTimeout
	case errors.Is(err, llm.ErrTruncated):
		return errorCut
	case isNetwork:
		return errorNetwork
	default:
		return errorOther
	}
}
