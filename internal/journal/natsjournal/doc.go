// Package natsjournal keeps the log of all spaces on NATS JetStream, so that
// several gateways that name the same NATS are one space for their clients.
//
// # A replicated state machine
//
// The truth is 64 JetStream streams; a space belongs to one of them by the
// hash of its name. [Journal.Append] publishes drafts, packed into blocks of
// one space each, and decides nothing. Every gateway follows every stream and
// applies the blocks in the order in which the stream holds them, by the same
// rules, to a replica of its own (entrydb). So all gateways come to the same
// decision on every draft without talking to each other:
//
//   - its id is taken by the same sender: a retry; by another: a duplicate;
//   - its Basis is older than the space's last state entry: refused as stale,
//     and with it what stands behind it of the same Append;
//   - otherwise it is an entry, with Seq = sequence of the message * 1024 +
//     position in the block.
//
// A refused draft stays in its stream as a few dead bytes; no replica has it
// and nobody sees it. Append returns when the gateway has applied the block
// itself and the sink has the entries.
//
// # The replica
//
// It is written without sync, each batch together with the position of the
// stream that it covers; a gateway that was killed goes on from there. It can
// be lost at any time: it is made again from the streams.
//
// A gap in what a stream delivers is passed only if the stream proves that the
// messages were removed. A copy that has what its stream lacks (the stream was
// made again, or lost its last messages) is kept aside. The log id of a space
// is the time at which its stream was made and the stream's epoch: a control
// block that the first gateway publishes that notices a loss. If there is
// nothing on NATS to go on from, an operator decides ([Options].AcceptLoss).
//
// # Comparing replicas
//
// The position of a stream includes the digest of the entries that the replica
// has of it: a sum of hashes, from which a trim subtracts. Gateways publish
// their digests to each other ([auditor]) and compare those at equal positions.
// Two that differ do not show which one is wrong, so both verify themselves: a
// second [Journal] in the same process makes a copy from the streams while the
// first goes on. If the copies differ, the second one takes the place of the
// replica. The streams start again from its positions, which the sink has
// passed, so no reader misses an entry; those of the streams that differed are
// notified as of a replaced log.
//
// Digests are not comparable everywhere. A gateway that finds messages purged
// lacks the entries that others drop only at the trim behind them. After a gap
// it therefore compares nothing before the end that the stream had then.
//
// # Retention
//
// What is due is decided by one gateway and done by all: a control block "trim
// this space below that Seq" is applied like every other. Then the messages
// are purged from the stream. State entries have a subject of their own that
// is never purged. See guard for the one trap in this.
//
// # Goroutines
//
//	stream.run     one a stream: follows, applies, writes the replica
//	checks.ask     at most one a stream, for one question to JetStream
//	feed.receive   nats.go's, one a stream: decodes blocks for it
//	deliver        one: calls the sink, then answers Append
//	publish        one for each block under way, at most 64 a stream
//	supervise      one: starts the streams, repairs the replica
//	watch          one: connection, readiness
//	retain         one: retention
//	audit          one: compares replicas; verifies and replaces this one
//
// All of them end with [Journal.Close].
package natsjournal
