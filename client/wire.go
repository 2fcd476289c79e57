package client

import (
	"encoding/json"
	"fmt"

	"github.com/meup-protocol/meup/protocol"
)

// decode reads a frame of the gateway. The envelope shares the frame's bytes.
func decode(frame []byte) (protocol.Envelope, error) {
	env, err := protocol.DecodeDelivered(frame)
	if err != nil {
		return env, fmt.Errorf("read frame of the gateway: %w", err)
	}
	return env, nil
}

// encode spells an envelope and checks its form the way the gateway will. A
// frame that the gateway cannot read has no id for its answer to name, so that
// whoever sent it would wait for ever: it must not leave.
func encode(env *protocol.Envelope) ([]byte, error) {
	frame := protocol.AppendEnvelope(nil, protocol.DialectMEUP01, env)
	if _, refusal := protocol.Decode(append([]byte(nil), frame...), protocol.DialectMEUP01, protocol.MaxContextBytes); refusal != nil {
		return nil, refusal
	}
	return frame, nil
}

// payload reads the payload of a frame from the gateway.
func payload[T any](env *protocol.Envelope) (T, error) {
	var v T
	if err := json.Unmarshal(env.Payload, &v); err != nil {
		return v, fmt.Errorf("read payload of %s: %w", env.Kind, err)
	}
	return v, nil
}
