package tui_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/terminal/tui"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// heldReads is an API whose reads of turns block until the context ends.
type heldReads struct{ tui.API }

func (h heldReads) TurnOf(ctx context.Context, _ string, _ protocol.ID) (*api.TurnOf, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestMessages_ReadsBusy sends more messages than reads may be in progress,
// while none of the reads ends.
func TestMessages_ReadsBusy(t *testing.T) {
	g := meuptest.Start(t, config)
	l := openPlain(t, g, "alice", func(o *tui.Options) { o.API = heldReads{o.API} })
	l.sees("Joined lab as alice")
	bob := dial(t, g, "bob")
	const count = 80
	for i := range count {
		l.enters(fmt.Sprintf("message %d", i))
	}
	for i := 0; i < count; {
		e, err := bob.Receive(testkit.Deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		if e.From == "alice" && e.Kind == protocol.KindChat {
			i++
		}
	}
	l.enters("/who")
	if got := l.sees("* Participants:"); strings.Contains(got, "Not sent") || strings.Contains(got, "too many") {
		t.Error(got)
	}
}
