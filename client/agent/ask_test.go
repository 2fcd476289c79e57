package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/agent"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

const askConfig = config + `
      critic: {token: critic-token, capabilities: [chat, "reasoning/*", mcp.response, participant.status]}
      scout: {token: scout-token, capabilities: [chat, "reasoning/*", mcp.response, participant.status]}
`

// runAgent runs an agent until the test ends.
func runAgent(t *testing.T, g *meuptest.Gateway, alice *client.Client, who protocol.ParticipantID, f func(context.Context, *agent.Question) (string, error)) {
	t.Helper()
	// A process that catches up closes what another one has open.
	a := &agent.Agent{Client: options(g, string(who)), OnQuestion: f, Answers: agent.Mentioned, IgnoreEarlier: true}
	run(t, alice, who, func(ctx context.Context) {
		if err := a.Run(ctx); err != nil {
			t.Errorf("%s: %v", who, err)
		}
	})
}

// Of two processes of the one that asks and two of the one that is asked, one each works. The
// answer begins no question, and the turn shows it as a part.
func TestAsk(t *testing.T) {
	g := meuptest.Start(t, askConfig)
	alice := joinAlice(t, g)
	var asked, answered atomic.Int64
	var heard []string
	for range 2 {
		runAgent(t, g, alice, "critic", func(ctx context.Context, q *agent.Question) (string, error) {
			answered.Add(1)
			if err := q.Think(ctx, "The tests pass."); err != nil {
				return "", err
			}
			return "Yes, " + q.Text, nil
		})
		runAgent(t, g, alice, "bot", func(ctx context.Context, q *agent.Question) (string, error) {
			if err := q.Think(ctx, "The critic knows."); err != nil {
				return "", err
			}
			asked.Add(1)
			answer, err := q.Ask(ctx, "critic", "it is safe", agent.AskOptions{OnThought: func(text string) { heard = append(heard, text) }})
			if err != nil {
				return "", err
			}
			return fmt.Sprint(answer.Outcome, " ", answer.Text, " ", answer.Envelope.Kind), nil
		})
	}
	_, got := ask(t, alice, "@bot is it safe?")
	if want := "answered Yes, it is safe reasoning.conclusion"; got != want {
		t.Errorf("the answer is %q, want %q", got, want)
	}
	if _, got := ask(t, alice, "@critic once more"); got != "Yes, @critic once more" { // it still answers chats after the part
		t.Errorf("the critic answers %q", got)
	}
	if asked.Load() != 1 || answered.Load() != 2 || !slices.Equal(heard, []string{"The tests pass."}) {
		t.Errorf("%d questions to the critic, which answers %d, and %q is heard; want 1, 2, and its thought", asked.Load(), answered.Load(), heard)
	}
	history := g.API(t, "alice")
	threads, err := history.Threads(testkit.Deadline(t), "lab", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	page, err := history.History(testkit.Deadline(t), "lab", threads.Threads[len(threads.Threads)-1].ThreadID, api.Page{})
	if err != nil {
		t.Fatal(err)
	}
	turn := page.Turns[0]
	if len(page.Turns) != 1 || len(turn.Responses) > 1 || turn.Reasoning == nil || len(turn.Reasoning.Parts) != 1 || turn.Reasoning.Parts[0].Conclusion != "Yes, it is safe" {
		t.Errorf("the turn is %+v, want one response and the part", turn)
	}
}

// An agent that is asked asks the next one. The question ends at the one that asked first, and at
// the greatest depth.
func TestAsk_Chain(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(askConfig, "\nspaces:", "\nlimits: {context_depth: 3}\nspaces:", 1))
	alice := joinAlice(t, g)
	var mu sync.Mutex
	var got []string
	chain := func(next protocol.ParticipantID) func(context.Context, *agent.Question) (string, error) {
		return func(ctx context.Context, q *agent.Question) (string, error) {
			answer, err := q.Ask(ctx, next, q.Text, agent.AskOptions{})
			if err != nil {
				return "", err
			}
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprint(answer.Outcome, ": ", answer.Text))
			return answer.Text, nil
		}
	}
	for who, next := range map[protocol.ParticipantID]protocol.ParticipantID{"bot": "critic", "critic": "scout", "scout": "bot"} {
		runAgent(t, g, alice, who, chain(next))
	}
	tooDeep := "the question is asked at depth 3 already, the most that the space allows"
	ask(t, alice, "@bot what is it?")
	if want := []string{"rejected: " + tooDeep, "answered: " + tooDeep, "answered: " + tooDeep}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAsk_Cycle(t *testing.T) {
	g := meuptest.Start(t, askConfig)
	alice := joinAlice(t, g)
	asks := func(who protocol.ParticipantID) func(context.Context, *agent.Question) (string, error) {
		return func(ctx context.Context, q *agent.Question) (string, error) {
			answer, err := q.Ask(ctx, who, q.Text, agent.AskOptions{})
			if err != nil {
				return "", err
			}
			return fmt.Sprint(answer.Outcome, " (", answer.Text, ")"), nil
		}
	}
	runAgent(t, g, alice, "bot", asks("critic"))
	runAgent(t, g, alice, "critic", asks("bot"))
	runAgent(t, g, alice, "scout", asks("scout"))
	for question, want := range map[string]string{
		"@bot what is it?":   "answered (gave_up (declined by bot: this is a part of my own reasoning))",
		"@scout what is it?": "rejected (an agent cannot ask itself)",
	} {
		if _, got := ask(t, alice, question); got != want {
			t.Errorf("%s: %q, want %q", question, got, want)
		}
	}
}

// A handler that fails has an outcome for the one that asks, and an end of the question ends what
// was asked.
func TestAsk_Ends(t *testing.T) {
	g := meuptest.Start(t, askConfig)
	alice := joinAlice(t, g)
	begun, stopped := make(chan struct{}, 1), make(chan struct{}, 1)
	runAgent(t, g, alice, "critic", func(ctx context.Context, q *agent.Question) (string, error) {
		switch q.Text {
		case "fail":
			return "", errors.New("asked to fail")
		case "wait":
			begun <- struct{}{}
		}
		<-ctx.Done()
		if q.Text == "wait" {
			stopped <- struct{}{}
		}
		return "", ctx.Err()
	})
	runAgent(t, g, alice, "bot", func(ctx context.Context, q *agent.Question) (string, error) {
		who, o := protocol.ParticipantID("critic"), agent.AskOptions{}
		text := strings.TrimPrefix(q.Text, "@bot ")
		switch text {
		case "be quick":
			o.Timeout = time.Millisecond
		case "be there":
			who = "scout"
		}
		answer, err := q.Ask(ctx, who, text, o)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(answer.Outcome, ": ", answer.Text), nil
	})
	for text, want := range map[string]string{
		"fail":     "gave_up: declined by critic: ",
		"be quick": "timeout: no conclusion of critic within 1ms",
		"be there": "gave_up: scout is not connected",
	} {
		if _, got := ask(t, alice, "@bot "+text); !strings.HasPrefix(got, want) {
			t.Errorf("%s: the outcome is %q, want %q", text, got, want)
		}
	}
	ctx := testkit.Deadline(t)
	sent, err := alice.Send(ctx, client.Chat("@bot wait"))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-begun:
	case <-ctx.Done():
		t.Fatal("the critic does not begin")
	}
	if _, err := alice.Send(ctx, protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(sent.ID)}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-stopped:
	case <-ctx.Done():
		t.Error("the critic works on after the question was withdrawn")
	}
}
