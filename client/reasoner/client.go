package reasoner

import (
	"context"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// Client asks a Reasoning API. Its methods may be called at the same time.
//
// Errors: [*APIError] for what the service refused, [ErrTimeout],
// [*ValidationError], [ErrCanceled] for a job that somebody canceled, and ctx's
// own.
type Client interface {
	// AgentIntent returns an agent's next action. It does not change req; where
	// there is no correlation id, the queue makes one.
	AgentIntent(ctx context.Context, req *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error)
	// AgentIntentAsync returns once the service has the request. The answer
	// goes to the request's callback URL. In the queue there need be none: the
	// answer is there for AgentIntent, under the same correlation id. Over HTTP
	// a request whose acceptance got lost is sent again and may be answered
	// twice; in the queue it is the same job.
	AgentIntentAsync(ctx context.Context, req *wire.AgentIntentRequest) (*wire.Accepted, error)
	// Cancel cancels the jobs of a correlation id that are not settled, and
	// reports whether there were any.
	Cancel(ctx context.Context, correlationID string) (bool, error)
	// Workflow returns a workflow's next transition.
	Workflow(ctx context.Context, req *wire.WorkflowIntentRequest) (*wire.WorkflowIntentResponse, error)
	// Close ends what the client has of connections and goroutines.
	Close() error
}
