package e2e

import (
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// An agent with --memory searches the log of its space, and finds nothing that
// is addressed to others.
func TestAgent_Memory(t *testing.T) {
	t.Parallel()
	server, modelFlags := model(t, llmtest.Turns(
		llmtest.Turn{Calls: []llm.ToolCall{call("context.fts_search", `{"query":"zebra","rationale":"It may have been said before."}`)}},
		llmtest.Turn{Text: "It was mentioned once."},
	))
	ctx := testkit.Deadline(t)
	s := &agentStage{t: t, g: startGateway(t, togetherConfig), ctx: ctx}
	s.alice = s.g.dial(t, "alice", client.After(0))
	for _, e := range []protocol.Envelope{
		{Kind: protocol.KindChat, Payload: []byte(`{"message":"the zebra is public"}`)},
		{Kind: protocol.KindChat, To: []protocol.ParticipantID{"critic"}, Payload: []byte(`{"message":"the zebra is a secret"}`)},
	} {
		if _, err := s.alice.Send(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	s.startMemory(modelFlags...)
	if text := s.answer(s.ask("@guide Was there a zebra?")); text != "It was mentioned once." {
		t.Errorf("answer %q", text)
	}
	body := string(server.Requests()[1].Body)
	if !strings.Contains(body, "the zebra is public") || strings.Contains(body, "a secret") {
		t.Errorf("the model was shown %s", body)
	}
}

// startMemory starts the agent with --memory.
func (s *agentStage) startMemory(flags ...string) {
	s.t.Helper()
	s.args = append([]string{"run", "--gateway", "ws://" + s.g.addr + "/ws", "--space", "lab", "--token-env", "GUIDE", "--memory"}, flags...)
	s.startAgent()
}

// With any planner, the search of an agent finds messages of an earlier
// conversation, in other words than the question's, and neither the question nor
// the search itself; also if the question is asked again, when its earlier attempt
// has all words.
func TestAgent_MemoryWithoutEcho(t *testing.T) {
	t.Parallel()
	const question = "@guide Which port does the 2nd staging database use?"
	turns := func(server *llmtest.Server) {
		t.Helper()
		if body := string(server.Requests()[1].Body); !strings.Contains(body, "listens on 5433") {
			t.Errorf("the model was shown %s", body)
		}
	}
	for _, decider := range []string{"rules", "model", "reasoner"} {
		t.Run(decider, func(t *testing.T) {
			ctx := testkit.Deadline(t)
			s := &agentStage{t: t, g: startGateway(t, togetherConfig), ctx: ctx}
			s.alice = s.g.dial(t, "alice", client.After(0))
			fact := s.ask("By the way: the database for staging listens on 5433 since Monday, a port of its own.")
			rounds := 2
			switch decider {
			case "rules":
				s.startMemory()
			case "model":
				rounds = 1 // as scripted
				search := llmtest.Turn{Calls: []llm.ToolCall{call("context.fts_search", `{"query":"Which port does the 2nd staging database use?","rationale":"It may have been said before."}`)}}
				server, flags := model(t, llmtest.Turns(search, llmtest.Turn{Text: "It is 5433."}))
				s.startMemory(flags...)
				defer turns(server)
			case "reasoner":
				s.startMemory("--reasoner", "http://"+startDecider(t).addr, "--reasoner-token-env", "THE_REASONERS")
			}
			for range rounds {
				asked := s.ask(question)
				start := s.until("the start", func(env *protocol.Envelope) bool {
					return env.Kind == protocol.KindReasoningStart && env.Correlation.Names(asked)
				})
				request := s.toolCall("context.fts_search")
				found := s.until("the result", func(env *protocol.Envelope) bool {
					return env.Correlation.Names(request.ID) && env.Kind == protocol.KindMCPResponse
				})
				_, text, _ := strings.Cut(string(found.Payload), `"result"`) // the id before it is the request's
				if !strings.Contains(text, string(fact)) || !strings.Contains(text, "listens on 5433") {
					t.Errorf("the search found %s", text)
				}
				for what, id := range map[string]protocol.ID{"the question": asked, "the start": start.ID, "the search": request.ID} {
					if strings.Contains(text, string(id)) {
						t.Errorf("the search found %s: %s", what, text)
					}
				}
				if answer := s.answer(asked); !strings.Contains(answer, "5433") {
					t.Errorf("answer %q\n%s", answer, s.script())
				}
			}
		})
	}
}
