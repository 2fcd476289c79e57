package gateway_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

const claimsConfig = `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      claude: &coder
        token: claude-token
        capabilities: ["reasoning/*", "mcp.response", claim, release, {kind: mcp.request, payload: {params: {name: Write}}, claims: require}]
      codex: {<<: *coder, token: codex-token}
`

// TestHooks_ClaimsInDocs: what docs/hooks.md has as an example claims a file and lets the call through.
func TestHooks_ClaimsInDocs(t *testing.T) {
	docs, err := os.ReadFile("../../docs/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(docs), "\n## Claims\n")
	_, section, _ = strings.Cut(section, "```yaml\n")
	example, _, found := strings.Cut(section, "```")
	if !found {
		t.Fatal("docs/hooks.md has no example of claims")
	}
	t.Setenv("CLAUDE_TOKEN", "claude-token")
	config := "spaces:\n  lab:\n    participants:\n      alice: {token: alice-token, capabilities: [chat]}\n"
	for line := range strings.Lines(example) {
		config += "      " + line
	}
	g := meuptest.Start(t, config)
	_, body := fire(t, g, "claude", "?claims=auto", "PreToolUse", map[string]any{"tool_name": "Write", "tool_use_id": "u", "cwd": "/repo", "tool_input": map[string]any{"file_path": "a.md"}})
	if got := claimsOf(t, g); !strings.Contains(body, `"allow"`) || strings.Join(got, ", ") != "claude /repo/a.md" {
		t.Errorf("%s; claimed: %s", body, got)
	}
}

func claimsOf(t *testing.T, g *meuptest.Gateway) (list []string) {
	t.Helper()
	got, err := g.API(t, "alice").Claims(t.Context(), "lab")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range got.Claims {
		list = append(list, string(x.By)+" "+x.Path)
	}
	return list
}

// TestHooks_Claims: two coding agents do not write one file. What a capability requires is claimed for a call,
// and released at the end of the turn.
func TestHooks_Claims(t *testing.T) {
	g := meuptest.Start(t, claimsConfig)
	write := func(who, query, use, path string) string {
		t.Helper()
		status, body := fire(t, g, who, query, "PreToolUse", map[string]any{"tool_name": "Write", "tool_use_id": use, "cwd": "/repo", "tool_input": map[string]any{"file_path": path}})
		if status != http.StatusOK {
			t.Fatal(status, body)
		}
		return body
	}
	for _, who := range []string{"claude", "codex"} {
		fires(t, g, who, "UserPromptSubmit", nil, none)
	}
	if body := write("claude", "", "u0", "a.md"); !strings.Contains(body, `"deny"`) {
		t.Errorf("without a claim: %s", body)
	}
	for _, path := range []string{"a.md", "/repo/docs/../a.md", "b.md"} {
		if body := write("claude", "?claims=auto", "u-"+path, path); strings.Contains(body, `"deny"`) {
			t.Errorf("%s: %s", path, body)
		}
	}
	if got := strings.Join(claimsOf(t, g), ", "); got != "claude /repo/a.md, claude /repo/b.md" {
		t.Errorf("claimed: %s", got)
	}
	if body := write("codex", "?claims=auto", "v1", "/repo/a.md"); !strings.Contains(body, `"deny"`) || !strings.Contains(body, "claude holds /repo/a.md until ") {
		t.Errorf("the other agent: %s", body)
	}
	fires(t, g, "claude", "Stop", nil, none)
	if got := claimsOf(t, g); got != nil {
		t.Errorf("after the turn: %s", got)
	}
	if body := write("codex", "?claims=auto", "v2", "/repo/a.md"); strings.Contains(body, `"deny"`) {
		t.Errorf("after the release: %s", body)
	}
	fires(t, g, "codex", "SessionEnd", nil, none)
	if got := claimsOf(t, g); got != nil {
		t.Errorf("after the session: %s", got)
	}
}
