package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// leave is what the agent says before it is killed.
func leave(t *testing.T, g *meuptest.Gateway, said ...protocol.Envelope) {
	t.Helper()
	ghost := join(t, g, "planner")
	for _, env := range said {
		if env.Payload == nil {
			env.Payload = []byte(`{"message":"…"}`)
		}
		send(t, ghost, env)
	}
	_ = ghost.Close()
}

func TestWhatWasLeftOpenIsEnded(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	question := ask(t, alice, "shall we deploy?")
	to := []protocol.ParticipantID{"alice"}
	call := []byte(`{"jsonrpc":"2.0","id":"call-7","method":"tools/call","params":{"name":"x","arguments":{}}}`)
	answer := []byte(`{"jsonrpc":"2.0","id":"call-7","result":{"content":[]}}`)
	proposal := []byte(`{"method":"tools/call","params":{"name":"x","arguments":{}}}`)
	leave(t, g,
		protocol.Envelope{ID: "whole", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo(question)},
		protocol.Envelope{ID: "part", Kind: protocol.KindReasoningStart, Context: "whole"},
		protocol.Envelope{ID: "grain", Kind: protocol.KindReasoningStart, Context: "whole/part"},
		protocol.Envelope{ID: "ended", Kind: protocol.KindReasoningStart, Context: "whole"},
		protocol.Envelope{Kind: protocol.KindReasoningConclusion, Context: "whole/ended"},
		protocol.Envelope{ID: "alone", Kind: protocol.KindReasoningStart, To: to},

		protocol.Envelope{ID: "call", Kind: protocol.KindMCPRequest, Context: "whole/part", Payload: call},
		protocol.Envelope{ID: "call-done", Kind: protocol.KindMCPRequest, Context: "whole/part", Payload: call},
		protocol.Envelope{Kind: protocol.KindMCPResponse, Context: "whole/part", Correlation: protocol.CorrelateTo("call-done"), Payload: answer},
		protocol.Envelope{ID: "call-of-alice", Kind: protocol.KindMCPRequest, To: to, Context: "whole", Payload: call},

		protocol.Envelope{ID: "idea", Kind: protocol.KindMCPProposal, Context: "whole", Payload: proposal},
		protocol.Envelope{ID: "idea-done", Kind: protocol.KindMCPProposal, Context: "whole", Payload: proposal},
	)
	send(t, alice, protocol.Envelope{Kind: protocol.KindMCPReject, Context: "whole", Correlation: protocol.CorrelateTo("idea-done"), Payload: []byte(`{"reason":"no"}`)})

	employ(t, g, "planner", agent.Options{CatchUp: agent.CatchUpAuto, Tools: tools(t, handbook), OwnToolsOnly: true}, 0)
	marker := ask(t, alice, "are you back?")
	all := conversation(t, alice, answersTo(question, marker))
	all = append(all, idle(t, alice, "planner")...)
	var responses, withdrawals, ends []string
	afterwards := false
	for i := range all {
		env := &all[i]
		if afterwards = afterwards || env.Kind == protocol.KindMCPReject; env.From != "planner" || !afterwards {
			continue
		}
		about := fmt.Sprintf("%v in %s to %v", env.Correlation.IDs, env.Context, env.To)
		p := decode(t, env)
		switch {
		case env.Kind == protocol.KindMCPResponse && p["error"] != nil:
			responses = append(responses, fmt.Sprint(about, " for ", p["id"], ": ", p["error"].(map[string]any)["code"]))
		case env.Kind == protocol.KindMCPWithdraw:
			withdrawals = append(withdrawals, fmt.Sprint(about, ": ", p["reason"]))
		case env.Kind == protocol.KindReasoningCancel:
			ends = append(ends, fmt.Sprint(about, ": ", p["reason"]))
		}
	}
	const why = "the agent was restarted"
	for what, list := range map[string]struct{ got, want []string }{
		"responses":   {responses, []string{"[call] in whole/part to [] for call-7: -32002"}},
		"withdrawals": {withdrawals, []string{"[idea] in whole to []: no_longer_needed"}},
		"ends": {ends, []string{
			"[alone] in alone to [alice]: " + why, "[] in whole/part/grain to []: " + why,
			"[] in whole/part to []: " + why, "[] in whole to []: " + why,
		}},
	} {
		if !slices.Equal(list.got, list.want) {
			t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(list.got, "\n"), strings.Join(list.want, "\n"))
		}
	}
	if n := answerCount(all, question); n != 1 {
		t.Errorf("the question was answered %d times", n)
	}
}

// answersTo reports whether all of the questions have an answer.
func answersTo(questions ...protocol.ID) func(*protocol.Envelope) bool {
	open := slices.Clone(questions)
	return func(env *protocol.Envelope) bool {
		open = slices.DeleteFunc(open, func(id protocol.ID) bool { return answerTo(id)(env) })
		return len(open) == 0
	}
}

func TestWhichOldQuestionsAreAnswered(t *testing.T) {
	for _, test := range []struct {
		how   agent.CatchUp
		later time.Duration // that the agent comes back
		want  string
	}{
		{agent.CatchUpOff, 0, "new"},
		{agent.CatchUpAuto, 0, "after new"},
		{agent.CatchUpAuto, 59 * time.Minute, "after new"},
		{agent.CatchUpAuto, 61 * time.Minute, "new"},
		{agent.CatchUpAll, 61 * time.Minute, "before after new"},
	} {
		t.Run(fmt.Sprintf("%s, %s later", test.how, test.later), func(t *testing.T) {
			g := meuptest.Start(t, config)
			alice := join(t, g, "alice")
			asked := map[string]protocol.ID{"before": ask(t, alice, "hello")}
			leave(t, g, client.Chat("Good morning."))
			asked["after"] = ask(t, alice, "hello")
			withdrawn := ask(t, alice, "hello")
			send(t, alice, protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(withdrawn)})
			done := ask(t, alice, "hello")
			answer := client.Chat("Hello.")
			answer.Correlation = protocol.CorrelateTo(done)
			leave(t, g, answer)

			now := func() time.Time { return time.Now().Add(test.later) }
			var since []protocol.Seq
			if test.how != agent.CatchUpOff {
				since = append(since, 0)
			}
			employ(t, g, "planner", agent.Options{CatchUp: test.how, Now: now, OwnToolsOnly: true}, since...)
			asked["new"] = ask(t, alice, "hello")
			var wanted []protocol.ID
			for name := range strings.FieldsSeq(test.want) {
				wanted = append(wanted, asked[name])
			}
			all := conversation(t, alice, answersTo(wanted...))
			all = append(all, idle(t, alice, "planner")...)
			var got []string
			for _, name := range []string{"before", "after", "new"} {
				if answerCount(all, asked[name]) > 0 {
					got = append(got, name)
				}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("answered %v, want %s\n%s", got, test.want, script(all))
			}
			if answerCount(all, withdrawn) > 0 || answerCount(all, done) != 1 {
				t.Errorf("what was settled was answered\n%s", script(all))
			}
		})
	}
}

// The last thing in the log may be what the agent may not see: the backlog ends
// nevertheless.
func TestTheBacklogEndsWhereNothingMoreComes(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(config, "  lab:\n", "  lab:\n    visibility: addressed\n", 1))
	alice, carol := join(t, g, "alice"), join(t, g, "carol")
	leave(t, g, client.Chat("Good morning."))
	question := ask(t, alice, "hello")
	ask(t, carol, "not for the planner", "alice")
	employ(t, g, "planner", agent.Options{CatchUp: agent.CatchUpAuto, OwnToolsOnly: true}, 0)
	conversation(t, alice, answerTo(question))
}
