package mcpserver_test

import (
	"encoding/json"
	"fmt"
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

// page is a response with a description of this many bytes, and a next page.
func page(tools, bytes int) json.RawMessage {
	list := make([]string, tools)
	for i := range list {
		list[i] = fmt.Sprintf(`{"name":"t%d","description":%q}`, i, strings.Repeat("x", bytes))
	}
	return json.RawMessage(`{"result":{"nextCursor":"more","tools":[` + strings.Join(list, ",") + `]}}`)
}

// The bounds are those of a list, not of a page.
func TestList_Bounds(t *testing.T) {
	for _, test := range []struct {
		name                string
		tools, bytes, pages int // of a page, and that fit
	}{
		{"bytes", 1, 300_000, 3},
		{"tools", 200, 0, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := new(mcpserver.ToolList)
			for i := range test.pages {
				if l.Add(page(test.tools, test.bytes)) != "more" {
					t.Fatalf("page %d is the last", i)
				}
			}
			if l.Add(page(test.tools, test.bytes)) != "" {
				t.Error("one more page, and another one to follow")
			}
			if n := len(l.Tools); n > 500 || n < test.tools*test.pages {
				t.Errorf("%d tools", n)
			}
		})
	}
}

func FuzzList(f *testing.F) {
	f.Add([]byte(page(2, 1)))
	f.Add([]byte(`{"result":{"tools":[7,{"name":""},{"name":"x","inputSchema":null}]}}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		l := new(mcpserver.ToolList)
		l.Add(payload)
		for _, tool := range l.Tools {
			if tool.Name == "" {
				t.Error("a tool without a name")
			}
		}
	})
}
