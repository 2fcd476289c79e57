package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

// A working directory that cannot be used is no reason to take the root for it: what is relative
// is then uncertain, and allowed by no rule.
func TestHooks_UnusableFolder(t *testing.T) {
	g := meuptest.Start(t, `
spaces:
  lab:
    participants:
      coder:
        token: coder-token
        root: /repo
        capabilities:
          - {kind: mcp.request, to: coder, payload: {params: {name: Read, arguments: {file_path: {$path: {below: docs}}}}}}
          - {kind: mcp.request, to: coder, payload: {params: {name: Bash, arguments: {command: {$shell: {read: {below: ., preset: true}}}}}}}
`)
	const denied = "allow neither this call nor a proposal of it"
	for _, c := range []struct {
		name, cwd string
		allowed   bool
	}{
		{"none", `"cwd":null`, true},
		{"the root", `"cwd":"/repo"`, true},
		{"of Cursor", `"cwd":"","workspace_roots":["/repo"]`, true},
		{"another one", `"cwd":"/"`, false},
		{"as long as can be", `"cwd":"/` + strings.Repeat("x", 4087) + `/../repo"`, true},
		{"too long", `"cwd":"/` + strings.Repeat("x", 4088) + `/../repo"`, false},
		{"no text", `"cwd":["/repo"]`, false},
		{"no text, of Cursor", `"workspace_roots":[7]`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, call := range []string{`"tool_name":"Read","tool_input":{"file_path":"docs/a.md"}`, `"tool_name":"Bash","tool_input":{"command":"cat docs/a.md"}`} {
				status, got := postAs(t, g, "coder-token", "/api/spaces/lab/hooks/claude",
					fmt.Sprintf(`{"hook_event_name":"PreToolUse","session_id":"s","tool_use_id":"%s %d",%s,%s}`, c.name, i, c.cwd, call))
				if status != http.StatusOK || strings.Contains(got, `"allow"`) != c.allowed || strings.Contains(got, denied) == c.allowed {
					t.Errorf("%s: %d %s", call, status, got)
				}
			}
		})
	}
}
