// Package replica is a gateway's local copy of the log that JetStream stores: a
// database of entries that is built by applying the messages of the streams.
//
// A [Stream] decides the drafts of its messages, see [Stream.Apply]. What an
// applied message has to cause elsewhere goes to a [Sink].
//
// The replica is written without sync, each batch together with the [Position]
// of the stream that it covers; after a crash the stream resumes from there.
// The replica can be lost at any time: it is rebuilt from the streams.
//
// # Digests
//
// The position of a stream includes the digest of the replica's entries of that
// stream: a sum of hashes, from which a trim subtracts. [Marks] keeps digests
// at certain positions, so that gateways can compare them.
//
// Digests are not comparable everywhere. A gateway that finds messages purged
// lacks the entries that others drop only at the trim after them. After a gap
// it therefore records no marks before the position at which the stream ended
// then.
package natsjournal
