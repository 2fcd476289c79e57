package agent

import (
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/agent/catchup"
	"github.com/meup-protocol/meup/internal/agent/toolbox"
	"github.com/meup-protocol/meup/internal/meuptest"
	"github.com/meup-protocol/meup/internal/testkit"
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
			work, err := catchup.ReadAttempts(t.Context(), catchup.Options{History: a.opts.History, You: a.you, Space: a.space, Now: time.Now(), Result: toolbox.ResultIn})
			if err != nil {
				t.Fatal(err)
			}
			send(settling.who, settling.env)
			a.takeOver(a.questionOf(chat, nil), work)
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
