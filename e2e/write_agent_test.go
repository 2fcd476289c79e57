package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// The smallest agent of docs/protocol/write-an-agent.md compiles, answers public and
// private questions once, and resumes at a restarted gateway.
func TestWriteAnAgent(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/protocol/write-an-agent.md")
	if err != nil {
		t.Fatal(err)
	}
	_, source, _ := strings.Cut(string(page), "```go\n")
	source, _, _ = strings.Cut(source, "```")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := testkit.Build(filepath.Join(dir, "agent"), filepath.Join(dir, "main.go")); err != nil {
		t.Fatal(err)
	}

	g := startGateway(t, strings.Replace(labConfig, `bob: {token: bob-token-for-tests, capabilities: ["*"]}`, `bob: {token: bob-token-for-tests, capabilities: [chat, "reasoning/*"]}`, 1))
	start(t, []string{"MEUP_URL=ws://" + g.addr, "MEUP_TOKEN=bob-token-for-tests"}, filepath.Join(dir, "agent"))
	present := func() bool { return strings.Contains(fmt.Sprint(participants(t, g.addr)), "bob") }
	eventually(t, "the agent is present", present)

	alice := g.dial(t, "alice", client.Position{})
	calls, err := api.New(api.Options{URL: "http://" + g.addr, Token: "alice-token-for-tests"})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(e protocol.Envelope) {
		t.Helper()
		e.Kind, e.Payload = protocol.KindChat, []byte(`{"message":"how many words are these"}`)
		if _, err := alice.Send(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	answered := func(id protocol.ID) {
		t.Helper()
		eventually(t, fmt.Sprintf("%s is answered", id), func() bool {
			of, err := calls.TurnOf(t.Context(), "lab", id)
			return err == nil && of.Turn.State == api.TurnCompleted && of.Turn.Response != nil && *of.Turn.Response == "5 words."
		})
	}
	ask(protocol.Envelope{ID: "public"})
	answered("public")
	long := protocol.ID(strings.Repeat("q", 128))
	ask(protocol.Envelope{ID: long, To: []protocol.ParticipantID{"bob"}})
	answered(long)
	ask(protocol.Envelope{ID: "other", To: []protocol.ParticipantID{"carol"}})

	g.kill()
	g.start()
	eventually(t, "the gateway is ready", func() bool { return get(g.addr, "/readyz", "") == http.StatusOK })
	ask(protocol.Envelope{ID: "later"}) // the agent may still be away
	answered("later")

	chats := 0
	for _, e := range history(t, g.addr, "alice") {
		if e.From == "bob" && e.Kind == string(protocol.KindChat) {
			chats++
		}
	}
	if chats != 3 {
		t.Errorf("the agent sent %d chats to 3 questions", chats)
	}
}
