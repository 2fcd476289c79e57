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

func partEnded() protocol.Envelope {
	return protocol.Envelope{ID: "k", From: "critic", Kind: protocol.KindReasoningConclusion, Context: "c/p", Payload: []byte(`{"message":"Yes."}`)}
}

// A participant whose return was missed has not left.
func TestAwaitPart_ReturnIsMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &Agent{opts: Options{Space: connected{}, DelegateTimeout: time.Minute, After: time.After}}
		box := make(chan protocol.Envelope, 1)
		box <- protocol.Envelope{Kind: protocol.KindSystemPresence, Payload: []byte(`{"event":"leave","participant":{"id":"critic"}}`)}
		time.AfterFunc(2*awayTimeout, func() { box <- partEnded() })
		if out := a.awaitPart(t.Context(), "c/p", "critic", box); !out.Success || out.Ref != "k" {
			t.Errorf("%+v", out)
		}
	})
}

// A conclusion that comes together with the end of the wait counts.
func TestAwaitPart_AtTheEndOfTheWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := &Agent{opts: Options{Space: connected{}, DelegateTimeout: time.Minute, After: time.After}}
	for range 50 { // the choice of select is random
		box := make(chan protocol.Envelope, 2)
		box <- protocol.Envelope{Kind: protocol.KindReasoningThought, Context: "c/p"}
		box <- partEnded()
		if out := a.awaitPart(ctx, "c/p", "critic", box); !out.Success {
			t.Fatalf("%+v", out)
		}
	}
}
