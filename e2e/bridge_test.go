package e2e

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

const bridgeConfig = `
limits: {rate: 1000000, burst: 1000000}
spaces:
  lab:
    participants:
      alice: {token: alice-token-for-tests, capabilities: ["*"]}
      tools: {token: tools-token-for-tests, capabilities: ["mcp/*", "participant/status"]}
`

// startBridge starts the program with the reference server "everything", and
// waits until it is in the space.
func startBridge(t *testing.T, g *gatewayProc, alice *client.Client) *process {
	t.Helper()
	server := testkit.EverythingServer(t)
	p := start(t, []string{"MEUP_TOKEN=tools-token-for-tests"}, filepath.Join(bin, "meup-agent"), "bridge",
		"--gateway", "ws://"+g.addr+"/ws", "--space", "lab", "--mcp", server, "--log-level", "debug")
	eventually(t, "the bridge is there", func() bool {
		for _, p := range alice.Welcome().Participants {
			if p.ID == "tools" {
				return true
			}
		}
		return false
	})
	return p
}

// askBridge sends a request to the bridge.
func askBridge(t *testing.T, c *client.Client, method string, params any) (string, error) {
	t.Helper()
	ctx := testkit.Deadline(t)
	raw, err := c.Request(ctx, []protocol.ParticipantID{"tools"}, method, params, client.RequestOptions{})
	return string(raw), err
}

func echo(text string) map[string]any {
	return map[string]any{"name": "echo", "arguments": map[string]string{"message": text}}
}

func expect(t *testing.T, c *client.Client, method string, params any, want string) {
	t.Helper()
	if got, err := askBridge(t, c, method, params); err != nil || !strings.Contains(got, want) {
		t.Fatalf("%s: %.500s, %v", method, got, err)
	}
}

// The bridge as it is shipped, with the reference server in Node.
func TestBridge(t *testing.T) {
	t.Parallel()
	g := startGateway(t, bridgeConfig)
	alice := g.dial(t, "alice", client.Position{})
	p := startBridge(t, g, alice)
	expect(t, alice, "initialize", map[string]any{"protocolVersion": "2025-11-25"}, `"serverInfo"`)
	expect(t, alice, "tools/list", nil, `"name":"echo"`)
	expect(t, alice, "tools/call", echo("hello"), "Echo: hello")
	expect(t, alice, "resources/read", map[string]any{"uri": "demo://resource/dynamic/text/1"}, `"text":"Resource 1`)
	expect(t, alice, "prompts/get", map[string]any{"name": "args-prompt", "arguments": map[string]string{"city": "Bern"}}, "Bern")
	p.signal(syscallTerm)
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if log := p.log.String(); strings.Contains(log, "tools-token-for-tests") || strings.Contains(log, "Echo: hello") {
		t.Errorf("log:\n%s", log)
	}
}

// The MCP server is killed in the middle of a call.
func TestBridge_ServerKilled(t *testing.T) {
	t.Parallel()
	g := startGateway(t, bridgeConfig)
	alice := g.dial(t, "alice", client.Position{})
	p := startBridge(t, g, alice)
	progressing := make(chan struct{})
	ctx := testkit.Deadline(t)
	go func() {
		defer close(progressing)
		for env, err := range alice.All(ctx) {
			if err != nil || env.Kind == protocol.KindMCPRequest && strings.Contains(string(env.Payload), "notifications/progress") {
				return
			}
		}
	}()
	failed := make(chan error, 1)
	go func() {
		_, err := alice.Request(ctx, []protocol.ParticipantID{"tools"}, "tools/call", map[string]any{
			"name": "trigger-long-running-operation", "arguments": map[string]int{"duration": 60, "steps": 600},
			"_meta": map[string]string{"progressToken": "p"},
		}, client.RequestOptions{})
		failed <- err
	}()
	<-progressing
	killChild(t, p.cmd.Process.Pid, "everything")
	var rpc *client.RPCError
	if err := <-failed; !errors.As(err, &rpc) || !strings.Contains(string(rpc.Data), `"gone"`) {
		t.Errorf("the call under way: %v", err)
	}
	expect(t, alice, "tools/call", echo("again"), "Echo: again")
}

// The gateway is killed and restarted while the bridge runs: requests in
// progress are answered, later ones too, and none twice.
func TestBridge_GatewayKilled(t *testing.T) {
	t.Parallel()
	g := startGateway(t, bridgeConfig)
	alice := g.dial(t, "alice", client.Position{})
	startBridge(t, g, alice)
	expect(t, alice, "tools/call", echo("before"), "Echo: before")
	underWay := make(chan error, 1)
	go func() {
		_, err := askBridge(t, alice, "tools/call", map[string]any{"name": "trigger-long-running-operation", "arguments": map[string]any{"duration": 1, "steps": 1}})
		underWay <- err
	}()
	eventually(t, "the call is in the log", func() bool { return len(requestsIn(t, g)) == 2 })
	g.kill()
	g.restart()
	if err := <-underWay; err != nil {
		t.Errorf("the call under way: %v", err)
	}
	expect(t, alice, "tools/call", echo("after"), "Echo: after")
	for id, responses := range requestsIn(t, g) {
		if responses != 1 {
			t.Errorf("%s has %d responses", id, responses)
		}
	}
}

// requestsIn counts the responses to each request in the log.
func requestsIn(t *testing.T, g *gatewayProc) map[protocol.ID]int {
	t.Helper()
	ctx := testkit.Deadline(t)
	c := g.dial(t, "alice", client.After(0))
	defer func() { _ = c.Close() }()
	head := c.Welcome().Space.Seq
	counts := make(map[protocol.ID]int)
	for seq := protocol.Seq(0); seq < head; {
		env, err := c.Receive(ctx)
		if err != nil {
			t.Fatal(err)
		}
		seq = max(seq, env.Seq)
		var rpc struct{ ID json.RawMessage }
		_ = json.Unmarshal(env.Payload, &rpc)
		switch {
		case env.Kind == protocol.KindMCPRequest && len(rpc.ID) > 0:
			counts[env.ID] += 0
		case env.Kind == protocol.KindMCPResponse:
			counts[env.Correlation.First()]++
		}
	}
	return counts
}
