package gateway_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// dropAll is a retention that drops what was sent before the first round: when a gateway
// with an embedded log starts, or up to 5 s after it with NATS.
const dropAll = "retention: {age: 1ms}\n"

// askIn sends the chats of a thread with these numbers, each after the one before.
func askIn(t *testing.T, c *api.Client, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		e := protocol.Envelope{ID: protocol.ID(fmt.Sprint("q", n)), Kind: protocol.KindChat, Payload: []byte(`{"message":"and?"}`)}
		if n > 1 {
			e.Correlation = protocol.CorrelateTo(protocol.ID(fmt.Sprint("q", n-1)))
		}
		testkit.Eventually(t, "a question is admitted", func() bool {
			_, err := c.Send(t.Context(), "lab", e)
			return !slow(t, err)
		})
	}
}

// wantTurns requires that these are the last turns of the thread.
func wantTurns(t *testing.T, c *api.Client, numbers ...int) {
	t.Helper()
	var h *api.History
	testkit.Eventually(t, "the thread is read", func() bool {
		var err error
		h, err = c.History(t.Context(), "lab", "q1", api.Page{Limit: len(numbers)})
		return !slow(t, err)
	})
	var got []int
	for _, turn := range h.Turns {
		got = append(got, turn.TurnNumber)
	}
	if fmt.Sprint(got) != fmt.Sprint(numbers) {
		t.Errorf("turns %v, want %v", got, numbers)
	}
}

// isEmpty reports whether the log has no chat any more.
func isEmpty(t *testing.T, c *api.Client) bool {
	t.Helper()
	page, err := c.Envelopes(t.Context(), "lab", api.EnvelopeQuery{})
	return !slow(t, err) && len(page.Envelopes) == 0
}

// slow reports whether an error asks to try again: NATS may be slow for a moment. Another one ends the test.
func slow(t *testing.T, err error) bool {
	t.Helper()
	if err != nil && protocol.AsError(err).Code != protocol.CodeUnavailable {
		t.Fatal(err)
	}
	return err != nil
}

// TestRetention_LostIndex: after retention has dropped a thread and the folder of the
// index was lost, answers continue the thread with the next number.
func TestRetention_LostIndex(t *testing.T) {
	dir := t.TempDir()
	config := meuptest.Config + "data: " + dir + "\n"
	g := meuptest.Start(t, config)
	alice := g.API(t, "alice")
	askIn(t, alice, 1, 2, 3)
	wantTurns(t, alice, 1, 2, 3)
	g.Reload(config + dropAll)
	g.Restart()
	testkit.Eventually(t, "the entries are dropped", func() bool { return isEmpty(t, alice) })
	g.Reload(config)
	g.Stop()
	if err := os.RemoveAll(filepath.Join(dir, "turns")); err != nil {
		t.Fatal(err)
	}
	g.Restart()
	askIn(t, alice, 4, 5)
	wantTurns(t, alice, 4, 5)
}

// TestRetention_NewGateway: a gateway that joins a cluster after retention has dropped a
// thread gives it the same numbers as the others.
func TestRetention_NewGateway(t *testing.T) {
	t.Parallel()
	config := onNATS(t, meuptest.Config)
	first := meuptest.Start(t, config).API(t, "alice")
	askIn(t, first, 1, 2, 3)
	wantTurns(t, first, 1, 2, 3)
	meuptest.Start(t, config+dropAll)
	testkit.Eventually(t, "the entries are dropped", func() bool { return isEmpty(t, first) })
	late := meuptest.Start(t, config).API(t, "alice")
	askIn(t, late, 4)
	askIn(t, first, 5)
	wantTurns(t, first, 4, 5)
	testkit.Eventually(t, "the answer at the other gateway arrives", func() bool {
		h, err := late.History(t.Context(), "lab", "q1", api.Page{Limit: 2})
		return err == nil && len(h.Turns) == 2
	})
	wantTurns(t, late, 4, 5)
}
