package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

func TestPrivateQuestion_NoPeerTools(t *testing.T) {
	g := meuptest.Start(t, config)
	k := keep(t, joinHost(t, g, "carol"), text("42 sheep"))
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Planner: deciding(counting)})
	<-k.listed
	public := conversation(t, alice, answerTo(ask(t, alice, "how many sheep?")))
	if text := decode(t, last(public))["message"]; text != "success | 42 sheep\n" {
		t.Errorf("in public: answer %q", text)
	}
	private := conversation(t, alice, answerTo(ask(t, alice, "between us: how many?", "planner")))
	if text := fmt.Sprint(decode(t, last(private))["message"]); !strings.HasPrefix(text, "no sheep\n\n_This question is private") || !strings.Contains(text, "with @planner in its text") {
		t.Errorf("in private: answer %q, want that a public question may use the tools\n%s", text, script(private))
	}
	if len(k.seen) != 1 {
		t.Errorf("the host got %d calls, want the one of the public question", len(k.seen))
	}
}

// An answer for which no tool of others was wanted does not mention them.
func TestPrivateQuestion_NoToolWanted(t *testing.T) {
	g := meuptest.Start(t, config)
	k := keep(t, joinHost(t, g, "carol"), text("42 sheep"))
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Planner: deciding(func(context.Context, planner.State) (planner.Decision, error) {
		return planner.Decision{Action: contextwindow.Finish, Answer: "a ram", Conclusion: "a ram"}, nil
	})})
	<-k.listed
	private := conversation(t, alice, answerTo(ask(t, alice, "what is a male sheep?", "planner")))
	if text := decode(t, last(private))["message"]; text != "a ram" {
		t.Errorf("answer %q, want the one of the planner\n%s", text, script(private))
	}
}

// The rules do not greet with tools that they may not use.
func TestPrivateQuestion_Greeting(t *testing.T) {
	g := meuptest.Start(t, config)
	k := keep(t, joinHost(t, g, "carol"), text("42 sheep"))
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{})
	<-k.listed
	private := conversation(t, alice, answerTo(ask(t, alice, "hello", "planner")))
	if text := fmt.Sprint(decode(t, last(private))["message"]); strings.Contains(text, "count_sheep") || strings.Contains(text, "private") {
		t.Errorf("answer %q, want no word of the tools of others\n%s", text, script(private))
	}
}

// Another planner decides itself whether a text without content words wants a tool.
func TestPrivateQuestion_NoContentWords(t *testing.T) {
	g := meuptest.Start(t, config)
	k := keep(t, joinHost(t, g, "carol"), text("42 sheep"))
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Planner: deciding(counting)})
	<-k.listed
	private := conversation(t, alice, answerTo(ask(t, alice, "tell me more", "planner")))
	if text := fmt.Sprint(decode(t, last(private))["message"]); !strings.Contains(text, "_This question is private") {
		t.Errorf("answer %q, want that a public question may use the tools\n%s", text, script(private))
	}
}

func TestPrivateQuestion_TwoRecipients(t *testing.T) {
	g := meuptest.Start(t, config)
	alice, carol, critic := join(t, g, "alice"), join(t, g, "carol"), join(t, g, "critic")
	employ(t, g, "planner", agent.Options{Tools: tools(t, handbook)})
	q := ask(t, alice, "what is in the docs folder?", "planner", "carol")
	all := conversation(t, alice, answerTo(q))
	checkShape(t, q, all)
	if to := fmt.Sprint(last(all).To); to != "[alice carol]" {
		t.Errorf("the answer goes to %s", to)
	}
	seen := make(map[protocol.Kind]int)
	heard := conversation(t, carol, answerTo(q))
	for i := range heard {
		seen[heard[i].Kind]++
	}
	for _, kind := range []protocol.Kind{protocol.KindReasoningStart, protocol.KindReasoningThought, protocol.KindReasoningConclusion} {
		if seen[kind] == 0 {
			t.Errorf("carol saw no %s\n%s", kind, script(heard))
		}
	}
	public := ask(t, alice, "@planner hello")
	for _, env := range conversation(t, critic, answerTo(public)) {
		if env.Context == last(all).Context && env.Context != "" || env.ID == q || env.Correlation.Names(q) {
			t.Errorf("the critic saw %s %s", env.Kind, env.Payload)
		}
	}
}
