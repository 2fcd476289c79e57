// Package queue works off the jobs of the Reasoning API that wait in NATS
// JetStream. The package reasoner is the other end: it puts jobs in and waits
// for their results.
//
// # Two streams
//
// The stream of jobs is a work queue: a message a job, on a subject made of
// its correlation id, so that a second job of the same id finds the place
// taken. A worker that has settled a job acknowledges it, which removes it. It
// does not wait for that: should the acknowledgement get lost, the job comes
// again, its result is found, and nothing is done.
//
// The stream of results has one message a correlation id: the first that is
// written, by a worker or by whoever cancels. A second one is refused by the
// stream itself. What is written is announced on a subject of its own, to
// which clients have subscribed; they do not poll. Results are dropped after a
// time (Options.ResultTTL), the oldest sooner when there are too many bytes of
// them (Options.ResultBytes).
//
// # What is promised
//
// A job whose submission was acknowledged is settled by exactly one result:
// done, failed or canceled. A worker that dies leaves its job to the next one,
// AckWait after its last sign of life; a job that was begun MaxDeliver times
// and never settled is answered with the error too_many_attempts. A decision
// may be made twice, when a worker dies or loses its connection between
// making it and writing it down; written down, and seen by clients, it is
// once.
//
// A callback is posted at least once, or given up, before its job is
// acknowledged. Workers do not wait for that: Options.Posters callbacks are
// posted at the same time, a quarter of them to one host at most, and their jobs
// stay in the queue meanwhile. Where there is no place for one, its job comes
// again later and its result is found. Who dies or stops in between leaves the
// callback to another process, which posts it, perhaps again.
//
// A cancellation ends a job at any time before it is acknowledged. Of a job with
// a result the result stays; that its callback is canceled is written into it,
// and the worker that posts the callback is notified, or sees it soon.
//
// A correlation id stands for one request. A result says which (wire.Digest),
// and another request of the same id is refused.
//
// How safe an acknowledged submission is depends on the NATS. On the embedded
// one it is synced to the disk before it is acknowledged and survives a power
// cut. On another one it is as its configuration says: with one replica,
// NATS syncs every two minutes unless sync_interval is "always", and a power
// cut takes what came since; with three, it is on a majority of the servers.
//
// A result is stored before it is announced and before its job is removed, with
// the same safety as jobs: on the embedded NATS it is synced. So a job has one
// result, also when the process is killed at any moment.
//
// # What it costs
//
// On a NATS that syncs every write a job costs three syncs: when it is
// submitted, when its result is written, and when it is removed. The disk's
// time for them bounds a queue. Measured and left out, since they gain nothing: jobs spread over
// several streams, results or the consumer's state in memory, submissions in
// atomic batches. Acknowledgements that are waited for cost a third to a half
// of the throughput.
//
// # Goroutines
//
//	work     Options.Workers of them: take a job, decide, write, acknowledge
//	post     up to Options.Posters: post a callback, acknowledge
//	beat     one: tells JetStream which jobs are being worked on
//	watch    one: looks whether they, or their callbacks, were canceled meanwhile
//	status   one: the line for operators
//
// All of them end with [Queue.Run].
package queue
