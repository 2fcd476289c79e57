package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

const togetherConfig = `
limits: {rate: 1000000, burst: 1000000}
spaces:
  lab:
    participants:
      alice: {token: alice-token-for-tests, capabilities: ["*"]}
      guide: {token: guide-token-for-tests, capabilities: [chat, "reasoning/*", "mcp/*", participant.status]}
      critic: {token: critic-token-for-tests, capabilities: [chat, "reasoning/*", "mcp/*", participant.status]}
`

// Two agents and a person solve one task: the guide shares what it sees and asks
// the critic to take a part, alice asks something in between, and the answer
// builds on both.
func TestAgents_ReasonTogether(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	_, criticModel := model(t, func(llmtest.Request) llmtest.Turn {
		return llmtest.Turn{Hang: asked, Text: "The security tests pass.\n\nConfidence: 0.9\nKey factors: tests; review"}
	})
	guideServer, guideModel := model(t, llmtest.Turns(
		llmtest.Turn{Text: "I have the tests looked at.", Calls: []llm.ToolCall{
			call("share", `{"kind":"observation","text":"The change touches the login.","severity":"high"}`),
			call("delegate", `{"participant":"critic","question":"Do the security tests pass?","approach":"security first","estimated_duration":"30s","rationale":"The critic knows the tests."}`),
		}},
		llmtest.Turn{Text: "Hypothesis: It is safe (confidence 0.8)\nEvidence for: e1; e2\nEvidence against: no load test\nReply to e3: The cache is not touched.",
			Calls: []llm.ToolCall{call("share", `{"kind":"question","text":"Is there a rollback?"}`)}},
		llmtest.Turn{Text: "Deploy.\n\nRecommendation: Watch the login.\nReferences: e3, e99"},
	))
	ctx := testkit.Deadline(t)
	s := &agentStage{t: t, g: startGateway(t, togetherConfig), ctx: ctx}
	s.alice = s.g.dial(t, "alice", client.After(0))
	for who, flags := range map[string][]string{"critic": criticModel, "guide": guideModel} {
		args := append([]string{"run", "--gateway", "ws://" + s.g.addr + "/ws", "--space", "lab", "--token-env", "AGENT"}, flags...)
		p := start(t, []string{"AGENT=" + who + "-token-for-tests"}, filepath.Join(bin, "meup-agent"), args...)
		eventually(t, who+" is ready", func() bool { return strings.Contains(p.log.String(), "agent ready") })
	}
	eventually(t, "both agents are known", func() bool { return len(s.alice.Welcome().Participants) == 3 })

	question := s.ask("@guide Should we deploy the new login?")
	part := s.until("the part", func(env *protocol.Envelope) bool {
		return env.Kind == protocol.KindReasoningStart && env.Context != ""
	})
	if p := string(part.Payload); len(part.To) > 0 || !strings.Contains(p, `"participant_id":"critic"`) ||
		!strings.Contains(p, `"approach":"security first"`) || !strings.Contains(p, `"estimated_duration":"30s"`) {
		t.Errorf("the part %+v %s", part, p)
	}
	remark, err := s.alice.Send(ctx, protocol.Envelope{Kind: protocol.KindReasoningQuestion, Context: part.Context, Payload: []byte(`{"message":"Have you considered the cache?"}`)})
	if err != nil {
		t.Fatal(err)
	}
	close(asked)
	if text := s.answer(question); text != "Deploy.\n\nRecommendation: Watch the login." {
		t.Errorf("answer %q\n%s", text, s.script())
	}
	got := make(map[protocol.Kind]string)
	for _, env := range s.seen {
		if env.Correlation.Names(remark.ID) && env.From == "guide" {
			got["reply"] += message(&env)
		}
		if strings.HasPrefix(string(env.Kind), "reasoning.") {
			got[protocol.Kind(env.From)+" "+env.Kind] += string(env.Payload)
		}
	}
	for what, want := range map[protocol.Kind]string{
		"reply":                       "The cache is not touched.",
		"guide reasoning.observation": `{"message":"The change touches the login.","severity":"high"}`,
		"guide reasoning.hypothesis":  `"hypothesis":"It is safe","confidence":0.8,"evidence":["`,
		"guide reasoning.question":    `{"message":"Is there a rollback?"}`,
		"guide reasoning.conclusion":  `"recommendation":"Watch the login.","references":["` + string(remark.ID) + `"]`,
		"critic reasoning.conclusion": `"message":"The security tests pass.\n\nKey factors: tests; review","confidence":0.9,"key_factors":["tests","review"]`,
	} {
		if !strings.Contains(got[what], want) {
			t.Errorf("%s: %s\nwant %s", what, got[what], want)
		}
	}
	requests := guideServer.Requests()
	if body := string(requests[1].Body); !strings.Contains(body, "critic concluded:") || !strings.Contains(body, `\"from\":\"alice\",\"kind\":\"question\",\"text\":\"Have you considered the cache?\"`) {
		t.Errorf("the second request: %s", body)
	}
}
