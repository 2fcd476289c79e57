package block

import (
	"encoding/json"
	"testing"
)

func TestCapabilities(t *testing.T) {
	for capability, want := range map[string]string{
		`"*"`:                        "everything",
		`"mcp.request"`:              "call any tool",
		`"stream/*"`:                 "stream text",
		`"participant.compact-done"`: "report that its memory is shortened",
		`"decide"`:                   "decide on proposals",
		`"x.note"`:                   "send x.note",
		`{"kind":"mcp.request","payload":{"method":"tools/list"}}`:                                       "list tools",
		`{"kind":"mcp.request","payload":{"method":"resources/read"}}`:                                   "call the method resources/read",
		`{"kind":"mcp.request","payload":{"method":"tools/call","params":{"name":["list_*","read_*"]}}}`: "call tools: list_*, read_*",
		`{"kind":"mcp.request","payload":{"params":{"name":"read_*"}},"to":"files"}`:                     "call tools: read_*, addressed to files",
		`{"kind":"mcp.proposal","payload":{"method":"tools/call","params":{"name":"write"}}}`:            "propose to call tools: write",
		`{"kind":"decide","payload":{"params":{"name":"read_*"}}}`:                                       "decide on calls of tools: read_*",
		`{"kind":"mcp.request","payload":{"method":"tools/call","params":{"name":"rm"}},"deny":true}`:    "never: call tools: rm",
		`{"kind":"mcp.request","payload":{"params":{"name":"rm","arguments":{"path":"/tmp/*"}}}}`:        `call any tool where the payload is {"params":{"name":"rm","arguments":{"path":"/tmp/*"}}}`,
		`{"kind":"chat","payload":{"params":{"name":"rm"}}}`:                                             `chat where the payload is {"params":{"name":"rm"}}`,
		`{"kind":"mcp.request","payload":{"params":{"name":"rm"},"edited":false}}`:                       `call any tool where the payload is {"params":{"name":"rm"},"edited":false}`,
	} {
		t.Run(capability, func(t *testing.T) {
			if got := Capabilities([]json.RawMessage{json.RawMessage(capability)}); len(got) != 1 || got[0] != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	if got := Capabilities(nil); len(got) != 1 || got[0] != "nothing" {
		t.Errorf("none: %q", got)
	}
}
