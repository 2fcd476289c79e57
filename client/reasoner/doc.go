// Package reasoner is a client of the Reasoning API: it asks a service for an
// agent's next action, a tool to call or the final text.
//
// There are two ways to the same answers. [New] asks over HTTP. [NewQueue] puts
// a job into a queue on NATS JetStream and waits for its result; it needs no
// HTTP, and a service that restarts in between loses nothing. [Open] takes the
// one that the environment names.
//
// # Time
//
// One attempt takes at most Options.Timeout. Over HTTP an attempt that timed
// out, or was answered with a status of 5xx, is repeated up to Options.Retries
// times after a pause; whatever else goes wrong, a refused connection too, is
// reported at once. In the queue an attempt that timed out goes on waiting for
// the same job, and submits it again should it have been lost. Errors of time
// match [ErrTimeout]. The job of a client that no longer waits is done
// nevertheless: ask again under the same correlation id and its result is
// there.
//
// # Tools
//
// An answer that names a tool which was not offered is a [*ValidationError].
// What was offered are the request's own tools, or else Options.Tools; with
// neither, every name passes.
package reasoner
