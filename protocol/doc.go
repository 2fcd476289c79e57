// Package protocol holds what every part of a space agrees on: the envelope,
// the kinds, context paths, filters, error and close codes, and the three
// dialects in which the same envelope may be spelled.
//
// The life of an envelope, as this package sees it: a frame arrives as bytes,
// [Decode] turns it into an [Inbound] or into an [Error] that says what is
// wrong with it, the gateway stamps From, TS and Seq, and [AppendEnvelope]
// spells it for each receiver in the receiver's own [Dialect]. The payload is
// parsed once, for checking, and travels on as the bytes it came in. Whoever
// receives it reads it with [DecodeDelivered].
//
// The package imports the standard library only, so that a client in Go costs
// nothing else. The wire contract is written down in docs/protocol.md; section
// numbers in comments refer to it.
package protocol
