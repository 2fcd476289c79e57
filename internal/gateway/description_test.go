package gateway_test

import (
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/meuptest"
)

// The description of a participant is in the welcome, over HTTP, and new after a reload.
func TestDescription(t *testing.T) {
	t.Parallel()
	const configuration = `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      planner: {token: planner-token, capabilities: [chat], description: `
	g := meuptest.Start(t, configuration+"Answers questions.}\n")
	planner, err := client.Dial(t.Context(), client.Options{URL: "ws://" + g.Addr() + "/ws", Space: "lab", Token: "planner-token"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = planner.Close() })
	listed := func() string {
		roster, err := g.API(t, "alice").Roster(t.Context(), "lab")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range roster.Participants {
			if p.ID == "planner" {
				return p.Description
			}
		}
		return "not connected"
	}
	if w := planner.Welcome(); len(w.Participants) != 1 || w.Participants[0].Description != "Answers questions." {
		t.Errorf("the welcome lists %+v", w.Participants)
	}
	if got := listed(); got != "Answers questions." {
		t.Errorf("over HTTP it is %q", got)
	}
	g.Reload(configuration + "Plans releases.}\n")
	if got := listed(); got != "Plans releases." {
		t.Errorf("after a reload it is %q", got)
	}
}
