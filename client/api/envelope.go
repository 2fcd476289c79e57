package api

import "github.com/meup-protocol/meup/protocol"

// DecodeEnvelope decodes an envelope in the dialect meup/v0.1, as gateways send
// it: a line of JSON Lines, or the data of an event. It calls
// [protocol.DecodeDelivered] and shares the text's bytes.
func DecodeEnvelope(text []byte) (protocol.Envelope, error) { return protocol.DecodeDelivered(text) }
