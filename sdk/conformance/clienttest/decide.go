package clienttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/meup-protocol/meup/protocol"
	"github.com/meup-protocol/meup/sdk/conformance/vector"
)

// decide gives a frame the fate of its step.
func (g *game) decide(ctx context.Context, s vector.Step, in *inbound) error {
	switch s.Fate {
	case vector.Admit:
		return g.admit(ctx, in)
	case vector.Lost:
		return nil
	case vector.Silent:
		g.log.add(&in.env)
		return nil
	case vector.Hold:
		g.held = append(g.held, in)
		return nil
	case vector.Error:
		text, err := g.fill(s.Error)
		if err != nil {
			return err
		}
		return g.notify(ctx, protocol.KindSystemError, in.env.ID, json.RawMessage(text))
	}
	return fmt.Errorf("%q is no outcome", s.Fate)
}

// release admits the held frames.
func (g *game) release(ctx context.Context) error {
	if len(g.held) == 0 {
		return errors.New("no frame is held")
	}
	held := g.held
	g.held = nil
	for _, in := range held {
		if err := g.admit(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// admit stores a frame, acknowledges it and echoes it.
func (g *game) admit(ctx context.Context, in *inbound) error {
	switch {
	case in.env.Kind == protocol.KindSystemSubscribe:
		_ = g.notify(ctx, protocol.KindSystemSubscribed, in.env.ID, in.env.Payload)
		return nil
	case in.env.Kind.IsLive():
		_, in.env.Seq = g.log.state()
	default:
		g.log.add(&in.env)
	}
	g.acknowledge(ctx, &in.env)
	if g.conn != nil && g.conn.echo {
		_ = g.deliver(ctx, &in.env) // a program that has left needs none
	}
	return g.answerList(ctx, &in.env)
}

// acknowledge sends a system.ack. A program that has left needs none.
func (g *game) acknowledge(ctx context.Context, env *protocol.Envelope) {
	_ = g.notify(ctx, protocol.KindSystemAck, env.ID, protocol.Ack{Seq: env.Seq})
}

// answerList answers tools/list in place of the participant tools.
func (g *game) answerList(ctx context.Context, request *protocol.Envelope) error {
	payload := request.ParsePayload()
	if request.Kind != protocol.KindMCPRequest || !request.AddressedTo(tools) || !payload.Get("method").EqualText("tools/list") {
		return nil
	}
	id := string(payload.Get("id").Raw())
	if id == "" {
		id = string(protocol.AppendString(nil, string(request.ID)))
	}
	response := protocol.Envelope{
		ID: newID(), From: tools, To: []protocol.ParticipantID{bot}, Kind: protocol.KindMCPResponse,
		Context: request.Context, Correlation: protocol.CorrelateTo(request.ID),
		Payload: json.RawMessage(`{"jsonrpc":"2.0","id":` + id + `,"result":{"tools":[{"name":"echo","description":"Returns its argument.",
			"inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}}`),
	}
	g.log.add(&response)
	return g.deliver(ctx, &response)
}
