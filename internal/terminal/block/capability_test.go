package block

import (
	"encoding/json"
	"strings"
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
		`{"kind":"mcp.request","payload":{"method":"tools/list"}}`:                                          "list tools",
		`{"kind":"mcp.request","payload":{"method":"resources/read"}}`:                                      "call the method resources/read",
		`{"kind":"mcp.request","payload":{"method":"tools/call","params":{"name":["list_*","read_*"]}}}`:    "call tools: list_*, read_*",
		`{"kind":"mcp.request","payload":{"params":{"name":"read_*"}},"to":"files"}`:                        "call tools: read_*, addressed to files",
		`{"kind":"mcp.proposal","payload":{"method":"tools/call","params":{"name":"write"}}}`:               "propose to call tools: write",
		`{"kind":"decide","payload":{"params":{"name":"read_*"}}}`:                                          "decide on calls of tools: read_*",
		`{"kind":"mcp.request","payload":{"method":"tools/call","params":{"name":"rm"}},"deny":true}`:       "never: call tools: rm",
		`{"kind":"mcp.request","payload":{"params":{"name":"rm","arguments":{"path":"/tmp/*"}}}}`:           `call tools: rm with arguments {"path":"/tmp/*"}`,
		`{"kind":"mcp.request","payload":{"params":{"name":"rm","arguments":{"path":"/tmp/*"},"_meta":1}}}`: `call any tool where the payload is {"params":{"name":"rm","arguments":{"path":"/tmp/*"},"_meta":1}}`,
		`{"kind":"mcp.request","payload":{"params":{"name":["Write","Edit"]}},"claims":"require"}`:          "call tools: Write, Edit, if it has claimed the paths",
		`{"kind":"mcp.request","payload":{"params":{"name":"Edit"}},"claims":"respect"}`:                    "call tools: Edit, unless others have claimed the paths",
		`"budget.extend"`: "extend budgets",
		`{"kind":"chat","payload":{"params":{"name":"rm"}}}`:                       `chat where the payload is {"params":{"name":"rm"}}`,
		`{"kind":"mcp.request","payload":{"params":{"name":"rm"},"edited":false}}`: `call any tool where the payload is {"params":{"name":"rm"},"edited":false}`,
	} {
		t.Run(capability, func(t *testing.T) {
			if got := Capabilities([]json.RawMessage{json.RawMessage(capability)}); len(got) != 1 || got[0] != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	for _, c := range []struct {
		list string
		want string
		cut  bool
	}{
		{`["chat","decide"]`, "chat; decide on proposals", false},
		{`["chat","a.b","a.c","a.d","a.e"]`, "chat; send a.b; send a.c; send a.d; send a.e", false},
		{`["chat","a.b","a.c","a.d","a.e","a.f","a.g"]`, "chat; send a.b; send a.c; send a.d; send a.e; and 2 more", true},
		{`[{"kind":"chat","payload":{"message":"` + strings.Repeat("x", 80) + `"}}]`, `chat where the payload is {"message":"` + strings.Repeat("x", 31) + "…", true},
	} {
		var list []json.RawMessage
		if err := json.Unmarshal([]byte(c.list), &list); err != nil {
			t.Fatal(err)
		}
		if got, cut := BriefCapabilities(list); got != c.want || cut != c.cut {
			t.Errorf("%s: %q %t", c.list, got, cut)
		}
	}
	if got := Capabilities(nil); len(got) != 1 || got[0] != "nothing" {
		t.Errorf("none: %q", got)
	}
}
