package client

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/meup-protocol/meup/protocol"
)

// decode reads a frame of the gateway. The envelope shares the frame's bytes.
// The gateway is trusted to send what section 1 promises; what it does not
// promise (a kind or a field that this version does not know) passes.
func decode(frame []byte) (protocol.Envelope, error) {
	var env protocol.Envelope
	doc, err := protocol.ParseJSON(frame, protocol.MaxDepth+1)
	if err != nil {
		return env, fmt.Errorf("read frame of the gateway: %w", err)
	}
	root := doc.Root()
	if root.Type() != protocol.TypeObject {
		return env, errors.New("read frame of the gateway: not an object")
	}
	for key, v := range root.Members {
		setField(&env, key, v)
	}
	if env.Kind == "" {
		return env, errors.New("read frame of the gateway: no kind")
	}
	return env, nil
}

func setField(env *protocol.Envelope, key, v protocol.Value) {
	switch key.Text() {
	case "protocol":
	case "id":
		env.ID = protocol.ID(v.Text())
	case "ts":
		env.TS, _ = protocol.ParseTime(v.Text())
	case "from":
		env.From = protocol.ParticipantID(v.Text())
	case "to":
		for x := range v.Elements {
			env.To = append(env.To, protocol.ParticipantID(x.Text()))
		}
	case "kind":
		env.Kind, _ = protocol.ParseKind(v.Text())
	case "correlationId":
		env.Correlation = correlation(v)
	case "context":
		env.Context = protocol.ContextPath(v.Text())
	case "payload":
		env.Payload = v.Raw()
	case "seq":
		n, _ := v.Int()
		env.Seq = protocol.Seq(max(n, 0))
	default:
		if len(env.Extra) > 0 {
			env.Extra = append(env.Extra, ',')
		}
		env.Extra = append(env.Extra, key.Raw()...)
		env.Extra = append(env.Extra, ':')
		env.Extra = append(env.Extra, v.Raw()...)
	}
}

func correlation(v protocol.Value) protocol.Correlation {
	if v.Type() == protocol.TypeString {
		return protocol.CorrelateTo(protocol.ID(v.Text()))
	}
	c := protocol.Correlation{Array: true}
	for x := range v.Elements {
		c.IDs = append(c.IDs, protocol.ID(x.Text()))
	}
	return c
}

// encode spells an envelope and checks its form the way the gateway will. A
// frame that the gateway cannot read has no id for its answer to name, so that
// whoever sent it would wait for ever: it must not leave.
func encode(env *protocol.Envelope) ([]byte, error) {
	frame := protocol.AppendEnvelope(nil, protocol.MEUP1, env)
	if _, refusal := protocol.Decode(append([]byte(nil), frame...), protocol.MEUP1, protocol.MaxContextBytes); refusal != nil {
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
