package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/gateway/mcpserver"
)

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
