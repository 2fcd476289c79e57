// Package protocol defines the types shared by all parts of a space: the
// envelope, the kinds, context paths, filters, error and close codes, and the
// three dialects, which spell the same envelopes differently.
//
// An envelope passes through this package as follows: a frame arrives as bytes,
// [Decode] converts it to an [Inbound] or returns an [Error], the gateway sets
// From, TS and Seq, and [AppendEnvelope] encodes it for each receiver in the
// receiver's [Dialect]. The payload is parsed once, for checking, and forwarded
// as the original bytes. A receiver decodes the envelope with
// [DecodeDelivered].
//
// The package imports only strictjson and the standard library, so that a client in Go costs
// nothing else. docs/protocol.md specifies the wire format; section
// numbers in comments refer to it.
package protocol
