// Package reasoner is a client of the Reasoning API: it requests an agent's
// next action from a service, a tool call or the final text.
//
// There are two transports for the same responses. [New] uses HTTP. [NewQueue]
// adds a job to a queue on NATS JetStream and waits for its result; it needs no
// HTTP, and no job is lost when a service restarts. [Open] uses the transport
// that the environment selects.
//
// # Timeouts
//
// Options.Timeout bounds one attempt. Over HTTP, an attempt that timed out or
// got a 5xx status is retried up to Options.Retries times after a delay; all
// other errors, including a refused connection, are returned immediately. With
// the queue, an attempt that timed out continues to wait for the same job, and
// submits it again if it was lost. Timeout errors match [ErrTimeout]. The job
// is processed even if its client no longer waits: request it again with the
// same correlation id to get its result.
//
// # Tools
//
// A response with a tool that was not offered is a [*ValidationError]. The
// offered tools are the request's own tools, or else Options.Tools; if both are
// empty, [wire.SearchTool] and the tool that the request forces.
package reasoner

import (
	"context"
	"net/http"
	"slices"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// Client is a client of the Reasoning API. Its methods are safe for concurrent
// use.
//
// Errors: [*APIError] if the service rejects a request or fails, [ErrTimeout],
// [ErrResponse], [*ValidationError], [ErrCanceled] for a canceled job, and ctx's error.
type Client interface {
	// AgentIntent returns an agent's next action. It does not modify req; if
	// req has no correlation id, the queue client generates one.
	AgentIntent(ctx context.Context, req *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error)
	// AgentIntentAsync returns once the service has accepted the request. The
	// result is posted to the request's callback URL, which is optional with
	// the queue: AgentIntent returns the result for the same correlation id.
	// Over HTTP, a request whose acceptance was lost is sent again and may be
	// answered twice; in the queue it is the same job.
	AgentIntentAsync(ctx context.Context, req *wire.AgentIntentRequest) (*wire.Accepted, error)
	// Cancel cancels the unsettled jobs of a correlation id, and reports
	// whether there were any.
	Cancel(ctx context.Context, correlationID string) (bool, error)
	// Workflow returns a workflow's next transition.
	Workflow(ctx context.Context, req *wire.WorkflowIntentRequest) (*wire.WorkflowIntentResponse, error)
	// Close ends the client's own connections and goroutines.
	Close() error
}

// validate checks a response against the offered tools.
func (o *Options) validate(req *wire.AgentIntentRequest, resp *wire.AgentIntentResponse) (*wire.AgentIntentResponse, error) {
	if resp.Status == wire.StatusError {
		return nil, &APIError{Status: http.StatusOK, Code: resp.Error, Message: resp.Message, Usage: resp.Usage}
	}
	offered := o.Tools
	switch {
	case len(req.Tools) > 0:
		offered = make([]string, 0, len(req.Tools))
		for _, t := range req.Tools {
			offered = append(offered, t.Name)
		}
	case len(offered) == 0:
		offered = []string{wire.SearchTool, req.ForcedTool}
	}
	if resp.ToolName != "" && !slices.Contains(offered, resp.ToolName) {
		return nil, &ValidationError{Tool: resp.ToolName, Offered: offered, Usage: resp.Usage}
	}
	return resp, nil
}
