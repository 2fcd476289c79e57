package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

const mcpNodeConfig = `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*", observe]}
      bob:
        token: bob-token
        capabilities:
          - chat
          - mcp.proposal
          - {kind: mcp.request, payload: {method: tools/list}}
          - {kind: mcp.request, payload: {method: tools/call, params: {name: precise, arguments: {n: 1}}}}
          - {kind: mcp.request, payload: {method: tools/call, params: {name: hold}}}
          - {kind: mcp.request, payload: {method: notifications/cancelled}}
      fan: {token: fan-token, capabilities: ["mcp/*", "participant/status"]}
      lamp: {token: lamp-token, capabilities: ["mcp/*", "participant/status"]}
`

// nodeStep is a line that testdata/mcpclient.mjs prints.
type nodeStep struct {
	Step, Revision, Instructions, Text string
	Error                              any
	Tools, URIs, Names                 []string
	Value                              json.RawMessage
	Progress                           int
}

// nodeClient runs the MCP client of the TypeScript SDK as bob. next returns what it
// prints, in order.
func nodeClient(t *testing.T, g *meuptest.Gateway, era string) (next func(step string) nodeStep, end func()) {
	t.Helper()
	node, modules := nodeModules(t, "@modelcontextprotocol/client")
	c := exec.CommandContext(t.Context(), node, "testdata/mcpclient.mjs")
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "MODULES=" + modules, "ERA=" + era, "ADDRESS=" + g.HTTP() + "/mcp", "TOKEN=bob-token"}
	var errors strings.Builder
	c.Stderr = &errors
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	next = func(step string) nodeStep {
		t.Helper()
		for lines.Scan() {
			var s nodeStep
			if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
				t.Fatalf("%s: %v", lines.Text(), err)
			}
			if s.Step == step {
				return s
			}
			if s.Step != "changed" {
				t.Fatalf("%s instead of %s", lines.Text(), step)
			}
		}
		_ = c.Wait() // then errors is complete
		t.Fatalf("it ended before %s:\n%s", step, errors.String())
		return nodeStep{}
	}
	return next, func() {
		t.Helper()
		_, _ = fmt.Fprintln(in, "end")
		for lines.Scan() { // it may have more notices
		}
		if err := c.Wait(); err != nil {
			t.Errorf("%v\n%s", err, errors.String())
		}
	}
}

// The MCP client of the TypeScript SDK takes part in a space, in both eras of MCP: it
// talks, waits, uses a tool of another participant, aborts a call, has a call approved, and learns
// that tools have gone.
func TestMCP_TypeScriptClient(t *testing.T) {
	for _, era := range []string{"legacy", "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			nodeModules(t, "@modelcontextprotocol/client")
			g := meuptest.Start(t, mcpNodeConfig)
			unplug := bridgeTo(t, g, "lamp-token", lamp())
			server, _, canceled := holding()
			bridgeTo(t, g, "fan-token", server)
			next, end := nodeClient(t, g, era)
			connected := next("connected")
			if want := map[string]string{"legacy": "2025-11-25"}[era]; want != "" && connected.Revision != want || want == "" && connected.Revision != era {
				t.Errorf("revision %s", connected.Revision)
			}
			if !strings.Contains(connected.Instructions, "bob") {
				t.Errorf("instructions %q", connected.Instructions)
			}
			if tools := next("tools").Tools; !slices.Contains(tools, "say") || !slices.Contains(tools, "lamp__precise") {
				t.Errorf("tools %q", tools)
			}
			var said struct{ ID string }
			if err := json.Unmarshal(next("said").Value, &said); err != nil {
				t.Fatal(err)
			}
			awaitPresent(t, g, "bob")
			if status, body := postAs(t, g, "alice-token", "/api/spaces/lab/envelopes", fmt.Sprintf(`{"kind":"chat","correlationId":%q,"payload":{"message":"In the yard."}}`, said.ID)); status != http.StatusOK {
				t.Fatal(body)
			}
			if answer := next("answer"); !strings.Contains(string(answer.Value), "In the yard.") {
				t.Errorf("answer %+v", answer)
			}
			if r := next("held"); r.Error == nil {
				t.Error("the aborted call has a result")
			}
			expectCall(t, canceled, "{}", "canceled")
			if r := next("precise"); r.Error != false || string(r.Value) != `{"n":1}` {
				t.Errorf("%+v", r)
			}
			var proposed struct{ ID, State string }
			if err := json.Unmarshal([]byte(next("proposed").Text), &proposed); err != nil || proposed.State != "proposed" {
				t.Fatal(err, proposed)
			}
			p := sentEnvelope(t, g, proposed.ID)
			decide(t, g, string(protocol.KindMCPRequest), `,"to":["lamp"],"id":"approved"`, proposed.ID,
				fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}`, p.ParsePayload().Get("params").Raw()))
			if outcome := next("outcome"); !strings.Contains(string(outcome.Value), "approved") {
				t.Errorf("%+v", outcome)
			}
			if r := next("resources"); len(r.URIs) < 2 {
				t.Errorf("%+v", r)
			}
			if r := next("prompts"); len(r.Names) == 0 {
				t.Errorf("%+v", r)
			}
			next("end")
			if era != "legacy" { // a stateless server of the earlier era cannot notify
				unplug()
				testkit.Eventually(t, "the client learns that the tools are gone", func() bool {
					return !slices.Contains(next("changed").Tools, "lamp__precise")
				})
			}
			end()
		})
	}
}
