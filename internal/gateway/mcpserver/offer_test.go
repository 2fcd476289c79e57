package mcpserver_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/gateway/mcpserver"
	"github.com/meup-protocol/meup/protocol"
)

var valid = regexp.MustCompile(`^[A-Za-z0-9_-]{1,53}$`)

func TestName(t *testing.T) {
	seen := make(map[string]string)
	for _, c := range [][2]string{
		{"clock", "set"}, {"a", "b__c"}, {"a__b", "c"}, {"a_", "x"}, {"a", "_x"}, {"a.b", "x"}, {"a:b", "x"}, {"a_b", "x"},
		{"a", "é"}, {"a", "ü"}, {"a", strings.Repeat("x", 100)}, {"a", strings.Repeat("x", 101)}, {strings.Repeat("y", 128), "x"},
		{"a_b", "x" + strings.TrimPrefix(mcpserver.ToolName("a.b", "x"), "a_b__x")}, // imitates the name of another tool
	} {
		name := mcpserver.ToolName(protocol.ParticipantID(c[0]), c[1])
		if !valid.MatchString(name) || seen[name] != "" || !mcpserver.IsForeignTool(name) {
			t.Errorf("%q is called %q, as %q", c, name, seen[name])
		}
		seen[name] = c[0] + " " + c[1]
	}
	if name := mcpserver.ToolName("clock", "set"); name != "clock__set" {
		t.Errorf("called %q", name)
	}
}

func FuzzName(f *testing.F) {
	f.Add("a", "b__c", "a__b", "c")
	f.Fuzz(func(t *testing.T, host, tool, host2, tool2 string) {
		if !protocol.ValidParticipantID(host) || !protocol.ValidParticipantID(host2) {
			return
		}
		one, two := mcpserver.ToolName(protocol.ParticipantID(host), tool), mcpserver.ToolName(protocol.ParticipantID(host2), tool2)
		if !valid.MatchString(one) || one == two && (host != host2 || tool != tool2) {
			t.Errorf("%q %q: %q, %q %q: %q", host, tool, one, host2, tool2, two)
		}
	})
}

func TestRights(t *testing.T) {
	for _, c := range []struct {
		name            string
		capabilities    string
		now, proposable bool
	}{
		{"everything", `["*"]`, true, true},
		{"nothing", `[]`, false, false},
		{"this tool", `[{"kind":"mcp.request","payload":{"params":{"name":"set"}}}]`, true, true},
		{"another tool", `[{"kind":"mcp.request","payload":{"params":{"name":"get"}}}]`, false, false},
		{"another host", `[{"kind":"mcp.request","to":"lamp"}]`, false, false},
		{"some arguments", `[{"kind":"mcp.request","payload":{"params":{"name":"set","arguments":{"n":1}}}}]`, true, true},
		{"not some arguments", `["*",{"kind":"mcp.request","deny":true,"payload":{"params":{"name":"set","arguments":{"n":1}}}}]`, true, true},
		{"denied", `["*",{"kind":"mcp.request","deny":true}]`, false, true},
		{"proposals", `["mcp.proposal"]`, false, true},
		{"none that is valid", `[{"kind":7},"mcp.proposal"]`, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var given []json.RawMessage
			if err := json.Unmarshal([]byte(c.capabilities), &given); err != nil {
				t.Fatal(err)
			}
			if now, proposable := mcpserver.RightsOf(given).MayCall("clock", "set"); now != c.now || proposable != c.proposable {
				t.Errorf("%v, %v", now, proposable)
			}
		})
	}
}
