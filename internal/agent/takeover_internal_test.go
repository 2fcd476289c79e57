package agent

import (
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// A question that is answered or withdrawn after the log was read, while the
// attempts of the other process are closed, is not begun.
func TestTakeOver_SettledMeanwhile(t *testing.T) {
	answer := client.Chat("42")
	answer.Correlation = protocol.CorrelateTo("question")
	for name, settling := range map[string]struct {
		who string
		env protocol.Envelope
	}{
		"answered":  {"planner", answer},
		"withdrawn": {"alice", protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo("question")}},
	} {
		t.Run(name, func(t *testing.T) {
			g := meuptest.Start(t, `{spaces: {lab: {participants: {alice: {token: alice-token, capabilities: ["*"]}, planner: {token: planner-token, capabilities: ["*"]}}}}}`)
			clients := make(map[string]*client.Client)
			for _, who := range []string{"alice", "planner"} {
				c, err := client.Dial(testkit.Deadline(t), client.Options{URL: g.URL("lab"), Token: who + "-token"})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				clients[who] = c
			}
			send := func(who string, env protocol.Envelope) {
				t.Helper()
				if _, err := clients[who].Send(testkit.Deadline(t), env); err != nil {
					t.Fatal(err)
				}
			}
			chat := client.Chat("how many sheep?")
			chat.ID, chat.From = "question", "alice"
			send("alice", chat)
			send("planner", protocol.Envelope{ID: "attempt", Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo("question")})
			a := New(Options{Space: clients["planner"], History: g.API(t, "planner")})
			a.runtime.Work = t.Context() // as in Run
			work, err := intake.ReadAttempts(t.Context(), intake.BacklogOptions{History: a.opts.History, You: a.you, Space: a.space, Now: time.Now(), Result: envelopeResult})
			if err != nil {
				t.Fatal(err)
			}
			send(settling.who, settling.env)
			a.takeOver(a.questionOf(chat, nil), work, 0, true)
			if a.questions.Get("question") != nil {
				t.Error("the question is open")
			}
			page, err := g.API(t, "alice").Envelopes(t.Context(), "lab", api.EnvelopeQuery{Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			kinds := make(map[protocol.Kind]int)
			for i := range page.Envelopes {
				kinds[page.Envelopes[i].Kind]++
			}
			if kinds[protocol.KindReasoningStart] != 1 || kinds[protocol.KindReasoningCancel] != 1 {
				t.Errorf("%v", kinds)
			}
		})
	}
}

// Two processes that give a question up send one answer, and one that finds an attempt of
// another process, begun after it asked, leaves the question to it.
func TestResume_Together(t *testing.T) {
	g := meuptest.Start(t, `{spaces: {lab: {participants: {alice: {token: alice-token, capabilities: ["*"]}, planner: {token: planner-token, capabilities: ["*"]}}}}}`)
	alice, planner := g.API(t, "alice"), g.API(t, "planner")
	send := func(c *api.Client, env protocol.Envelope) protocol.Seq {
		t.Helper()
		receipt, err := c.Send(testkit.Deadline(t), "lab", env)
		if err != nil {
			t.Fatal(err)
		}
		return receipt.Seq
	}
	chat := client.Chat("how many sheep?")
	chat.ID, chat.From = "question", "alice"
	send(alice, chat)
	var asked protocol.Seq
	for _, id := range []protocol.ID{"first", "second", "third"} {
		asked = send(planner, protocol.Envelope{ID: id, Kind: protocol.KindReasoningStart, Correlation: protocol.CorrelateTo("question"), Payload: []byte(`{"message":"…"}`)})
	}
	read := func(a *Agent) *intake.Backlog {
		work, err := intake.ReadAttempts(t.Context(), intake.BacklogOptions{History: a.opts.History, You: a.you, Space: a.space, Now: time.Now(), Result: envelopeResult})
		if err != nil {
			t.Fatal(err)
		}
		return work
	}
	var agents []*Agent
	for range 2 {
		c, err := client.Dial(testkit.Deadline(t), client.Options{URL: g.URL("lab"), Token: "planner-token"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		a := New(Options{Space: c, History: g.API(t, "planner")})
		a.runtime.Work, a.runtime.Final = t.Context(), t.Context() // as in Run
		agents = append(agents, a)
	}
	work := []*intake.Backlog{read(agents[0]), read(agents[1])}
	if !agents[0].resume(agents[0].newQuestion(chat, nil), work[0], asked-1) {
		t.Error("the attempt that began later is not left to its process")
	}
	for i, a := range agents {
		if a.resume(a.newQuestion(chat, nil), work[i], asked) {
			t.Error("an attempt that began before is left alone")
		}
	}
	page, err := alice.Envelopes(t.Context(), "lab", api.EnvelopeQuery{Kinds: []string{"chat"}, From: []protocol.ParticipantID{"planner"}, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Envelopes) != 1 {
		t.Errorf("%d answers, want 1", len(page.Envelopes))
	}
}
