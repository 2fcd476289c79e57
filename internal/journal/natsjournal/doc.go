// Package natsjournal stores the logs of all spaces in NATS JetStream, so that
// several gateways on the same NATS serve the same spaces.
//
// # A replicated state machine
//
// The source of truth is 64 JetStream streams; a space belongs to one of them by the hash of its name.
// [Journal.Append] publishes drafts, packed into blocks of one space each, and decides nothing. Every gateway
// follows every stream and applies the blocks in stream order, by the same rules, to its own replica, see
// [replicaStream.Apply]. So all gateways make the same decision on every draft without communication.
//
// A rejected draft stays in its stream as a few dead bytes; no replica has it and no reader sees it. Append
// returns when this gateway has applied the block and the sink has the entries.
//
// # The replica
//
// A gap in the messages of a stream is skipped only if the stream proves that the messages were removed. A copy
// with messages that its stream lacks (the stream was recreated, or lost its last messages) is not used and not
// changed until an operator decides: [Options].AcceptLoss, or [Options].RestoreLog, which publishes the missing
// entries again. Until then a hold, a control block of the stream, stops the gateways whose copies show no loss.
// The decision begins a new epoch, another control block. A copy that never had the epoch is set aside; one that had it shows that the stream went back. The log id of a space is the creation time of its stream
// and the stream's epoch.
//
// # Comparing replicas
//
// Gateways publish the digests of their replicas to each other and compare them at equal positions, see
// [auditor]. A difference does not show which replica is wrong, so both gateways verify their own: a second
// [Journal] in the same process makes a copy from the streams while the first remains in use. If the copies
// differ, the second one replaces the replica. The streams restart from its positions. The sink has passed
// these, so no reader misses an entry; readers of the streams that differed are notified of a replaced log.
//
// # Retention
//
// One gateway decides on trims and all apply them: a control block "trim this space below that Seq" is applied
// like every other block. The block before it has the base of the space, so a new gateway has it, too. Then the
// messages are purged from the stream. State entries have a subject of their own that is never purged.
// [replica.PurgeBound] prevents the one hazard of purges.
//
// # Goroutines
//
//	stream.run     one per stream: follows, applies, writes the replica
//	checks.start   at most one per stream, for one request to JetStream
//	feed.receive   nats.go's, one per stream: decodes blocks for it
//	deliver        one: calls the sink, then sends the results of Append
//	Publisher.work at most two per space with calls of Append in progress
//	supervise      one: starts the streams, repairs the replica
//	watch, retain, addReplicas, audit: one each
//
// [Journal.Close] ends all of them.
package natsjournal
