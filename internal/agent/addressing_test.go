package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// answered returns the texts that an agent answers, by their indexes. It waits for the
// expected ones, then for the answer to a later question, and until no context is open.
func answered(t *testing.T, g *meuptest.Gateway, c *client.Client, chats []protocol.Envelope, want string) string {
	t.Helper()
	names := make(map[protocol.ID]string)
	for i, chat := range chats {
		receipt, err := c.Send(testkit.Deadline(t), chat)
		if err != nil {
			t.Fatal(err)
		}
		names[receipt.ID] = fmt.Sprint(i)
	}
	got := make(map[string]bool)
	open := 0
	await := func(done func() bool) {
		conversation(t, c, func(env *protocol.Envelope) bool {
			switch {
			case env.From == "planner" && env.Kind == protocol.KindReasoningStart:
				open++
			case env.From == "planner" && env.Kind == protocol.KindChat:
				open--
				got[names[env.Correlation.First()]] = true
			}
			return done()
		})
	}
	await(func() bool {
		return !slices.ContainsFunc(strings.Fields(want), func(name string) bool { return !got[name] })
	})
	names[ask(t, c, "hello", "planner")] = "later"
	await(func() bool { return got["later"] && open == 0 })
	var list []string
	for i := range chats {
		if got[fmt.Sprint(i)] {
			list = append(list, fmt.Sprint(i))
		}
	}
	return strings.Join(list, " ")
}

func TestIsQuestion(t *testing.T) {
	chat := func(text string, change ...func(*protocol.Envelope)) protocol.Envelope {
		env := client.Chat(text)
		for _, c := range change {
			c(&env)
		}
		return env
	}
	to := func(ids ...protocol.ParticipantID) func(*protocol.Envelope) {
		return func(env *protocol.Envelope) { env.To = ids }
	}
	chats := []protocol.Envelope{
		0: chat("hello"),
		1: chat("hello", to("planner")),
		2: chat("hello", to("carol")),
		3: chat("hello @planner, how are you?"),
		4: chat("hello @Helper."),
		5: chat("hello @planner2, planner@example.org and @planner-b"),
		6: chat("   "),
		7: chat("a remark", func(env *protocol.Envelope) { env.Context = "c-1" }),
		8: {Kind: protocol.KindChat, Payload: []byte(`{"text":"hello"}`)},
		9: chat("hello @planner", to("carol")),
	}
	for _, test := range []struct {
		mode intake.Mode
		who  string // the sender
		want string
	}{
		{intake.Auto, "alice", "0 1 3 4 5 8"},
		{intake.Any, "alice", "0 1 3 4 5 8"},
		{intake.Mentioned, "alice", "1 3 4"},
		{intake.Addressed, "alice", "1"},
		{intake.Any, "critic", "1 3 4"}, // an agent
	} {
		t.Run(fmt.Sprint(test.mode, " ", test.who), func(t *testing.T) {
			g := meuptest.Start(t, config)
			c := join(t, g, test.who)
			employ(t, g, "planner", agent.Options{Answer: test.mode, Name: "helper", MaxHops: 100})
			if got := answered(t, g, c, chats, test.want); got != test.want {
				t.Errorf("%s, %s speaks: answered %s, want %s", test.mode, test.who, got, test.want)
			}
		})
	}
}

func TestAuto_OtherAgents(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	join(t, g, "critic")
	employ(t, g, "planner", agent.Options{})
	if got := answered(t, g, alice, []protocol.Envelope{client.Chat("hello"), client.Chat("@planner hello")}, "1"); got != "1" {
		t.Errorf("answered %s", got)
	}
}

func TestTwoAgents_Bounded(t *testing.T) {
	g := meuptest.Start(t, config)
	alice, critic := join(t, g, "alice"), join(t, g, "critic")
	employ(t, g, "planner", agent.Options{MaxHops: 4})
	// The critic replies to every answer, with a mention.
	first := ask(t, critic, "@planner hello")
	answers := 0
	for id := first; ; {
		sure := protocol.ID("")
		if answers >= 2 { // it may be silent now, so ask a question that it answers
			sure = ask(t, alice, "@planner hello")
		}
		all := conversation(t, critic, func(env *protocol.Envelope) bool {
			return answerTo(id)(env) || sure != "" && answerTo(sure)(env)
		})
		if !answerTo(id)(last(all)) {
			break
		}
		answers++
		if answers > 10 {
			t.Fatal("they do")
		}
		reply := client.Chat("@planner hello again")
		reply.Correlation = protocol.CorrelateTo(last(all).ID)
		receipt, err := critic.Send(testkit.Deadline(t), reply)
		if err != nil {
			t.Fatal(err)
		}
		id = receipt.ID
	}
	if answers != 2 {
		t.Errorf("%d answers", answers)
	}
}

func TestOldQuestions(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	first := ask(t, alice, "hello")
	stop := employ(t, g, "planner", agent.Options{})
	second := ask(t, alice, "hello")
	all := conversation(t, alice, answerTo(second))
	if strings.Contains(script(all), string(first)) && answerCount(all, first) > 0 {
		t.Error("the old question was answered")
	}
	stop()

	// A killed predecessor left a question and an open context.
	ghost := join(t, g, "planner")
	third := ask(t, alice, "hello")
	send(t, ghost, protocol.Envelope{ID: "ctx-old", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo(third)})
	withdrawn := ask(t, alice, "hello")
	send(t, alice, protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(withdrawn)})
	_ = ghost.Close()

	employ(t, g, "planner", agent.Options{CatchUp: intake.CatchUpAll})
	fourth := ask(t, alice, "hello")
	counts := make(map[protocol.ID]int)
	closed := false
	conversation(t, alice, func(env *protocol.Envelope) bool {
		if env.From == "planner" && env.Kind == protocol.KindChat {
			counts[env.Correlation.First()]++
		}
		closed = closed || env.From == "planner" && env.Kind == protocol.KindReasoningCancel && env.Context == "ctx-old"
		return counts[first] > 0 && counts[third] > 0 && counts[fourth] > 0 && closed
	})
	if counts[second] > 0 || counts[withdrawn] > 0 {
		t.Errorf("answers %v", counts)
	}
}

func answerCount(all []protocol.Envelope, id protocol.ID) int {
	n := 0
	for i := range all {
		if answerTo(id)(&all[i]) {
			n++
		}
	}
	return n
}

// The message of the start does not repeat the mention of the agent; its planner gets the
// text as it was sent.
func TestStart_WithoutMention(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Name: "helper", Planner: deciding(func(_ context.Context, s planner.State) (planner.Decision, error) {
		return finishing(s.Question), nil
	})})
	all := conversation(t, alice, answerTo(ask(t, alice, "@Helper, what is this?")))
	for i := range all {
		if all[i].Kind == protocol.KindReasoningStart && decode(t, &all[i])["message"] != "Looking into: what is this?" {
			t.Errorf("%s", all[i].Payload)
		}
	}
	if got := decode(t, last(all))["message"]; got != "@Helper, what is this?" {
		t.Errorf("the planner got %q", got)
	}
}
