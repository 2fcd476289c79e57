package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// connected is a space in which the critic is connected.
type connected struct{ Space }

func (connected) Welcome() protocol.Welcome {
	return protocol.Welcome{Participants: []protocol.Participant{{ID: "critic"}}}
}

func partStart() protocol.Envelope {
	return protocol.Envelope{ID: "p", Kind: protocol.KindReasoningStart, Context: "c"}
}

func nothing(*protocol.Envelope) {}

func partEnded() protocol.Envelope {
	return protocol.Envelope{ID: "k", From: "critic", Kind: protocol.KindReasoningConclusion, Context: "c/p", Payload: []byte(`{"message":"Yes."}`)}
}

// A participant whose return was missed has not left.
func TestAwaitPart_ReturnIsMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &Agent{opts: Options{Space: connected{}, After: time.After}}
		box := make(chan protocol.Envelope, 1)
		box <- protocol.Envelope{Kind: protocol.KindSystemPresence, Payload: []byte(`{"event":"leave","participant":{"id":"critic"}}`)}
		time.AfterFunc(2*awayTimeout, func() { box <- partEnded() })
		if end, err := a.awaitPart(t.Context(), partStart(), "critic", time.Minute, box, nothing); err != nil || end.ID != "k" {
			t.Errorf("%+v, %v", end, err)
		}
	})
}

// A conclusion that comes together with the end of the wait counts.
func TestAwaitPart_AtTheEndOfTheWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := &Agent{opts: Options{Space: connected{}, After: time.After}}
	for range 50 { // the choice of select is random
		box := make(chan protocol.Envelope, 2)
		box <- protocol.Envelope{Kind: protocol.KindReasoningThought, Context: "c/p"}
		box <- partEnded()
		if end, err := a.awaitPart(ctx, partStart(), "critic", time.Minute, box, nothing); err != nil {
			t.Fatalf("%+v, %v", end, err)
		}
	}
}
