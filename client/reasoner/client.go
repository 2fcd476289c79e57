package reasoner

import (
	"context"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// Client is a client of the Reasoning API. Its methods are safe for concurrent
// use.
//
// Errors: [*APIError] if the service rejects a request or fails, [ErrTimeout],
// [*ValidationError], [ErrCanceled] for a canceled job, and ctx's error.
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
