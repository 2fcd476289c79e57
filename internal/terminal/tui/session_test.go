package tui

import (
	"context"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/terminal/conversation"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// A session whose context has ended does not report that as the end of the connection.
func TestReceive_SessionEnded(t *testing.T) {
	g := meuptest.Start(t, `spaces: {lab: {participants: {alice: {token: alice-token}}}}`)
	c, err := client.Dial(testkit.Deadline(t), client.Options{URL: g.URL("lab"), Token: "alice-token"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &session{client: c, ctx: ctx, events: make(chan conversation.Event, 100)}
	for range cap(s.events) { // post may choose either of events and ctx
		s.receive()
	}
	for len(s.events) > 0 {
		if e, ended := (<-s.events).(conversation.Ended); ended {
			t.Fatalf("the session has ended by itself, and reports %v", e.Err)
		}
	}
}
