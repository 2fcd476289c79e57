package block

import (
	"strings"
	"testing"

	"github.com/meup-protocol/meup/protocol"
)

func TestSummary(t *testing.T) {
	for _, c := range []struct{ kind, payload, want string }{
		{"chat", `{"message":"a\nb\u001b[1m"}`, "a b"},
		{"chat", `{"message":"` + strings.Repeat("x", 2000) + `"}`, strings.Repeat("x", 2000)},
		{"reasoning.thought", `{"content":"` + strings.Repeat("x", 2000) + `"}`, strings.Repeat("x", maxSummary-1) + "…"},
		{"reasoning.conclusion", `{"message":"m","decision":"d","recommendation":"d"}`, "m · d"},
		{"reasoning.cancel", `{}`, ""},
		{"mcp.request", `{"method":"tools/call","params":{"name":"time","arguments":{"zone":"UTC"}}}`, `time { "zone": "UTC" }`},
		{"mcp.request", `{"method":"tools/call","params":{"name":"time"}}`, "time"},
		{"mcp.proposal", `{"method":"resources/read","params":{"uri":"x"}}`, `resources/read { "uri": "x" }`},
		{"mcp.response", `{"result":{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}}`, "a b"},
		{"mcp.response", `{"result":{"content":[{"type":"text","text":"gone"}],"isError":true}}`, "failed: gone"},
		{"mcp.response", `{"result":{"tools":[]}}`, `{ "tools": [] }`},
		{"mcp.response", `{"error":{"code":1,"message":"gone"}}`, "failed: gone"},
		{"mcp.reject", `{"reason":"unsafe"}`, "unsafe"},
		{"system.presence", `{"event":"join","participant":{"id":"bob"}}`, "bob joined"},
		{"stream.data", `{"stream_id":"s","data":"tok"}`, "tok"},
		{"x.y", `{"z":[1,2]}`, `{ "z": [1, 2] }`},
		{"x.y", `no JSON`, ""},
	} {
		t.Run(c.kind+" "+c.want, func(t *testing.T) {
			e := protocol.Envelope{Kind: protocol.Kind(c.kind), Payload: []byte(c.payload)}
			if got := Summary(&e); got != c.want {
				t.Errorf("%s %s: %q", c.kind, c.payload, got)
			}
		})
	}
}
