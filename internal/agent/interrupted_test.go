package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// interrupted leaves attempts to answer a question that ended with their process. The last
// one is open.
func interrupted(t *testing.T, g *meuptest.Gateway, question protocol.ID, attempts int) {
	t.Helper()
	for i := range attempts {
		start := protocol.Envelope{ID: protocol.ID(fmt.Sprintf("%s-%d", question, i)), Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo(question)}
		leave(t, g, start)
		if i < attempts-1 {
			leave(t, g, protocol.Envelope{Kind: protocol.KindReasoningCancel, Context: protocol.ContextPath(start.ID), Payload: []byte(`{"reason":"the agent was restarted"}`)})
		}
	}
}

// A question is given up, with a reason for the asker, when three attempts to answer it ended
// with their process; others of the log are answered.
func TestCatchUp_GivesUp(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	deadly, other := ask(t, alice, "which pill kills?"), ask(t, alice, "which one heals?")
	interrupted(t, g, deadly, 3)
	interrupted(t, g, other, 2)
	var all []protocol.Envelope
	for start := range 2 { // the second one leaves both
		stop := employ(t, g, "planner", agent.Options{CatchUp: intake.CatchUpAuto, OwnToolsOnly: true,
			Planner: deciding(func(_ context.Context, s planner.State) (planner.Decision, error) {
				if s.Question == "which pill kills?" || start > 0 {
					t.Errorf("start %d: the agent works on %q", start, s.Question)
				}
				return planner.Decision{Action: contextwindow.Finish, Answer: "this one", Conclusion: "this one"}, nil
			})})
		if start == 0 {
			all = append(all, conversation(t, alice, answersTo(deadly, other))...)
		}
		all = append(all, idle(t, alice, "planner")...)
		stop()
	}
	for i := range all {
		env := &all[i]
		switch {
		case answerTo(deadly)(env):
			if text, _ := decode(t, env)["message"].(string); !strings.HasPrefix(text, "I have stopped looking into this: this agent ended three times while it worked on the question") || len(env.To) > 0 {
				t.Errorf("to %v: %q", env.To, text)
			}
		case env.Kind == protocol.KindReasoningStart && string(env.ID) != string(deadly)+"-0" && strings.Contains(string(env.Payload), "kills"):
			t.Errorf("a fourth attempt was begun\n%s", script(all))
		}
	}
	if n, m := answerCount(all, deadly), answerCount(all, other); n != 1 || m != 1 {
		t.Errorf("%d and %d answers, want one of each\n%s", n, m, script(all))
	}
}

// Questions whose next interrupted attempt is the last one are answered one after another, so
// that one of them that ends the process does not take the others with it.
func TestCatchUp_LastAttempts(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	first, second := ask(t, alice, "first?"), ask(t, alice, "second?")
	interrupted(t, g, first, 2)
	interrupted(t, g, second, 2)
	begun, goOn := make(chan string, 3), make(chan struct{})
	employ(t, g, "planner", agent.Options{CatchUp: intake.CatchUpAuto, OwnToolsOnly: true,
		Planner: deciding(func(_ context.Context, s planner.State) (planner.Decision, error) {
			begun <- s.Question
			if s.Question == "first?" {
				<-goOn
			}
			return planner.Decision{Action: contextwindow.Finish, Answer: "done", Conclusion: "done"}, nil
		})})
	if q := <-begun; q != "first?" {
		t.Errorf("the agent works on %q, want the first question", q)
	}
	conversation(t, alice, answerTo(ask(t, alice, "third?")))
	if q := <-begun; q != "third?" {
		t.Errorf("during the first question the agent works on %q, want the third one", q)
	}
	close(goOn)
	conversation(t, alice, answersTo(first, second))
}
