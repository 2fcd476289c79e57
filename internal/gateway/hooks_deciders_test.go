package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

// TestHooks_Deciders: rules of the deciders answer for the space: what they allow is not asked,
// and who is refused reads why.
func TestHooks_Deciders(t *testing.T) {
	g := meuptest.Start(t, `
spaces:
  lab:
    proposals:
      deciders:
        - rules:
            - {payload: {params: {name: Bash, arguments: {command: {$shell: {read: preset}}}}}}
            - {payload: {params: {name: Bash, arguments: {command: {$shell: {commands: [sudo]}}}}}, deny: true, reason: No root here.}
        - {people: [alice]}
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      claude: {token: claude-token, capabilities: [chat, reasoning/*, mcp.proposal, mcp.withdraw, mcp.response]}
`)
	fires(t, g, "claude", "UserPromptSubmit", nil, none)
	for command, want := range map[string]string{
		"git status":  `"allow"`,
		"sudo ls":     "A rule of this space rejects the call: No root here.",
		"npm install": `"ask"`,
		"make":        `"ask"`, // nobody sees whether it needs root
	} {
		status, body := fire(t, g, "claude", "", "PreToolUse", map[string]any{"tool_name": "Bash", "tool_use_id": command, "cwd": "/repo", "tool_input": map[string]any{"command": command}})
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %s", command, status, body, want)
		}
	}
}
