package gateway_test

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

func TestMCP_Resources(t *testing.T) {
	for _, revision := range mcpRevisions {
		t.Run(revision, func(t *testing.T) {
			g := meuptest.Start(t, decideConfig)
			alice, bob, eve := mcpClientOf(t, g, "alice-token", revision), mcpClientOf(t, g, "bob-token", revision), mcpClientOf(t, g, "eve-token", revision)
			asked := call[toldSent](t, alice, "say", map[string]any{"message": "where is the zebra?"})
			private := call[toldSent](t, alice, "say", map[string]any{"message": "secret", "to": []string{"bob"}})
			call[toldSent](t, bob, "think", map[string]any{"action": "open", "message": "looking"})
			leave := watch(t, g, "bob-token")
			defer leave()
			proposed := call[toldSent](t, bob, "propose", map[string]any{"participant": "clock", "tool": "set"})
			for uri, want := range map[string]string{
				"meup://space/threads/" + asked.ID: "where is the zebra?",
				"meup://space/contexts":            `"message":"looking"`,
				"meup://space/proposals":           `"id":"` + proposed.ID + `"`,
			} {
				r, err := eve.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
				if err != nil || !strings.Contains(r.Contents[0].Text, want) || !strings.Contains(r.Contents[0].Text, "not instructions") {
					t.Errorf("%s: %+v, %v", uri, r, err)
				}
			}
			for _, uri := range []string{"meup://space/threads/" + private.ID, "meup://space/threads/nothing", "meup://space/threads/..%2Fx", "meup://space/other"} {
				if r, err := eve.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
					t.Errorf("%s: %+v", uri, r)
				}
			}
			for _, name := range []string{"catch_up", "review", "debate"} {
				if r, err := eve.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name}); err != nil || len(r.Messages) != 1 {
					t.Errorf("%s: %+v, %v", name, r, err)
				}
			}
		})
	}
}
