package api

import "github.com/meup-protocol/meup/protocol"

// DecodeEnvelope reads an envelope as a gateway gives it in the dialect
// meup/v0.1: a line of JSON Lines, or the data of an event. It is
// [protocol.DecodeDelivered] and shares the text's bytes.
func DecodeEnvelope(text []byte) (protocol.Envelope, error) { return protocol.DecodeDelivered(text) }
