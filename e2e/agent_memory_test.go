package e2e

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/llm/llmtest"
	"github.com/meup-protocol/meup/protocol"
)

// An agent with --memory searches the log of its space, and finds nothing that
// is addressed to others.
func TestAgent_Memory(t *testing.T) {
	server, modelFlags := model(t, llmtest.Turns(
		llmtest.Turn{Calls: []llm.ToolCall{call("context.fts_search", `{"query":"zebra","rationale":"It may have been said before."}`)}},
		llmtest.Turn{Text: "It was mentioned once."},
	))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
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
	p := start(t, []string{"AGENT=guide-token-for-tests"}, filepath.Join(bin, "meup-agent"),
		append([]string{"run", "--gateway", "ws://" + s.g.addr + "/ws", "--space", "lab", "--token-env", "AGENT", "--memory"}, modelFlags...)...)
	eventually(t, "the agent is ready", func() bool { return strings.Contains(p.log.String(), "agent ready") })
	if text := s.answer(s.ask("@guide Was there a zebra?")); text != "It was mentioned once." {
		t.Errorf("answer %q", text)
	}
	body := string(server.Requests()[1].Body)
	if !strings.Contains(body, "the zebra is public") || strings.Contains(body, "a secret") {
		t.Errorf("the model was shown %s", body)
	}
}
