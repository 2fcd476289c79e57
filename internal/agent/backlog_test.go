package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// leave sends the agent's envelopes from before it was killed.
func leave(t *testing.T, g *meuptest.Gateway, said ...protocol.Envelope) {
	t.Helper()
	ghost := g.API(t, "planner") // without a connection, which would end a moment later
	for _, env := range said {
		if env.Payload == nil {
			env.Payload = []byte(`{"message":"…"}`)
		}
		if _, err := ghost.Send(testkit.Deadline(t), "lab", env); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCatchUp_ClosesUnfinishedWork(t *testing.T) {
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
		protocol.Envelope{ID: "call-own", Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"planner"}, Context: "whole/part", Payload: call},
		protocol.Envelope{ID: "call-private", Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"planner"}, Context: "alone",
			Correlation: protocol.CorrelateTo("alone"), Payload: call},
		protocol.Envelope{ID: "call-of-alice", Kind: protocol.KindMCPRequest, To: to, Context: "whole", Payload: call},

		protocol.Envelope{ID: "idea", Kind: protocol.KindMCPProposal, Context: "whole", Payload: proposal},
		protocol.Envelope{ID: "idea-done", Kind: protocol.KindMCPProposal, Context: "whole", Payload: proposal},
		protocol.Envelope{ID: "idea-made", Kind: protocol.KindMCPProposal, Context: "whole",
			Payload: []byte(`{"method":"tools/call","params":{"name":"x","arguments":{}},"participant_id":"planner"}`)},
	)
	send(t, alice, protocol.Envelope{ID: "call-approved", Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"planner"},
		Correlation: protocol.CorrelateTo("idea-made"), Payload: call})
	send(t, alice, protocol.Envelope{Kind: protocol.KindMCPReject, Context: "whole", Correlation: protocol.CorrelateTo("idea-done"), Payload: []byte(`{"reason":"no"}`)})

	employ(t, g, "planner", agent.Options{CatchUp: intake.CatchUpAuto, Tools: tools(t, handbook), OwnToolsOnly: true})
	marker := ask(t, alice, "are you back?")
	all := conversation(t, alice, answersTo(question, marker))
	all = append(all, idle(t, alice, "planner")...)
	var responses, withdrawals, ends []string
	afterwards := false
	for i := range all {
		env := &all[i]
		afterwards = afterwards || env.Kind == protocol.KindMCPReject
		if env.From != "planner" || !afterwards {
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
		"responses": {responses, []string{
			"[call] in whole/part to [] for call-7: -32000", "[call-own] in whole/part to [] for call-7: -32000",
			"[call-private] in alone to [alice] for call-7: -32000", "[call-approved] in whole to [alice] for call-7: -32000",
		}},
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

// answersTo reports whether all questions have an answer.
func answersTo(questions ...protocol.ID) func(*protocol.Envelope) bool {
	open := slices.Clone(questions)
	return func(env *protocol.Envelope) bool {
		open = slices.DeleteFunc(open, func(id protocol.ID) bool { return answerTo(id)(env) })
		return len(open) == 0
	}
}

// clockAhead is a client whose clock is ahead of the gateway's.
type clockAhead struct {
	*client.Client
	by time.Duration
}

func (c clockAhead) Welcome() protocol.Welcome {
	w := c.Client.Welcome()
	w.Clock -= c.by
	return w
}

// Which questions are old is decided by the gateway's clock.
func TestCatchUp_ClockAhead(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	leave(t, g, client.Chat("Good morning."))
	question := ask(t, alice, "hello")
	employ(t, g, "planner", agent.Options{
		Space: clockAhead{join(t, g, "planner"), 2 * time.Hour}, Now: func() time.Time { return time.Now().Add(2 * time.Hour) },
		CatchUp: intake.CatchUpAuto, OwnToolsOnly: true,
	})
	conversation(t, alice, answersTo(question))
}

func TestCatchUp_Questions(t *testing.T) {
	for _, test := range []struct {
		how   intake.CatchUp
		later time.Duration // until the agent returns
		want  string
	}{
		{intake.CatchUpOff, 0, "new"},
		{intake.CatchUpAuto, 0, "after new"},
		{intake.CatchUpAuto, 59 * time.Minute, "after new"},
		{intake.CatchUpAuto, 61 * time.Minute, "new"},
		{intake.CatchUpAll, 61 * time.Minute, "before after new"},
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
			employ(t, g, "planner", agent.Options{CatchUp: test.how, Now: now, OwnToolsOnly: true})
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

// A question of the backlog that waits for a free place can be withdrawn.
func TestCatchUp_WithdrawnWhileWaiting(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	leave(t, g, client.Chat("Good morning."))
	first, second := ask(t, alice, "look slowly"), ask(t, alice, "look slowly")
	tools, hanging, cancelled := slowTools(t)
	employ(t, g, "planner", agent.Options{CatchUp: intake.CatchUpAuto, Tools: tools, MaxQuestions: 1, MaxWaiting: 1, OwnToolsOnly: true})
	<-hanging // of the first; the second waits
	for _, question := range []protocol.ID{second, first} {
		send(t, alice, protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(question)})
	}
	<-cancelled
	all := idle(t, alice, "planner")
	for i := range all {
		if all[i].From == "planner" && all[i].Correlation.Names(second) {
			t.Errorf("the withdrawn question got %s\n%s", all[i].Kind, script(all))
		}
	}
}

// entries counts the entries of the log that the agent reads.
type entries struct {
	*api.Client
	read, pages atomic.Int64
}

func (e *entries) Envelopes(ctx context.Context, space string, q api.EnvelopeQuery) (*api.Envelopes, error) {
	page, err := e.Client.Envelopes(ctx, space, q)
	if err == nil {
		e.read.Add(int64(len(page.Envelopes)))
		e.pages.Add(1)
	}
	return page, err
}

// Catching up reads a bounded number of entries of a log of any length, and
// closes work that the agent left unfinished before them.
func TestAgent_CatchUpIsBounded(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	fill := func(n int) {
		t.Helper()
		pending := make([]*client.Pending, n)
		for i := range pending {
			var err error
			pending[i], err = alice.SendAsync(testkit.Deadline(t), protocol.Envelope{Kind: "x.tick"})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range pending {
			if _, err := p.Wait(testkit.Deadline(t)); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill(3000)
	question := ask(t, alice, "hello")
	leave(t, g, protocol.Envelope{ID: "open", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo(question)})
	fill(3000)
	history := &entries{Client: g.API(t, "planner")}
	reader := join(t, g, "carol")
	employ(t, g, "planner", agent.Options{CatchUp: intake.CatchUpAuto, OwnToolsOnly: true, History: history})
	all := conversation(t, reader, answerTo(question))
	if !slices.ContainsFunc(all, func(env protocol.Envelope) bool {
		return env.From == "planner" && env.Kind == protocol.KindReasoningCancel && env.Context == "open"
	}) {
		t.Errorf("the context stays open\n%s", script(all))
	}
	if read, pages := history.read.Load(), history.pages.Load(); read > 3004 || pages > 7 { // with the end of the context, up to which the agent reads on
		t.Errorf("read %d entries in %d pages of a log of 6,000", read, pages)
	}
}

// A request for a tool of the agent remains open until the agent's own
// response, a proposal until it is settled.
func TestAgent_ResponsesOfOthersCloseNothing(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	call := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}`)
	leave(t, g,
		protocol.Envelope{ID: "whole", Kind: protocol.KindReasoningStart},
		protocol.Envelope{ID: "call", Kind: protocol.KindMCPRequest, Context: "whole", Payload: call},
		protocol.Envelope{ID: "idea", Kind: protocol.KindMCPProposal, Context: "whole", Payload: []byte(`{"method":"tools/call","params":{"name":"x","arguments":{}}}`)},
	)
	result := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	send(t, alice, protocol.Envelope{Kind: protocol.KindMCPResponse, Correlation: protocol.CorrelateTo("call"), Payload: result})
	send(t, alice, protocol.Envelope{Kind: protocol.KindMCPResponse, Correlation: protocol.CorrelateTo("idea"), Payload: result})
	reader := join(t, g, "carol")
	employ(t, g, "planner", agent.Options{CatchUp: intake.CatchUpAuto, OwnToolsOnly: true})
	all := conversation(t, reader, func(env *protocol.Envelope) bool {
		return env.Kind == protocol.KindReasoningCancel && env.Context == "whole"
	})
	for _, id := range []protocol.ID{"call", "idea"} {
		if !slices.ContainsFunc(all, func(env protocol.Envelope) bool { return env.From == "planner" && env.Correlation.Names(id) }) {
			t.Errorf("%s stays open\n%s", id, script(all))
		}
	}
}
