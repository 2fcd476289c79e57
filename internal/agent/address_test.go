package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// Tool hosts of mew/v0.4 execute tools/call without a recipient. They do not
// execute an agent's calls of its own tools, and the asker receives these
// calls.
func TestAgent_OwnCallsAreAddressed(t *testing.T) {
	const request, response = protocol.KindMCPRequest, protocol.KindMCPResponse
	tests := []struct {
		visibility string
		private    bool
		bystander  []protocol.Kind // calls and results that carol receives
	}{
		{"addressed", false, []protocol.Kind{request, response}},
		{"addressed", true, nil},
		{"everyone", false, []protocol.Kind{request, response}},
		{"everyone", true, []protocol.Kind{request, response}},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("visibility %s, private %t", test.visibility, test.private), func(t *testing.T) {
			g := meuptest.Start(t, strings.Replace(config, "  lab:\n", "  lab:\n    visibility: "+test.visibility+"\n", 1))
			alice, carol := join(t, g, "alice"), join(t, g, "carol")
			host := hostMEW(t, g, "critic")
			employ(t, g, "planner", agent.Options{Tools: oneTool(t, "look", func(context.Context) (string, error) { return "seen", nil }), Planner: once(callOf("look", `{}`)), OwnToolsOnly: true})
			var to []protocol.ParticipantID
			if test.private {
				to = append(to, "planner")
			}
			question := ask(t, alice, "@planner look", to...)
			all := conversation(t, alice, answerTo(question))
			checkShape(t, question, all)
			if got := callsIn(all); !slices.Equal(got, []protocol.Kind{request, response}) {
				t.Errorf("the asker received %v\n%s", got, script(all))
			}
			end := ask(t, alice, "over")
			seen := conversation(t, carol, func(env *protocol.Envelope) bool { return env.ID == end })
			if got := callsIn(seen); !slices.Equal(got, test.bystander) {
				t.Errorf("a bystander received %v, want %v\n%s", got, test.bystander, script(seen))
			}
			if executed := host(end); len(executed) > 0 {
				t.Errorf("a tool host executed %v", executed)
			}
		})
	}
}

func callsIn(all []protocol.Envelope) []protocol.Kind {
	var kinds []protocol.Kind
	for i := range all {
		if k := all[i].Kind; k == protocol.KindMCPRequest || k == protocol.KindMCPResponse {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// hostMEW joins as a tool host of mew/v0.4. The returned function waits for an
// envelope, and returns the earlier requests that such a host executes.
func hostMEW(t *testing.T, g *meuptest.Gateway, who string) func(until protocol.ID) []string {
	t.Helper()
	ws, _, err := websocket.Dial(testkit.Deadline(t), g.URL("lab")+"&dialect=mew/v0.4", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + who + "-token"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ws.SetReadLimit(-1)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return func(until protocol.ID) []string {
		var executed []string
		for {
			_, frame, err := ws.Read(testkit.Deadline(t))
			if err != nil {
				t.Fatal(err)
			}
			var env struct {
				ID   protocol.ID
				Kind string
				To   []string
			}
			if err := json.Unmarshal(frame, &env); err != nil {
				t.Fatal(err)
			}
			if env.Kind == "mcp/request" && (len(env.To) == 0 || slices.Contains(env.To, who)) {
				executed = append(executed, string(frame))
			}
			if env.ID == until {
				return executed
			}
		}
	}
}
