package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// countLines returns how many lines of the log as alice sees it contain a text.
func countLines(t *testing.T, g *meuptest.Gateway, text string) (n int) {
	t.Helper()
	lines, _ := story(t, g, "alice")
	for _, line := range lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// Some models number their calls from 0 in each answer. A call with the id of an earlier one is
// published, and has a result of its own.
func TestHooks_RepeatedToolUseID(t *testing.T) {
	const allowed = "The capabilities of claude in the space lab name this call."
	call := func(path string) map[string]any {
		return map[string]any{"tool_use_id": "call_0", "tool_name": "Read", "tool_input": map[string]any{"file_path": path}}
	}
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprintf("finished, restart: %t", restarts), func(t *testing.T) {
			g := meuptest.Start(t, hooksConfig+"data: "+t.TempDir()+"\n")
			fires(t, g, "claude", "UserPromptSubmit", nil, none)
			for i := range 3 {
				for range 2 { // a repeated event publishes nothing new
					fires(t, g, "claude", "PreToolUse", call("/a.txt"), permissionDecision("allow", allowed))
				}
				for range 2 {
					fires(t, g, "claude", "PostToolUse", call("/a.txt"), none)
				}
				if requests, responses := countLines(t, g, "mcp.request"), countLines(t, g, "mcp.response"); requests != i+1 || responses != i+1 {
					lines, _ := story(t, g, "alice")
					t.Fatalf("%d requests and %d responses after %d calls:\n%s", requests, responses, i+1, strings.Join(lines, "\n"))
				}
				if restarts {
					g.Restart()
				}
			}
			_, log := story(t, g, "alice")
			answered := map[protocol.ID]bool{}
			for _, e := range log {
				if e.Kind == protocol.KindMCPResponse {
					answered[e.Correlation.IDs[0]] = true
				}
			}
			if len(answered) != 3 {
				t.Errorf("the responses answer %d requests, want 3", len(answered))
			}
		})
	}
	t.Run("open, with other arguments", func(t *testing.T) {
		g := meuptest.Start(t, hooksConfig)
		fires(t, g, "claude", "UserPromptSubmit", nil, none)
		fires(t, g, "claude", "PreToolUse", call("/a.txt"), permissionDecision("allow", allowed))
		fires(t, g, "claude", "PreToolUse", call("/b.txt"), permissionDecision("allow", allowed))
		fires(t, g, "claude", "PostToolUse", call("/a.txt"), none)
		fires(t, g, "claude", "PostToolUse", call("/b.txt"), none)
		wantStory(t, g, "bob", `claude reasoning.start`, `claude reasoning.thought`, `claude mcp.request to [claude] in #1 re [#2]`,
			`claude reasoning.thought`, `claude mcp.request to [claude] in #1 re [#4]`, `claude mcp.response in #1 re [#3]`, `claude mcp.response in #1 re [#5]`)
	})
	t.Run("in another turn", func(t *testing.T) {
		g := meuptest.Start(t, hooksConfig)
		for i := range 2 {
			fires(t, g, "claude", "UserPromptSubmit", map[string]any{"prompt_id": fmt.Sprint(i)}, none)
			fires(t, g, "claude", "PreToolUse", call("/a.txt"), permissionDecision("allow", allowed))
			fires(t, g, "claude", "Stop", nil, none)
		}
		if n := countLines(t, g, "mcp.request"); n != 2 {
			t.Errorf("%d requests of 2 calls", n)
		}
	})
}

// The decision about a call holds for no later one with the same id and the same arguments.
func TestHooks_RepeatedToolUseIDDecided(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart: %t", restarts), func(t *testing.T) {
			g := meuptest.Start(t, hooksConfig+"data: "+t.TempDir()+"\n")
			fires(t, g, "claude", "UserPromptSubmit", nil, none)
			since := protocol.Seq(0)
			for _, approved := range []bool{true, false} {
				out := make(chan string, 1)
				go func() {
					_, body := fire(t, g, "claude", "?headless=true", "PreToolUse", nil)
					out <- body
				}()
				p := awaitKind(t, g, protocol.KindMCPProposal, since)
				since = p.Seq
				want := `"deny"`
				if approved {
					want = `"allow"`
					decide(t, g, "mcp.request", toClaude, string(p.ID), fmt.Sprintf(bashCall, ""))
				} else {
					decide(t, g, "mcp.reject", "", string(p.ID), `{"reason":"once"}`)
				}
				if body := <-out; !strings.Contains(body, want) {
					t.Fatalf("%s, want %s", body, want)
				}
				if approved {
					fires(t, g, "claude", "PostToolUse", nil, none)
				}
				if restarts {
					g.Restart()
				}
			}
		})
	}
}

// A result of a call that the gateway has not seen is not called approved.
func TestHooks_CallNotSeen(t *testing.T) {
	g := meuptest.Start(t, hooksConfig)
	fires(t, g, "claude", "UserPromptSubmit", nil, none)
	fires(t, g, "claude", "PostToolUse", map[string]any{"tool_name": "Grep", "tool_use_id": "unseen"}, none)
	fires(t, g, "claude", "PreToolUse", nil, askFor(askClaude))
	fires(t, g, "claude", "PostToolUse", nil, none)
	wantStory(t, g, "bob", `claude reasoning.start`,
		`claude reasoning.observation in #1 {"message":"The space was not asked about Grep`, `claude reasoning.thought`,
		`claude reasoning.observation in #1 {"message":"The user approved Bash`)
}

// A result of another tool is not the result of the call that has the same id.
func TestHooks_ResultOfAnotherTool(t *testing.T) {
	g := meuptest.Start(t, hooksConfig)
	fires(t, g, "claude", "UserPromptSubmit", nil, none)
	fires(t, g, "claude", "PreToolUse", map[string]any{"tool_name": "Read", "tool_use_id": "9", "tool_input": map[string]any{"file_path": "/a.txt"}},
		permissionDecision("allow", "The capabilities of claude in the space lab name this call."))
	fires(t, g, "claude", "PostToolUse", map[string]any{"tool_name": "Other", "tool_use_id": "9"}, none)
	if n := countLines(t, g, "mcp.response"); n != 0 {
		t.Errorf("%d responses, want none before the result of Read", n)
	}
	if n := countLines(t, g, "The space was not asked about Other"); n != 1 {
		t.Errorf("%d observations of the other call, want 1", n)
	}
	fires(t, g, "claude", "PostToolUse", map[string]any{"tool_name": "Read", "tool_use_id": "9", "tool_input": map[string]any{"file_path": "/a.txt"}}, none)
	if n := countLines(t, g, "mcp.response"); n != 1 {
		t.Errorf("%d responses, want the one of Read", n)
	}
}

// The same prompt without an id is the same turn until that has ended, and then another one.
func TestHooks_RepeatedPromptWithoutID(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart: %t", restarts), func(t *testing.T) {
			g := meuptest.Start(t, hooksConfig+"data: "+t.TempDir()+"\n")
			for n := range 3 {
				for range 2 { // a repeated event publishes nothing new
					if status, body := fire(t, g, "claude", "?prompts=chat", "UserPromptSubmit", map[string]any{"prompt_id": nil, "prompt": "continue"}); status != http.StatusOK {
						t.Fatal(status, body)
					}
				}
				fires(t, g, "claude", "Stop", map[string]any{"prompt_id": nil, "last_assistant_message": fmt.Sprint("answer ", n)}, none)
				for _, text := range []string{"chat {\"message\":\"continue", "reasoning.start", "reasoning.conclusion"} {
					if got := countLines(t, g, text); got != n+1 {
						lines, _ := story(t, g, "alice")
						t.Fatalf("%d of %s after %d turns:\n%s", got, text, n+1, strings.Join(lines, "\n"))
					}
				}
				if got := countLines(t, g, fmt.Sprint("answer ", n)); got != 2 {
					lines, _ := story(t, g, "alice")
					t.Fatalf("the answer %d is in %d envelopes, want the conclusion and the reply:\n%s", n, got, strings.Join(lines, "\n"))
				}
				if restarts {
					g.Restart()
				}
			}
			if n := countLines(t, g, "reasoning.cancel"); n != 0 {
				t.Errorf("%d canceled turns, want none", n)
			}
		})
	}
}
