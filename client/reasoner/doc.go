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
// empty, every name is valid.
package reasoner
