package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// remembering answers "noted: " and the question, and keeps the history of each
// question.
type remembering struct {
	mu      sync.Mutex
	history map[string][]llm.Message // by question
	askers  map[string]string        // by question
}

// Next answers.
func (r *remembering) Next(_ context.Context, s planner.State) (planner.Decision, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.history == nil {
		r.history, r.askers = make(map[string][]llm.Message), make(map[string]string)
	}
	r.history[s.Question], r.askers[s.Question] = s.History, s.Asker
	return planner.Decision{Action: contextwindow.Finish, Answer: "noted: " + s.Question, Conclusion: "noted"}, nil
}

func (r *remembering) before(question string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, m := range r.history[question] {
		lines = append(lines, fmt.Sprintf("%s| %s", m.Role, m.Text))
	}
	return strings.Join(lines, "\n")
}

func lines(list ...string) string { return strings.Join(list, "\n") }

func TestHistory_OnlySharedChats(t *testing.T) {
	g := meuptest.Start(t, config)
	alice, carol := join(t, g, "alice"), join(t, g, "carol")
	memory := &remembering{}
	employ(t, g, "planner", agent.Options{Planner: memory, OwnToolsOnly: true, Answer: intake.Mentioned})
	put := func(c *client.Client, text string, to ...protocol.ParticipantID) {
		t.Helper()
		conversation(t, c, answerTo(ask(t, c, text, to...)))
	}
	ask(t, carol, "good morning")
	put(alice, "@planner a public matter")
	put(alice, "alice's secret", "planner")
	put(carol, "carol's secret", "planner")
	ask(t, alice, "between us", "carol")
	put(alice, "to two", "carol", "planner")
	remark := client.Chat("a remark within somebody's thinking")
	remark.Context = "c-1"
	send(t, alice, remark)
	put(carol, "@planner another public matter")
	put(alice, "alice's second secret", "planner")
	put(alice, "again to two", "planner", "carol")

	if got := memory.askers["@planner another public matter"]; got != "carol" {
		t.Errorf("the question of carol is one of %q", got)
	}
	public := []string{"user| carol: good morning", "user| alice: @planner a public matter", "assistant| noted: @planner a public matter"}
	for question, want := range map[string]string{
		"@planner a public matter": lines(public[:1]...),
		"alice's secret":           lines(public...),
		"carol's secret":           lines(public...),
		// Private chats are not disclosed to all.
		"@planner another public matter": lines(public...),
		"alice's second secret": lines(append(public[:3:3],
			"user| alice: alice's secret", "assistant| noted: alice's secret",
			"user| alice: to two", "assistant| noted: to two",
			"user| carol: @planner another public matter", "assistant| noted: @planner another public matter")...),
		// Carol has not received alice's secrets, nor alice hers.
		"again to two": lines(append(public[:3:3],
			"user| alice: to two", "assistant| noted: to two",
			"user| carol: @planner another public matter", "assistant| noted: @planner another public matter")...),
	} {
		t.Run(question, func(t *testing.T) {
			if got := memory.before(question); got != want {
				t.Errorf("before %q\n%s\nwant\n%s", question, got, want)
			}
		})
	}
}

func TestHistoryIsBounded(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	memory := &remembering{}
	employ(t, g, "planner", agent.Options{Planner: memory, OwnToolsOnly: true, Answer: intake.Mentioned})
	for i := range 50 {
		ask(t, alice, fmt.Sprintf("%d %s", i, strings.Repeat("é", 5000)))
	}
	conversation(t, alice, answerTo(ask(t, alice, "@planner well?")))
	got := strings.Split(memory.before("@planner well?"), "\n")
	if len(got) != 16 || !strings.HasPrefix(got[0], "user| alice: 34 é") || !strings.HasPrefix(got[15], "user| alice: 49 é") {
		t.Errorf("%d messages, from %.20q to %.20q", len(got), got[0], got[len(got)-1])
	}
	for _, line := range got {
		if n := len([]rune(line)); n > 4100 || !strings.HasSuffix(line, "…") {
			t.Errorf("a message of %d characters", n)
		}
	}
}

// An agent that rejoins has read the earlier chats.
func TestHistoryIsReadFromTheLog(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	ask(t, alice, "my name is Alice")
	leave(t, g, client.Chat("Good morning."))
	memory := &remembering{}
	employ(t, g, "planner", agent.Options{Planner: memory, OwnToolsOnly: true, CatchUp: intake.CatchUpAuto})
	conversation(t, alice, answerTo(ask(t, alice, "what is my name?")))
	if got, want := memory.before("what is my name?"), lines("user| alice: my name is Alice", "assistant| Good morning."); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
