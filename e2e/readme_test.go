package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

const scriptConfig = `
spaces:
  lab:
    participants:
      alice: {token: alice-token-for-tests, capabilities: ["*"]}
      guide: {token: guide-token-for-tests, capabilities: [chat, "reasoning/*"]}
      bot: {token: bot-token-for-tests, capabilities: [chat, "reasoning/*", mcp.response, mcp.proposal, mcp.withdraw, participant.status]}
      files: {token: files-token-for-tests, capabilities: [mcp.response, mcp.request, participant.status]}
`

// readmeScript writes the JavaScript example of docs/getting-started.md into a file, with
// its address and its token replaced.
func readmeScript(t *testing.T, addr string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/getting-started.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```js\n(.*?)```").FindSubmatch(text)
	if found == nil {
		t.Fatal("getting-started.md has no JavaScript")
	}
	script := strings.NewReplacer("127.0.0.1:8090", addr, "'…'", "'bot-token-for-tests'", "5000", "50").Replace(string(found[1]))
	file := filepath.Join(t.TempDir(), "agent.js")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// nodeWithWebSocket returns the command line of a Node that has WebSocket.
func nodeWithWebSocket(t *testing.T) []string {
	t.Helper()
	for _, args := range [][]string{{"node"}, {"node", "--experimental-websocket"}} {
		check := append(args[1:len(args):len(args)], "-e", "process.exit(typeof WebSocket === 'function' ? 0 : 1)")
		if exec.Command("node", check...).Run() == nil {
			return args
		}
	}
	t.Skip("there is no Node with WebSocket")
	return nil
}

// readmeAgent is an agent of the documentation, and alice, who asks it.
type readmeAgent struct {
	t       *testing.T
	ctx     context.Context // ends with the test's timeout
	command []string
	alice   *client.Client
	answers map[protocol.ID]int // by the question
}

// start runs the agent until it has joined.
func (a *readmeAgent) start() (kill func()) {
	a.t.Helper()
	cmd := exec.Command(a.command[0], a.command[1:]...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	kill = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	a.t.Cleanup(kill)
	a.await(presenceOf("bot", protocol.PresenceJoin))
	return kill
}

func presenceOf(who protocol.ParticipantID, event string) func(*protocol.Envelope) bool {
	return func(e *protocol.Envelope) bool {
		var p protocol.Presence
		return e.Kind == protocol.KindSystemPresence && json.Unmarshal(e.Payload, &p) == nil && p.Event == event && p.Participant.ID == who
	}
}

// await receives until a wanted envelope arrives, and counts answers.
func (a *readmeAgent) await(wanted func(*protocol.Envelope) bool) protocol.Envelope {
	a.t.Helper()
	for {
		e, err := a.alice.Receive(a.ctx)
		if err != nil {
			a.t.Fatal(err)
		}
		if e.Kind == protocol.KindChat && e.From == "bot" {
			a.answers[e.Correlation.First()]++
		}
		if wanted(&e) {
			return e
		}
	}
}

func (a *readmeAgent) send(c *client.Client, e protocol.Envelope, after ...protocol.ID) protocol.ID {
	a.t.Helper()
	e.Correlation.IDs = after
	r, err := c.Send(a.ctx, e)
	if err != nil {
		a.t.Fatal(err)
	}
	return r.ID
}

// ask asks and returns the ids of the question and the answer.
func (a *readmeAgent) ask(text string, after ...protocol.ID) (question, answer protocol.ID) {
	a.t.Helper()
	question = a.send(a.alice, client.Chat(text), after...)
	e := a.await(func(e *protocol.Envelope) bool {
		return e.Kind == protocol.KindChat && e.From == "bot" && e.Correlation.Names(question)
	})
	return question, e.ID
}

// TestGettingStarted_JavaScriptAgent checks that the agent of getting-started.md answers each
// question once, follow-up questions too, and neither old questions nor the
// answers of other agents, across its own restart and the gateway's.
func TestGettingStarted_JavaScriptAgent(t *testing.T) {
	t.Parallel()
	node := nodeWithWebSocket(t)
	g := startGateway(t, scriptConfig)
	ctx := testkit.Deadline(t)
	a := &readmeAgent{
		t: t, ctx: ctx, command: append(node, readmeScript(t, g.addr)), alice: g.dial(t, "alice", client.After(0)), answers: make(map[protocol.ID]int),
	}
	guide := g.dial(t, "guide", client.Position{})

	old := a.send(a.alice, client.Chat("before it came"))
	kill := a.start()
	question, answer := a.ask("a question")
	followUp, _ := a.ask("a follow-up", answer)
	correction, answer := a.ask("a correction of it", followUp)
	start := a.send(guide, protocol.Envelope{Kind: protocol.KindReasoningStart}, question)
	a.send(guide, protocol.Envelope{Kind: protocol.KindReasoningConclusion, Context: protocol.ContextPath(start)})
	a.send(guide, client.Chat("another agent's answer"), question)
	later, _ := a.ask("and then", answer)

	kill()
	a.await(presenceOf("bot", protocol.PresenceLeave))
	a.start()
	restarted, _ := a.ask("after its restart")
	g.kill()
	g.restart()
	resumed, _ := a.ask("after the gateway's restart")

	for name, id := range map[string]protocol.ID{
		"question": question, "follow-up": followUp, "correction": correction, "later": later, "restarted": restarted, "resumed": resumed,
	} {
		if a.answers[id] != 1 {
			t.Errorf("%s: %d answers", name, a.answers[id])
		}
	}
	if a.answers[old] != 0 || len(a.answers) != 6 {
		t.Errorf("it answered %v; %s is old", a.answers, old)
	}
}
