package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// dividing splits the question into two parts; each is solved by part.
func dividing(part deciding) deciding {
	return func(ctx context.Context, s planner.State) (planner.Decision, error) {
		if s.Depth > 0 {
			return part(ctx, s)
		}
		return once(callOf(planner.Subproblem, `{"question":"is it safe?"}`), callOf(planner.Subproblem, `{"question":"is it fast?"}`))(ctx, s)
	}
}

func TestSubProblemsHaveContextsWithin(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	part := func(_ context.Context, s planner.State) (planner.Decision, error) {
		return planner.Decision{Action: contextwindow.Finish, Thought: "Looked at it.", Answer: "yes to " + s.Question, Conclusion: "yes"}, nil
	}
	employ(t, g, "planner", agent.Options{Planner: dividing(part)})
	question := ask(t, alice, "shall we deploy?")
	all := conversation(t, alice, answerTo(question))
	if text := decode(t, last(all))["message"]; text != "success | yes to is it safe?\nsuccess | yes to is it fast?\n" {
		t.Errorf("answer %q\n%s", text, script(all))
	}
	var root protocol.ContextPath
	reasons := make(map[protocol.ID]bool)
	inner := make(map[protocol.ContextPath][]protocol.Kind)
	for i := range all {
		env := &all[i]
		switch {
		case env.Kind == protocol.KindReasoningStart && env.Context == "":
			root = protocol.ContextPath(env.ID)
		case env.Kind == protocol.KindReasoningStart:
			path, _ := env.Opens()
			if env.Context != root || !reasons[env.Correlation.First()] {
				t.Errorf("a part is opened in %q, answering %q", env.Context, env.Correlation.First())
			}
			inner[path] = []protocol.Kind{}
		case env.Context == root && decode(t, env)["tool_name"] == planner.Subproblem:
			reasons[env.ID] = true
		case env.Context != root && env.Context.Within(root) && root != "":
			inner[env.Context] = append(inner[env.Context], env.Kind)
		}
	}
	for path, kinds := range inner {
		if len(kinds) != 2 || kinds[0] != protocol.KindReasoningThought || kinds[1] != protocol.KindReasoningConclusion {
			t.Errorf("%s: %v", path, kinds)
		}
	}
	if len(inner) != 2 {
		t.Errorf("%d parts\n%s", len(inner), script(all))
	}
}

func TestCancellingAPartLeavesTheWhole(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	part := func(ctx context.Context, s planner.State) (planner.Decision, error) {
		if strings.Contains(s.Question, "fast") {
			return planner.Decision{Action: contextwindow.Finish, Answer: "fast enough", Conclusion: "yes"}, nil
		}
		<-ctx.Done()
		return planner.Decision{}, ctx.Err()
	}
	employ(t, g, "planner", agent.Options{Planner: dividing(part)})
	question := ask(t, alice, "shall we deploy?")
	all := conversation(t, alice, func(env *protocol.Envelope) bool {
		return env.Kind == protocol.KindReasoningStart && strings.Contains(string(env.Payload), "safe?")
	})
	path, _ := last(all).Opens()
	send(t, alice, protocol.Envelope{Kind: protocol.KindReasoningCancel, Context: path, Payload: []byte(`{"reason":"we know"}`)})
	rest := conversation(t, alice, answerTo(question))
	if text := decode(t, last(rest))["message"]; text != "error | not solved: cancelled by alice: we know\nsuccess | fast enough\n" {
		t.Errorf("answer %q\n%s", text, script(rest))
	}
}

func TestCancellingTheWholeClosesTheParts(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Planner: dividing(func(ctx context.Context, _ planner.State) (planner.Decision, error) {
		<-ctx.Done()
		return planner.Decision{}, ctx.Err()
	})})
	question := ask(t, alice, "shall we deploy?")
	starts := 0
	all := conversation(t, alice, func(env *protocol.Envelope) bool {
		if env.Kind == protocol.KindReasoningStart {
			starts++
		}
		return starts == 3
	})
	send(t, alice, protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(question)})
	ends := make(map[protocol.ContextPath]int)
	all = append(all, conversation(t, alice, func(env *protocol.Envelope) bool {
		if env.Kind == protocol.KindReasoningCancel {
			ends[env.Context]++
		}
		return len(ends) == 3
	})...)
	if last(all).Context.Depth() != 1 {
		t.Errorf("the whole was closed before its parts\n%s", script(all))
	}
}

func TestThoughts_Streamed(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(config, `"participant/*"`, `"participant/*", "stream/*"`, 1))
	alice := join(t, g, "alice")
	const secret = "AKIA" + "Z7QWERTYUIOPASDF"
	streamed := make(chan struct{})
	employ(t, g, "planner", agent.Options{
		Tools: tools(t, handbook),
		Planner: deciding(func(ctx context.Context, s planner.State) (planner.Decision, error) {
			if len(s.Steps) > 0 {
				return planner.Decision{Action: contextwindow.Finish, Answer: "done", Conclusion: "done"}, nil
			}
			s.Watch(llm.Delta{Kind: llm.ThinkingDelta, Text: "nobody's business "})
			s.Watch(llm.Delta{Text: "I look at " + secret + " and "})
			<-streamed
			s.Watch(llm.Delta{Text: "then at the rest."})
			return planner.Decision{
				Action: contextwindow.UseTools, Thought: "I look at " + secret + " and then at the rest.",
				Calls: []contextwindow.Call{callOf("list_allowed_directories", `{}`)},
			}, nil
		}),
	})
	question := ask(t, alice, "what is there?")
	var grown strings.Builder
	var stream any
	whole := false
	for {
		env, err := alice.Receive(testkit.Deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(env.Payload), secret) || strings.Contains(string(env.Payload), "business") {
			t.Errorf("%s says %s", env.Kind, env.Payload)
		}
		p := decode(t, &env)
		switch env.Kind {
		case protocol.KindStreamOpen:
			stream = p["stream_id"]
		case protocol.KindStreamData:
			if grown.Len() == 0 {
				close(streamed)
			}
			grown.WriteString(p["data"].(string))
		case protocol.KindReasoningThought:
			whole = whole || p["stream_id"] != nil && p["stream_id"] == stream && p["message"] == grown.String()
		case protocol.KindChat:
			if env.Correlation.Names(question) {
				if !whole || !strings.HasSuffix(grown.String(), "then at the rest.") {
					t.Errorf("streamed %q, whole %t", grown.String(), whole)
				}
				return
			}
		}
	}
}

func TestRawThinking_OptIn(t *testing.T) {
	for _, show := range []bool{false, true} {
		g := meuptest.Start(t, config)
		alice := join(t, g, "alice")
		employ(t, g, "planner", agent.Options{ShowThinking: show, Planner: deciding(func(context.Context, planner.State) (planner.Decision, error) {
			return planner.Decision{Action: contextwindow.Finish, Thinking: "hmm hmm", Answer: "42", Conclusion: "42"}, nil
		})})
		all := conversation(t, alice, answerTo(ask(t, alice, "what is it?")))
		if got := strings.Contains(script(all), "hmm hmm"); got != show {
			t.Errorf("show %t: seen %t", show, got)
		}
	}
}
