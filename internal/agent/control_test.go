package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// controlled sends a request to the agent and returns its answer.
func controlled(t *testing.T, g *meuptest.Gateway, kind protocol.Kind, payload string) (protocol.Kind, map[string]any) {
	t.Helper()
	alice := join(t, g, "alice")
	defer func() { _ = alice.Close() }()
	r, err := alice.Send(testkit.Deadline(t), protocol.Envelope{Kind: kind, To: []protocol.ParticipantID{"planner"}, Payload: []byte(payload)})
	if err != nil {
		t.Fatal(err)
	}
	all := conversation(t, alice, func(env *protocol.Envelope) bool { return env.From == "planner" && env.Correlation.Names(r.ID) })
	if to := fmt.Sprint(last(all).To); to != "[alice]" {
		t.Errorf("the answer goes to %s", to)
	}
	return last(all).Kind, decode(t, last(all))
}

// forget, compact, clear and restart change the stored conversation, and are
// answered.
func TestAgent_MemoryControls(t *testing.T) {
	const status, done = protocol.KindParticipantStatus, protocol.KindParticipantCompactDone
	tests := []struct {
		kind     protocol.Kind
		payload  string
		answer   protocol.Kind
		fields   string // of the answer
		remember string // numbers of the remaining messages
	}{
		{protocol.KindParticipantForget, `{"direction":"oldest","entries":1}`, status, "status:idle messages_in_context:3", "2 3 4"},
		{protocol.KindParticipantForget, `{"direction":"newest","entries":3}`, status, "status:idle messages_in_context:1", "1"},
		{protocol.KindParticipantForget, `{}`, status, "status:idle messages_in_context:2", "3 4"},
		{protocol.KindParticipantForget, `{"entries":1e30}`, status, "status:idle messages_in_context:0 tokens:0", ""},
		{protocol.KindParticipantCompact, `{}`, done, "status:compacted freed_messages:2 freed_tokens:20", "3 4"},
		{protocol.KindParticipantCompact, `{"target_tokens":10}`, done, "status:compacted freed_messages:3 freed_tokens:30", "4"},
		{protocol.KindParticipantCompact, `{"target_tokens":1000}`, done, "status:skipped", "1 2 3 4"},
		{protocol.KindParticipantCompact, `{"target_tokens":-5}`, done, "status:compacted freed_messages:4", ""},
		{protocol.KindParticipantClear, `{}`, status, "status:cleared messages_in_context:0", ""},
		{protocol.KindParticipantRestart, `{}`, status, "status:restarted messages_in_context:0", ""},
		{protocol.KindParticipantRequestStatus, `{}`, status, "status:idle messages_in_context:4 tokens:40 max_tokens:1000", "1 2 3 4"},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.kind, " ", test.payload), func(t *testing.T) {
			g := meuptest.Start(t, config)
			memory := &remembering{}
			employ(t, g, "planner", agent.Options{Planner: memory, OwnToolsOnly: true, Answer: intake.Mentioned, ContextTokens: 1000})
			alice := join(t, g, "alice")
			for i := range 4 {
				ask(t, alice, fmt.Sprint(i+1, " ", strings.Repeat("x", 38))) // 10 tokens
			}
			kind, fields := controlled(t, g, test.kind, test.payload)
			if kind != test.answer {
				t.Errorf("the answer is %s", kind)
			}
			for want := range strings.FieldsSeq(test.fields) {
				name, value, _ := strings.Cut(want, ":")
				if got := fmt.Sprint(fields[name]); got != value {
					t.Errorf("%s is %s, want %s", name, got, value)
				}
			}
			conversation(t, alice, answerTo(ask(t, alice, "@planner what?")))
			var left []string
			for line := range strings.Lines(memory.before("@planner what?")) {
				left = append(left, strings.Fields(line)[2])
			}
			if got := strings.Join(left, " "); got != test.remember {
				t.Errorf("remembered %q, want %q", got, test.remember)
			}
		})
	}
}

// restart cancels the questions in progress: their contexts are closed, their
// askers are notified.
func TestAgent_Restart(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	tools, hanging, cancelled := slowTools(t)
	employ(t, g, "planner", agent.Options{Tools: tools})
	question := ask(t, alice, "look slowly")
	<-hanging
	send(t, alice, protocol.Envelope{Kind: protocol.KindParticipantRestart, To: []protocol.ParticipantID{"planner"}})
	all := conversation(t, alice, answerTo(question))
	<-cancelled
	if text := fmt.Sprint(decode(t, last(all))["message"]); !strings.Contains(text, "the agent was restarted") {
		t.Errorf("answer %q", text)
	}
	closed := 0
	for i := range all {
		if all[i].Kind == protocol.KindReasoningCancel && all[i].From == "planner" {
			closed++
		}
	}
	if closed != 1 {
		t.Errorf("%d contexts are closed\n%s", closed, script(all))
	}
}
