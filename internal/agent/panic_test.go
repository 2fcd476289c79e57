package agent_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

// A planner that panics fails one question; the agent continues.
func TestPlanner_Panic(t *testing.T) {
	g := meuptest.Start(t, config)
	alice, space := join(t, g, "alice"), join(t, g, "planner")
	var log bytes.Buffer // the logger writes one line at a time; it is read after the agent has ended
	a := agent.New(agent.Options{
		Space: space, OwnToolsOnly: true, Logger: slog.New(slog.NewJSONHandler(&log, nil)),
		Planner: deciding(func(_ context.Context, s planner.State) (planner.Decision, error) {
			if strings.Contains(s.Question, "secret") {
				panic("cannot decide on " + s.Question)
			}
			return planner.Decision{Action: contextwindow.Finish, Answer: "Here I am.", Conclusion: "done"}, nil
		}),
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	for _, test := range []struct{ ask, want string }{
		{"what is the secret?", "I have stopped looking into this: the planner failed."},
		{"still there?", "Here I am."},
	} {
		question := ask(t, alice, test.ask)
		all := conversation(t, alice, answerTo(question))
		if text, _ := decode(t, last(all))["message"].(string); text != test.want {
			t.Errorf("%s: answer %q\n%s", test.ask, text, script(all))
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	_ = space.Close()
	said := log.String()
	if !strings.Contains(said, `"level":"ERROR","msg":"the planner panicked"`) || !strings.Contains(said, "goroutine ") {
		t.Errorf("the log has no stack:\n%s", said)
	}
	if strings.Contains(said, "cannot decide on") {
		t.Errorf("the log quotes what was asked:\n%s", said)
	}
}
