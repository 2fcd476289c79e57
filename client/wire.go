package client

import (
	"encoding/json"
	"fmt"

	"github.com/meup-protocol/meup/protocol"
)

// decode decodes a frame of the gateway. The envelope shares the frame's bytes.
func decode(frame []byte) (protocol.Envelope, error) {
	env, err := protocol.DecodeDelivered(frame)
	if err != nil {
		return env, fmt.Errorf("read frame of the gateway: %w", err)
	}
	return env, nil
}

// encode encodes an envelope and validates it as the gateway will. The gateway
// cannot name the id of a frame that it cannot decode, so the sender of such a
// frame would wait forever: it must not be sent.
func encode(env *protocol.Envelope) ([]byte, error) {
	frame := protocol.AppendEnvelope(nil, protocol.DialectMEUP01, env)
	if _, refusal := protocol.Decode(append([]byte(nil), frame...), protocol.DialectMEUP01, protocol.MaxContextBytes); refusal != nil {
		return nil, refusal
	}
	return frame, nil
}

// payload decodes the payload of a frame from the gateway.
func payload[T any](env *protocol.Envelope) (T, error) {
	var v T
	if err := json.Unmarshal(env.Payload, &v); err != nil {
		return v, fmt.Errorf("read payload of %s: %w", env.Kind, err)
	}
	return v, nil
}
