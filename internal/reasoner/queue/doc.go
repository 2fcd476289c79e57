// Package queue processes the asynchronous jobs of the Reasoning API. A [Queue] takes
// them from NATS JetStream; its clients use package client/reasoner, which submits jobs
// and waits for results. A [Pool] has jobs of this process only. The rest is about the
// Queue.
//
// # Two streams
//
// The stream of jobs is a work queue: one message per job, on a subject derived
// from its correlation id, so that a second job with the same id is rejected. A
// worker acknowledges a settled job, which removes it. It does not wait for the
// confirmation: if the acknowledgement is lost, the job is redelivered, its
// result is found, and nothing else is done.
//
// The stream of results has one message per correlation id: the first that is
// written, by a worker or by a canceling client. The stream rejects a second
// one. JetStream republishes each result on a subject that clients subscribe
// to; they do not poll. Results expire after Options.ResultTTL; the oldest are
// dropped earlier when they exceed Options.ResultBytes.
//
// # Guarantees
//
// A job whose submission was acknowledged is settled by exactly one result:
// done, failed or canceled. If a worker dies, its job is redelivered AckWait
// after its last heartbeat. A job that was started MaxDeliver times and never
// settled fails with the error too_many_attempts. A decision may be made twice,
// if a worker dies or loses its connection after making it and before writing
// it; it is written, and seen by clients, once.
//
// A callback is posted at least once, or given up, before its job is
// acknowledged. Workers do not wait for callbacks: up to
// Options.CallbackWorkers are posted at the same time, at most a quarter of
// them to one host, and their jobs stay in the queue meanwhile. If there is no
// free slot, the job is redelivered later and its result is found. If a process
// dies or stops during a callback, another process posts it, possibly again.
//
// A cancellation can end a job at any time before it is acknowledged. If the
// job has a result, the result is kept; the cancellation of its callback is
// written into it, and the worker that posts the callback is notified, or
// detects it soon.
//
// A correlation id identifies one request. A result contains the digest of its
// request (wire.Digest), and another request with the same id is rejected.
//
// The durability of an acknowledged submission depends on the NATS server. The
// embedded server syncs it to disk before it acknowledges, so it survives a
// power failure. For other servers it depends on their configuration: with one
// replica, NATS syncs every two minutes unless sync_interval is "always", and a
// power failure loses writes since the last sync; with three, a majority of the
// servers has it.
//
// A result is stored before it is announced and before its job is removed, with
// the same durability as jobs: the embedded server syncs it. So a job has one
// result even if the process is killed at any moment.
//
// # Costs
//
// On a server that syncs every write, a job costs three syncs: for its
// submission, its result and its removal. The time of the disk for them limits
// a queue. Measured and rejected, since they gain nothing: spreading jobs over
// several streams, keeping results or the consumer's state in memory,
// submitting in atomic batches. Waiting for confirmed acknowledgements costs a
// third to a half of the throughput.
//
// # Goroutines
//
//	work       Options.Workers of them: receive a job, decide, write, acknowledge
//	post       up to Options.CallbackWorkers: post a callback, acknowledge
//	heartbeat  one: extends the leases of running jobs
//	watch      one: checks whether jobs or their callbacks were canceled, and whether
//	           the streams and the consumer are there; creates what was deleted
//	status     one: logs the status line
//
// All of them end with [Queue.Run].
package queue
