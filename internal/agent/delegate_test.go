package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

func delegated(to, question string) contextwindow.Call {
	return callOf(planner.Delegate, fmt.Sprintf(`{"participant":%q,"question":%q,"approach":"look twice","estimated_duration":"10s","confidence":0.5}`, to, question))
}

// asksCritic is the planner's planner: it asks the critic, and answers with the
// result.
func asksCritic(opts agent.Options) agent.Options {
	opts.Planner, opts.OwnToolsOnly = once(delegated("critic", "is it safe?")), true
	return opts
}

// partOf receives until the planner asks the critic, and returns the start.
func partOf(t *testing.T, c *client.Client) (start protocol.Envelope, path protocol.ContextPath) {
	t.Helper()
	all := conversation(t, c, func(env *protocol.Envelope) bool {
		return env.Kind == protocol.KindReasoningStart && strings.Contains(string(env.Payload), "participant_id")
	})
	path, _ = last(all).Opens()
	return *last(all), path
}

// Another agent reasons in a nested context, in public, and its conclusion comes
// back as a result.
func TestDelegate_Conclusion(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	sure := finishing("Yes, it is safe: all tests pass.")
	sure.Confidence, sure.KeyFactors, sure.Recommendation = 0.9, []string{"tests"}, "Go."
	asked := make(chan planner.State, 1)
	employ(t, g, "critic", agent.Options{OwnToolsOnly: true, Planner: deciding(func(_ context.Context, s planner.State) (planner.Decision, error) {
		asked <- s
		return sure, nil
	})})
	employ(t, g, "planner", asksCritic(agent.Options{}))
	question := ask(t, alice, "@planner shall we deploy?")
	start, path := partOf(t, alice)
	p := decode(t, &start)
	if got, want := fmt.Sprintf("%v %v %v", start.To, p["message"], p["metadata"]), "[] is it safe? map[approach:look twice confidence:0.5 estimated_duration:10s]"; got != want {
		t.Errorf("start %s, want %s", got, want)
	}
	s := <-asked
	if s.Question != "is it safe?" || len(s.Delegates) != 0 || s.Depth != 0 || s.MaxDepth != 2 {
		t.Errorf("state %+v", s)
	}
	all := conversation(t, alice, answerTo(question))
	if got, want := decode(t, last(all))["message"], "success | critic concluded:\nYes, it is safe: all tests pass.\nKey factor: tests\nRecommendation: Go.\nConfidence: 0.9\n"; got != want {
		t.Errorf("answer %q, want %q\n%s", got, want, script(all))
	}
	for i := range all {
		if env := &all[i]; env.From == "critic" && (env.Context != path || len(env.To) > 0 || env.Kind != protocol.KindReasoningConclusion) {
			t.Errorf("the critic sent %s in %q to %v", env.Kind, env.Context, env.To)
		}
	}
}

// The start of a part of a public question is visible to a participant that sees
// only envelopes to it or to all, and a reference to the part's result is
// one to the other agent's conclusion.
func TestDelegate_BystanderSeesTheQuestion(t *testing.T) {
	g := meuptest.Start(t, config)
	alice, carol := join(t, g, "alice"), join(t, g, "carol")
	employ(t, g, "critic", agent.Options{OwnToolsOnly: true, Planner: deciding(func(context.Context, planner.State) (planner.Decision, error) {
		return finishing("Yes, it is safe."), nil
	})})
	employ(t, g, "planner", agent.Options{OwnToolsOnly: true, Planner: deciding(func(_ context.Context, s planner.State) (planner.Decision, error) {
		if len(s.Steps) == 0 {
			return using(delegated("critic", "is it safe?")), nil
		}
		d := finishing("Yes.")
		d.References = []string{s.Steps[0].Results[0].Ref}
		return d, nil
	})})
	question := ask(t, alice, "@planner shall we deploy?")
	all := conversation(t, carol, answerTo(question))
	var start, conclusion protocol.ID
	for i := range all {
		env := &all[i]
		switch {
		case env.Kind == protocol.KindReasoningStart && env.Context != "":
			start = env.ID
		case env.Kind == protocol.KindReasoningConclusion && env.From == "critic":
			conclusion = env.ID
			if env.Context.Last() != string(start) {
				t.Errorf("the conclusion is in %s, and the start is %s", env.Context, start)
			}
		case env.Kind == protocol.KindReasoningConclusion:
			if got := fmt.Sprint(decode(t, env)["references"]); got != fmt.Sprintf("[%s]", conclusion) {
				t.Errorf("references %s, want %s", got, conclusion)
			}
		}
	}
	if start == "" || conclusion == "" {
		t.Errorf("carol sees\n%s", script(all))
	}
}

// A part that is not finished is an outcome like any other, and its context does
// not stay open.
func TestDelegate_Outcomes(t *testing.T) {
	t.Parallel()
	waiting := func(ctx context.Context, _ planner.State) (planner.Decision, error) {
		<-ctx.Done()
		return planner.Decision{}, ctx.Err()
	}
	begun := make(chan struct{}, 1)
	for name, test := range map[string]struct {
		critic  deciding // nil: a participant that ignores the part
		timeout time.Duration
		then    func(t *testing.T, g *meuptest.Gateway, stop func(), critic *client.Client, start protocol.Envelope, path protocol.ContextPath)
		want    string // one of several, by |: the planner waits already, or begins to
		closer  protocol.ParticipantID
	}{
		"too slow": {critic: waiting, timeout: 200 * time.Millisecond, want: "no conclusion of critic within 200ms", closer: "planner"},
		"ignored":  {timeout: 200 * time.Millisecond, want: "no conclusion of critic within 200ms", closer: "planner"},
		"shut down": {critic: func(ctx context.Context, s planner.State) (planner.Decision, error) {
			begun <- struct{}{}
			return waiting(ctx, s)
		}, want: "declined by critic: the agent is shutting down", closer: "critic", then: func(_ *testing.T, _ *meuptest.Gateway, stop func(), _ *client.Client, _ protocol.Envelope, _ protocol.ContextPath) {
			<-begun
			stop()
		}},
		"killed": {want: "critic left the space|critic is not connected", closer: "planner", then: func(_ *testing.T, _ *meuptest.Gateway, _ func(), critic *client.Client, _ protocol.Envelope, _ protocol.ContextPath) {
			_ = critic.Close()
		}},
		"no answer": {critic: func(context.Context, planner.State) (planner.Decision, error) {
			return planner.Decision{}, planner.ErrSilent
		}, want: "declined by critic: the model wrote neither", closer: "critic"},
		"of a third": {want: "cancelled by carol: enough", closer: "carol", then: func(t *testing.T, g *meuptest.Gateway, _ func(), _ *client.Client, _ protocol.Envelope, path protocol.ContextPath) {
			carol := join(t, g, "carol")
			send(t, carol, protocol.Envelope{Kind: protocol.KindReasoningConclusion, Context: path, Payload: []byte(`{"message":"approved"}`)}) // does not count
			send(t, carol, protocol.Envelope{Kind: protocol.KindReasoningCancel, Context: path, Payload: []byte(`{"reason":"enough"}`)})
		}},
		"empty": {want: "closed the part without a conclusion", closer: "critic", then: func(t *testing.T, _ *meuptest.Gateway, _ func(), critic *client.Client, _ protocol.Envelope, path protocol.ContextPath) {
			send(t, critic, protocol.Envelope{Kind: protocol.KindReasoningConclusion, Context: path, Payload: []byte(`{}`)})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := meuptest.Start(t, config)
			alice := join(t, g, "alice")
			stop, critic := func() {}, (*client.Client)(nil)
			if test.critic != nil {
				stop = employ(t, g, "critic", agent.Options{OwnToolsOnly: true, Planner: test.critic})
			} else {
				critic = join(t, g, "critic")
			}
			employ(t, g, "planner", asksCritic(agent.Options{DelegateTimeout: test.timeout, After: atOnce(agent.AwayTimeout)}))
			question := ask(t, alice, "@planner shall we deploy?")
			start, path := partOf(t, alice)
			if test.then != nil {
				test.then(t, g, stop, critic, start, path)
			}
			all := conversation(t, alice, answerTo(question))
			if text := fmt.Sprint(decode(t, last(all))["message"]); !strings.HasPrefix(text, "error | ") || !slices.ContainsFunc(strings.Split(test.want, "|"), func(want string) bool { return strings.Contains(text, want) }) {
				t.Errorf("answer %q\n%s", text, script(all))
			}
			if !slices.ContainsFunc(all, func(env protocol.Envelope) bool {
				return env.From == test.closer && env.Context == path && (env.Kind == protocol.KindReasoningCancel || env.Kind == protocol.KindReasoningConclusion)
			}) {
				t.Errorf("%s did not close the part\n%s", test.closer, script(all))
			}
		})
	}
}

// Canceling the question, the part's context or a context around it ends the
// other agent's work.
func TestDelegate_CancelGoesDown(t *testing.T) {
	for name, stop := range map[string]func(question protocol.ID, path protocol.ContextPath) protocol.Envelope{
		"question": func(question protocol.ID, _ protocol.ContextPath) protocol.Envelope {
			return protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(question)}
		},
		"outer context": func(_ protocol.ID, path protocol.ContextPath) protocol.Envelope {
			return protocol.Envelope{Kind: protocol.KindReasoningCancel, Context: path.Parent()}
		},
		"part": func(_ protocol.ID, path protocol.ContextPath) protocol.Envelope {
			return protocol.Envelope{Kind: protocol.KindReasoningCancel, Context: path}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := meuptest.Start(t, config)
			alice := join(t, g, "alice")
			begun, ended := make(chan struct{}), make(chan error, 1)
			employ(t, g, "critic", agent.Options{OwnToolsOnly: true, Planner: deciding(func(ctx context.Context, _ planner.State) (planner.Decision, error) {
				close(begun)
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return planner.Decision{}, ctx.Err()
			})})
			employ(t, g, "planner", asksCritic(agent.Options{}))
			question := ask(t, alice, "@planner shall we deploy?")
			_, path := partOf(t, alice)
			<-begun
			send(t, alice, stop(question, path))
			if err := <-ended; !strings.Contains(err.Error(), "cancelled by") {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// An agent does not take a part of its own reasoning, at any depth, and is not
// offered the agent that asks it.
func TestDelegate_Loops(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	critic := join(t, g, "critic")
	employ(t, g, "planner", asksCritic(agent.Options{}))
	question := ask(t, alice, "@planner shall we deploy?")
	_, path := partOf(t, alice)
	back := protocol.Envelope{ID: "back", Kind: protocol.KindReasoningStart, Context: path, To: []protocol.ParticipantID{"planner"},
		Payload: []byte(`{"message":"is it safe?","participant_id":"planner"}`)}
	send(t, critic, back)
	all := conversation(t, critic, func(env *protocol.Envelope) bool {
		return env.Kind == protocol.KindReasoningCancel && env.Context == path.Child("back")
	})
	if last(all).From != "planner" || !strings.Contains(string(last(all).Payload), "a part of my own reasoning") {
		t.Errorf("%s", script(all))
	}
	send(t, critic, protocol.Envelope{Kind: protocol.KindReasoningConclusion, Context: path, Payload: []byte(`{"decision":"yes"}`)})
	if text := fmt.Sprint(decode(t, last(conversation(t, alice, answerTo(question))))["message"]); !strings.Contains(text, "Decision: yes") {
		t.Errorf("answer %q", text)
	}
}

// A part in a context that the agent has not seen being opened for all goes to
// the asking agent alone; a restart of the agent declines it.
func TestDelegate_PrivateAndRestart(t *testing.T) {
	g := meuptest.Start(t, config)
	critic := join(t, g, "critic")
	send(t, critic, protocol.Envelope{ID: "mine", Kind: protocol.KindReasoningStart, To: []protocol.ParticipantID{"carol"}})
	part := protocol.Envelope{ID: "part", Kind: protocol.KindReasoningStart, Context: "mine", To: []protocol.ParticipantID{"planner"},
		Payload: []byte(`{"message":"is it safe?","participant_id":"planner"}`)}
	stop := employ(t, g, "planner", agent.Options{OwnToolsOnly: true, Planner: deciding(func(context.Context, planner.State) (planner.Decision, error) {
		return finishing("yes"), nil
	})})
	send(t, critic, part)
	all := conversation(t, critic, isKind(protocol.KindReasoningConclusion))
	if env := last(all); env.Context != "mine/part" || !slices.Equal(env.To, []protocol.ParticipantID{"critic"}) || !strings.Contains(string(env.Payload), `"message":"yes"`) {
		t.Errorf("%s", script(all))
	}
	stop()
	public := part
	part.ID, public.ID, public.To = "missed", "public", nil
	send(t, critic, part)
	send(t, critic, public)
	employ(t, g, "planner", agent.Options{OwnToolsOnly: true, CatchUp: intake.CatchUpAuto})
	declined := make(map[protocol.ContextPath]string)
	all = conversation(t, critic, func(env *protocol.Envelope) bool {
		if env.Kind == protocol.KindReasoningCancel && strings.Contains(string(env.Payload), "restarted") {
			declined[env.Context] = fmt.Sprint(env.To)
		}
		return len(declined) == 2
	})
	if declined["mine/missed"] != "[critic]" || declined["mine/public"] != "[]" {
		t.Errorf("declined %v\n%s", declined, script(all))
	}
}

// A nested start that is only addressed to the agent, like the starts of a private
// question, is not a part for it.
func TestDelegate_AddressedIsNotAsked(t *testing.T) {
	g := meuptest.Start(t, config)
	critic, alice := join(t, g, "critic"), join(t, g, "alice")
	employ(t, g, "planner", agent.Options{OwnToolsOnly: true})
	send(t, critic, protocol.Envelope{ID: "mine", Kind: protocol.KindReasoningStart, To: []protocol.ParticipantID{"planner"}})
	send(t, critic, protocol.Envelope{ID: "part", Kind: protocol.KindReasoningStart, Context: "mine", To: []protocol.ParticipantID{"planner", "alice"}, Payload: []byte(`{"message":"hm?"}`)})
	settled(t, critic, "planner")
	for _, env := range idle(t, alice, "planner") {
		if env.From == "planner" && env.Context != "" {
			t.Errorf("%s in %s", env.Kind, env.Context)
		}
	}
}
