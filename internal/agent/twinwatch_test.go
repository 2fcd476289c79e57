package agent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/protocol"
)

// The watch of a question ends with its answer, and goes on when it is withdrawn, since the
// process that worked on it may be gone.
func TestWatch_Gone(t *testing.T) {
	for kind, want := range map[protocol.Kind]bool{protocol.KindChat: false, protocol.KindChatCancel: true} {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var box agent.Inbox
				w := agent.TwinWatch{You: "planner", Question: "question", Inbox: &box, Interval: time.Minute, After: time.After,
					Send: func(context.Context, protocol.Envelope) (protocol.Seq, error) { return 7, nil }}
				time.AfterFunc(time.Second, func() {
					box.Deliver(&protocol.Envelope{From: "planner", Kind: kind, Correlation: protocol.CorrelateTo("question")})
				})
				asked, gone := w.Gone(t.Context(), time.Minute)
				if gone != want || gone && asked != 7 {
					t.Errorf("gone %v at %d, want %v", gone, asked, want)
				}
			})
		})
	}
}
