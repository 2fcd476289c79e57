package gateway_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// denials are how an agent is told that a call is not made, by the event that asks.
var denials = []struct{ program, event, want string }{
	{"claude", "PreToolUse", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"`},
	{"claude", "PermissionRequest", `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"`},
	{"codex", "PreToolUse", `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"`},
	{"codex", "PermissionRequest", `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"`},
	{"cursor", "preToolUse", `{"permission":"deny","user_message":"`},
	{"cursor", "beforeShellExecution", `{"permission":"deny","user_message":"`},
	{"cursor", "beforeMCPExecution", `{"permission":"deny","user_message":"`},
}

// A call whose event cannot be served is denied in the form of its agent. The agent takes an
// error for no answer, and would make the call by its own rules.
func TestHooks_CallNotServed(t *testing.T) {
	g := meuptest.Start(t, hooksConfig)
	const lead = "The space lab could not be asked about this call, so it is not made: "
	for _, test := range []struct{ name, query, token, body, reason string }{
		{"no JSON", "", "wide-token", `{"hook_event_name":"EVENT","session_id":"s","tool_name":"Bash","tool_input":{"command":`, "the body is not a JSON object"},
		{"a control character", "", "wide-token", "{\"tool_input\":{\"command\":\"a\x01\"},\"hook_event_name\":\"EVENT\",\"session_id\":\"s\"", "the body is not a JSON object"},
		{"another event within the arguments", "", "wide-token", `{"tool_input":{"hook_event_name":"Stop"},"hook_event_name":"EVENT","session_id":"s","x":`, "the body is not a JSON object"},
		{"a long id", "", "wide-token", `{"hook_event_name":"EVENT","session_id":"s","conversation_id":"s","tool_use_id":"` + strings.Repeat("x", 300) + `"}`, "tool_use_id: expected at most"},
		{"a long body", "", "wide-token", `{"hook_event_name":"EVENT","x":"` + strings.Repeat("x", 1<<20) + `"}`, "at most 1048576 bytes"},
		{"no session", "", "wide-token", `{"hook_event_name":"EVENT","tool_name":"Bash"}`, "the event has no "},
		{"no token", "", "", `{"hook_event_name":"EVENT","session_id":"s"}`, "Send a token"},
		{"an unknown token", "", "nobody", `{"hook_event_name":"EVENT","session_id":"s"}`, "does not know this token"},
		{"a bad setting", "?wait=-1", "wide-token", `{"hook_event_name":"EVENT","session_id":"s"}`, "wait: expected seconds"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, agent := range denials {
				path := "/api/spaces/lab/hooks/" + agent.program
				body := strings.Replace(test.body, "EVENT", agent.event, 1)
				status, got := postAs(t, g, test.token, path+test.query, body)
				if reason, found := strings.CutPrefix(got, agent.want); status != http.StatusOK || !found && !strings.Contains(test.body, "\x01") || !strings.HasPrefix(reason, lead) && found || !strings.Contains(got, test.reason) {
					t.Errorf("%s %s: %d %s, want %s%s…%s", agent.program, agent.event, status, got, agent.want, lead, test.reason)
				}
				query := "?fail=open"
				if test.query != "" {
					query = test.query + "&fail=open"
				}
				if status, got := postAs(t, g, test.token, path+query, body); test.name != "no session" && (status < 400 || strings.Contains(got, "deny")) {
					t.Errorf("%s %s, calls may pass: %d %s, want an error", agent.program, agent.event, status, got)
				}
			}
		})
	}
	t.Run("another space", func(t *testing.T) {
		if status, got := postAs(t, g, "wide-token", "/api/spaces/attic/hooks/claude", `{"hook_event_name":"PreToolUse","session_id":"s"}`); status != http.StatusOK || !strings.Contains(got, `"deny"`) {
			t.Errorf("%d %s, want a denial", status, got)
		}
	})
	t.Run("a body that ends early", func(t *testing.T) {
		c, err := net.Dial("tcp", strings.TrimPrefix(g.HTTP(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, err = fmt.Fprintf(c, "POST /api/spaces/lab/hooks/claude HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer wide-token\r\nContent-Length: 1000\r\n\r\n{\"hook_event_name\":\"PreToolUse\",")
		if err == nil {
			err = c.(*net.TCPConn).CloseWrite()
		}
		if err != nil {
			t.Fatal(err)
		}
		late, _ := testkit.Deadline(t).Deadline()
		_ = c.SetReadDeadline(late)
		if got, err := io.ReadAll(c); err != nil || !strings.Contains(string(got), "200 OK") || !strings.Contains(string(got), `"permissionDecision":"deny"`) {
			t.Errorf("%v %s, want a denial", err, got)
		}
	})
}
