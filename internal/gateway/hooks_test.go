package gateway_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

const hooksConfig = `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: [chat]}
      claude:
        token: claude-token
        capabilities:
          - chat
          - chat.acknowledge
          - "reasoning/*"
          - mcp.proposal
          - mcp.withdraw
          - mcp.response
          - {kind: mcp.request, to: claude, payload: {params: {name: Read}}}
      wide: {token: wide-token, capabilities: ["*"]}
      observer: {token: observer-token, capabilities: [observe, chat, chat.acknowledge, "reasoning/*"]}
      tools: {token: tools-token, capabilities: ["reasoning/*", {kind: mcp.request, payload: {method: tools/call}}]}
      globs: {token: globs-token, capabilities: ["reasoning/*", {kind: mcp.request, to: "*"}]}
      inside: {token: inside-token, capabilities: ["reasoning/*", {kind: mcp.request, context: "**"}]}
      mute: {token: mute-token, capabilities: [chat, "reasoning/*"]}
`

// fire sends one recorded hook with some of its fields replaced.
func fire(t *testing.T, g *meuptest.Gateway, who, query, name string, change map[string]any) (int, string) {
	t.Helper()
	text, err := os.ReadFile("testdata/hooks/claude/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var event map[string]any
	if err := json.Unmarshal(text, &event); err != nil {
		t.Fatal(err)
	}
	for k, v := range change {
		event[k] = v
	}
	text, err = json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	return postAs(t, g, who+"-token", "/api/spaces/lab/hooks/claude"+query, string(text))
}

// fires is fire of a hook that has to be answered with want.
func fires(t *testing.T, g *meuptest.Gateway, who, name string, change map[string]any, want string) {
	t.Helper()
	if status, body := fire(t, g, who, "", name, change); status != http.StatusOK || body != want {
		t.Fatalf("%s: %d %s, want %s", name, status, body, want)
	}
}

// story returns the log as who sees it: a line for each envelope, with the ids
// replaced by their numbers, and without the working directory of calls.
func story(t *testing.T, g *meuptest.Gateway, who string) (lines []string, log []protocol.Envelope) {
	t.Helper()
	page, err := g.API(t, who).Envelopes(t.Context(), "lab", api.EnvelopeQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for i, e := range page.Envelopes {
		pairs = append(pairs, string(e.ID), fmt.Sprintf("#%d", i+1))
	}
	names := strings.NewReplacer(append(pairs, `"_meta":{"meup/cwd":"/home/user/x"},`, "")...)
	for _, e := range page.Envelopes {
		line := fmt.Sprintf("%s %s", e.From, e.Kind)
		if len(e.To) > 0 {
			line += fmt.Sprint(" to ", e.To)
		}
		if e.Context != "" {
			line += " in " + string(e.Context)
		}
		if len(e.Correlation.IDs) > 0 {
			line += fmt.Sprint(" re ", e.Correlation.IDs)
		}
		lines = append(lines, names.Replace(line+" "+string(e.Payload)))
	}
	return lines, page.Envelopes
}

func wantStory(t *testing.T, g *meuptest.Gateway, who string, want ...string) []protocol.Envelope {
	t.Helper()
	got, log := story(t, g, who)
	for i, line := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], line) {
			t.Fatalf("line %d is not %q:\n%s", i+1, line, strings.Join(got, "\n"))
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	return log
}

// awaitKind waits until the log has an envelope of a kind after a position.
func awaitKind(t *testing.T, g *meuptest.Gateway, kind protocol.Kind, since protocol.Seq) protocol.Envelope {
	t.Helper()
	c, q := g.API(t, "alice"), api.EnvelopeQuery{Since: since, Kinds: []string{string(kind)}}
	ctx := testkit.Deadline(t)
	if err := c.Await(ctx, "lab", q); err != nil {
		t.Fatal(err)
	}
	page, err := c.Envelopes(ctx, "lab", q)
	if err != nil {
		t.Fatal(err)
	}
	return page.Envelopes[0]
}

const none = "{}"

func askFor(reason string) string { return permissionDecision("ask", reason) }

func permissionDecision(decision, reason string) string {
	return fmt.Sprintf(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":%q,"permissionDecisionReason":%q}}`, decision, reason)
}

const askClaude = "The space lab lets claude make this call with the approval of a participant."

// TestHooks_Policy checks that typed patterns decide the calls of an agent, with its working
// directory as the folder of relative paths.
func TestHooks_Policy(t *testing.T) {
	g := meuptest.Start(t, `
spaces:
  lab:
    participants:
      bob: {token: bob-token, capabilities: ["*", observe]}
      claude:
        token: claude-token
        capabilities:
          - chat
          - "reasoning/*"
          - mcp.response
          - mcp.proposal
          - {kind: mcp.request, to: claude, payload: {params: {name: Bash, arguments: {command: {$shell: {commands: ["git diff **"], read: preset, write: {below: build}}}}}}}
          - {kind: mcp.request, to: claude, payload: {params: {name: Write, arguments: {file_path: {$path: {below: docs, not: "**/.git/**"}}}}}}
          - {kind: "mcp.*", payload: {params: {name: Write, arguments: {file_path: {$path: {below: secret}}}}}, deny: true}
          - {kind: mcp.request, to: claude, payload: {params: {name: WebFetch, arguments: {url: {$url: {host: "*.example.com"}}}}}}
`)
	fires(t, g, "claude", "UserPromptSubmit", nil, none)
	allow, ask := permissionDecision("allow", "The capabilities of claude in the space lab name this call."), askFor(askClaude)
	for _, x := range []struct{ tool, key, value, want string }{
		{"Bash", "command", "git diff a/b | head -5 > build/out", allow},
		{"Bash", "command", "git diff; rm -rf ~", ask},
		{"Bash", "command", "git diff > /home/user/x/build/out", allow},
		{"Bash", "command", "git diff > /home/user/out", ask},
		{"Write", "file_path", "/home/user/x/docs/a.md", allow},
		{"Write", "file_path", "docs/b.md", allow},
		{"Write", "file_path", "/home/user/x/docs/../src/a.go", ask},
		{"Write", "file_path", "/home/user/y/docs/a.md", ask},
		{"Write", "file_path", "docs/.git/config", ask},
		{"Write", "file_path", "/home/user/x/secret/key", permissionDecision("deny", "The capabilities of claude in the space lab allow neither this call nor a proposal of it.")},
		{"WebFetch", "url", "https://api.example.com/v1", allow},
		{"WebFetch", "url", "https://example.com.evil.example/", ask},
	} {
		fires(t, g, "claude", "PreToolUse", map[string]any{"tool_use_id": x.value, "tool_name": x.tool, "tool_input": map[string]any{x.key: x.value}}, x.want)
	}
	fires(t, g, "claude", "PreToolUse", map[string]any{
		"tool_use_id": "link", "tool_name": "Write", "tool_input": map[string]any{"file_path": "docs/link/a.md"},
		"meup_real_paths": map[string]string{"docs/link/a.md": "/home/user/x/src/a.md"},
	}, ask)
	fires(t, g, "claude", "PreToolUse", map[string]any{
		"tool_use_id": "link2", "tool_name": "Write", "tool_input": map[string]any{"file_path": "docs/link/b.md"},
		"meup_real_paths": map[string]string{"docs/link/b.md": "/home/user/x/docs/c/b.md"},
	}, allow)
	_, log := story(t, g, "bob")
	for _, e := range log {
		if e.Kind == protocol.KindMCPRequest {
			if dir := e.ParsePayload().Get("params").Get("_meta").Get(protocol.MetaWorkingDirectory).Text(); dir != "/home/user/x" {
				t.Errorf("the working directory of a call is %q", dir)
			}
		}
	}
}

func TestHooks_Turn(t *testing.T) {
	g := meuptest.Start(t, hooksConfig)
	read := map[string]any{"tool_name": "Read", "tool_input": map[string]any{"file_path": "/a.txt"}}
	for range 2 { // a repeated event publishes nothing new
		fires(t, g, "claude", "UserPromptSubmit", nil, none)
		fires(t, g, "claude", "MessageDisplay", nil, none)
		fires(t, g, "claude", "PreToolUse", read, permissionDecision("allow", "The capabilities of claude in the space lab name this call."))
	}
	fires(t, g, "claude", "PostToolUse", map[string]any{"tool_name": "Read", "tool_response": map[string]any{"content": []any{map[string]any{"type": "text", "text": "zebra"}}}}, none)
	fires(t, g, "claude", "MessageDisplay", map[string]any{"message_id": "m2", "delta": "It is a "}, none)
	fires(t, g, "claude", "Stop", map[string]any{"last_assistant_message": "It is a zebra."}, none)
	wantStory(t, g, "bob",
		`claude reasoning.start {"message":"Run echo hi`,
		`claude reasoning.thought in #1 {"message":"I will run it.","tool_name":"Read"}`,
		`claude mcp.request to [claude] in #1 re [#2] {"id":"#3","jsonrpc":"2.0","method":"tools/call","params":{"arguments":{"file_path":"/a.txt"},"name":"Read"}}`,
		`claude mcp.response in #1 re [#3] {"id":"#3","jsonrpc":"2.0","result":{"content":[{"text":"zebra","type":"text"}]}}`,
		`claude reasoning.conclusion in #1 {"message":"It is a zebra."}`,
	)
}

func TestHooks_Decisions(t *testing.T) {
	g := meuptest.Start(t, hooksConfig)
	for _, test := range []struct{ name, who, tool, want string }{
		{"a capability names the call", "claude", "Read", permissionDecision("allow", "The capabilities of claude in the space lab name this call.")},
		{"the call can be proposed", "claude", "Bash", askFor(askClaude)},
		{"any request is allowed", "wide", "Bash", none},
		{"calls of all hosts are allowed", "tools", "Bash", none},
		{"calls of all hosts by a pattern", "globs", "Bash", none},
		{"calls within a context are allowed", "inside", "Bash", none},
		{"nothing is allowed", "mute", "Bash", permissionDecision("deny", "The capabilities of mute in the space lab allow neither this call nor a proposal of it.")},
	} {
		t.Run(test.name, func(t *testing.T) {
			fires(t, g, test.who, "PreToolUse", map[string]any{"tool_name": test.tool, "session_id": test.name}, test.want)
		})
	}
}

// permission is a request for permission that is held.
func TestHooks_Subagent(t *testing.T) {
	g := meuptest.Start(t, hooksConfig)
	fires(t, g, "wide", "UserPromptSubmit", nil, none)
	fires(t, g, "wide", "SubagentStart", nil, none)
	fires(t, g, "wide", "PreToolUse", map[string]any{"agent_id": "a1"}, none)
	fires(t, g, "wide", "Stop", map[string]any{"last_assistant_message": "Waiting."}, none)
	fires(t, g, "wide", "PostToolUseFailure", map[string]any{"agent_id": "a1"}, none)
	fires(t, g, "wide", "SubagentStop", nil, none)
	fires(t, g, "wide", "Stop", nil, none)
	wantStory(t, g, "bob",
		`wide reasoning.start`, `wide reasoning.start in #1 {"message":"Subagent Explore"}`, `wide reasoning.thought in #1/#2`,
		`wide mcp.request to [wide] in #1/#2 re [#3]`, `wide reasoning.thought in #1 {"message":"Waiting."}`,
		`wide mcp.response in #1/#2 re [#4] {"id":"#4","jsonrpc":"2.0","result":{"content":[{"text":"Exit code 1\nno","type":"text"}],"isError":true}}`,
		`wide reasoning.conclusion in #1/#2 {"message":"Found it."}`, `wide reasoning.conclusion in #1`,
	)
}

func TestHooks_Ends(t *testing.T) {
	for _, test := range []struct{ name, reason string }{
		{"SessionEnd", "the session ended"}, {"StopFailure", "the model failed: rate_limit"}, {"UserPromptSubmit", "interrupted by another prompt"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := meuptest.Start(t, hooksConfig)
			fires(t, g, "wide", "UserPromptSubmit", nil, none)
			fires(t, g, "wide", "PreToolUse", nil, none)
			fires(t, g, "wide", test.name, map[string]any{"prompt_id": "p2"}, none)
			lines, _ := story(t, g, "bob")
			all := strings.Join(lines, "\n")
			if !strings.Contains(all, `wide mcp.response in #1 re [#3] {"error":{"code":-32000,"message":"There is no result`) || !strings.Contains(all, `wide reasoning.cancel in #1 {"reason":"`+test.reason+`"}`) {
				t.Error(all)
			}
		})
	}
}

func TestHooks_Prompts(t *testing.T) {
	g := meuptest.Start(t, hooksConfig)
	if status, body := fire(t, g, "claude", "?prompts=chat", "UserPromptSubmit", nil); status != http.StatusOK || body != none {
		t.Fatal(status, body)
	}
	fires(t, g, "claude", "Stop", nil, none)
	wantStory(t, g, "bob",
		`claude chat {"message":"Run echo hi, please."`, `claude reasoning.start re [#1]`, `claude reasoning.conclusion in #2`, `claude chat re [#1]`)
}

// A call that was approved before a restart of the gateway gets its result.
func TestHooks_RestartAfterApproval(t *testing.T) {
	g := meuptest.Start(t, hooksConfig+"data: "+t.TempDir()+"\n")
	fires(t, g, "claude", "UserPromptSubmit", nil, none)
	fires(t, g, "claude", "PreToolUse", nil, askFor(askClaude))
	held := holdPermission(t, g, "claude", nil)
	p := awaitKind(t, g, protocol.KindMCPProposal, 0)
	decide(t, g, "mcp.request", toClaude+`,"id":"approved"`, string(p.ID), fmt.Sprintf(bashCall, ""))
	<-held
	g.Restart()
	fires(t, g, "claude", "PostToolUse", nil, none)
	lines, _ := story(t, g, "alice")
	if all := strings.Join(lines, "\n"); !strings.Contains(all, `claude mcp.response in #1 re [#4] {"id":"#4","jsonrpc":"2.0","result":{"content":[{"text":"hi"`) {
		t.Error(all)
	}
}

// An approval holds for one call: an equal one that no event announced needs another
// decision, also from a session that the gateway has forgotten.
func TestHooks_ApprovalNotReplayed(t *testing.T) {
	g := meuptest.Start(t, hooksConfig+"data: "+t.TempDir()+"\n")
	held := holdPermission(t, g, "claude", nil)
	p := awaitKind(t, g, protocol.KindMCPProposal, 0)
	decide(t, g, "mcp.request", toClaude, string(p.ID), fmt.Sprintf(bashCall, ""))
	if got := <-held; !strings.Contains(got.body, `"allow"`) {
		t.Fatal(got)
	}
	g.Restart()
	held = holdPermission(t, g, "claude", nil)
	p = awaitKind(t, g, protocol.KindMCPProposal, p.Seq)
	decide(t, g, "mcp.reject", "", string(p.ID), `{"reason":"unsafe"}`)
	if got := <-held; !strings.Contains(got.body, `"deny"`) {
		t.Error(got)
	}
}

// Calls without a tool_use_id are decided one by one.
func TestHooks_NoToolUseID(t *testing.T) {
	g := meuptest.Start(t, hooksConfig)
	out, since := make(chan string), protocol.Seq(0)
	for i := range 2 {
		go func() {
			_, body := fire(t, g, "claude", "?headless=true", "PreToolUse", map[string]any{"tool_use_id": "", "tool_input": map[string]any{"command": i}})
			out <- body
		}()
		p := awaitKind(t, g, protocol.KindMCPProposal, since)
		since = p.Seq
		decide(t, g, "mcp.reject", "", string(p.ID), `{"reason":"unsafe"}`)
		if body := <-out; !strings.Contains(body, `"deny"`) {
			t.Error(body)
		}
	}
}

// takeID makes alice use the id that the adapter derives from a subject.
func takeID(t *testing.T, g *meuptest.Gateway, parts ...string) {
	t.Helper()
	takeIDFor(t, g, "bob", parts...)
}

// takeIDFor is takeID with an envelope that who sees.
func takeIDFor(t *testing.T, g *meuptest.Gateway, who string, parts ...string) {
	t.Helper()
	text, err := json.Marshal([]any{"lab", "claude", parts})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	e := fmt.Sprintf(`{"id":"hook-%x","kind":"chat","to":[%q],"payload":{"message":"mine"}}`, sum[:16], who)
	if status, body := postAs(t, g, "alice-token", "/api/spaces/lab/envelopes", e); status != http.StatusOK {
		t.Fatal(status, body)
	}
}

// Another participant that uses a derived id first prevents neither the end of a
// proposal or a turn nor the delivery of a chat.
func TestHooks_DerivedIDTaken(t *testing.T) {
	g := meuptest.Start(t, hooksConfig)
	fires(t, g, "claude", "UserPromptSubmit", nil, none)
	fires(t, g, "claude", "PreToolUse", nil, askFor(askClaude))
	held := holdPermission(t, g, "claude", nil)
	p := awaitKind(t, g, protocol.KindMCPProposal, 0)
	takeID(t, g, "withdrawn", string(p.ID), "s1")
	takeID(t, g, "concluded", string(p.Context), "s1")
	takeID(t, g, "seen", "q1")
	if status, body := postAs(t, g, "bob-token", "/api/spaces/lab/envelopes", `{"id":"q1","kind":"chat","payload":{"message":"hello"}}`); status != http.StatusOK {
		t.Fatal(status, body)
	}
	if _, body := fire(t, g, "claude", "", "Stop", nil); !strings.Contains(body, "hello") {
		t.Errorf("the agent gets %s", body)
	}
	<-held
	lines, _ := story(t, g, "alice")
	for _, kind := range []string{"claude mcp.withdraw", "claude reasoning.conclusion"} {
		if !strings.Contains(strings.Join(lines, "\n"), kind) {
			t.Errorf("no %s in\n%s", kind, strings.Join(lines, "\n"))
		}
	}
}

func TestHooks_Paused(t *testing.T) {
	g := meuptest.Start(t, hooksConfig)
	fires(t, g, "wide", "UserPromptSubmit", nil, none)
	if status, body := postAs(t, g, "alice-token", "/api/spaces/lab/envelopes", `{"kind":"participant.pause","to":["wide"],"payload":{}}`); status != http.StatusOK {
		t.Fatal(status, body)
	}
	fires(t, g, "wide", "PreToolUse", nil, permissionDecision("deny", "wide is paused in the space lab."))
	const denied = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"wide is paused in the space lab."}}}`
	for _, address := range []string{"", "?fail=open"} {
		if status, body := fire(t, g, "wide", address, "PermissionRequest", nil); status != http.StatusOK || body != denied {
			t.Errorf("PermissionRequest at %q: %d %s, want %s", address, status, body, denied)
		}
	}
}

// The calls of a participant that was removed are denied, since its agent takes an error
// for no answer. Its other events are refused.
func TestHooks_Removed(t *testing.T) {
	g := meuptest.Start(t, hooksConfig)
	if status, body := postAs(t, g, "alice-token", "/api/spaces/lab/envelopes", `{"kind":"space.kick","payload":{"participant_id":"wide","reason":"test"}}`); status != http.StatusOK {
		t.Fatal(status, body)
	}
	fires(t, g, "wide", "PreToolUse", nil, permissionDecision("deny", "The participant was removed from the space lab."))
	if status, body := fire(t, g, "wide", "", "UserPromptSubmit", nil); status != http.StatusForbidden || !strings.Contains(body, `"kicked"`) {
		t.Error(status, body)
	}
	if status, body := postAs(t, g, "wrong-token", "/api/spaces/lab/hooks/claude", `{"hook_event_name":"Stop"}`); status != http.StatusUnauthorized {
		t.Error(status, body)
	}
}

// A request that waits uses a connection of the participant. One that gets none is
// answered without a decision, and its proposal is withdrawn.
func TestHooks_HeldBound(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(hooksConfig, "spaces:", "limits: {connections: 1}\nspaces:", 1))
	fires(t, g, "wide", "UserPromptSubmit", nil, none)
	first := holdPermission(t, g, "wide", map[string]any{"tool_input": map[string]any{"command": "echo 1"}})
	second := holdPermission(t, g, "wide", map[string]any{"tool_input": map[string]any{"command": "echo 2"}})
	awaitKind(t, g, protocol.KindMCPWithdraw, 0)
	select {
	case got := <-first:
		first = nil
		if got.body != none {
			t.Error(got)
		}
	case got := <-second:
		second = nil
		if got.body != none {
			t.Error(got)
		}
	}
	fires(t, g, "wide", "SessionEnd", nil, none)
	for _, h := range []<-chan permission{first, second} {
		if h != nil {
			if got := <-h; got.body != none {
				t.Error(got)
			}
		}
	}
}

// A gateway that was restarted continues a session from its next event.
func TestHooks_Restart(t *testing.T) {
	g := meuptest.Start(t, hooksConfig+"data: "+t.TempDir()+"\n")
	fires(t, g, "wide", "UserPromptSubmit", nil, none)
	fires(t, g, "wide", "PreToolUse", nil, none)
	g.Restart()
	fires(t, g, "wide", "PostToolUse", nil, none)
	fires(t, g, "wide", "Stop", nil, none)
	wantStory(t, g, "bob", `wide reasoning.start`, `wide reasoning.thought in #1`, `wide mcp.request to [wide] in #1 re [#2]`, `wide mcp.response in #1 re [#3]`, `wide reasoning.conclusion in #1`)
}

// After a restart, the work on a chat to the agent alone stays between the two, is
// answered, and the chat is not delivered again.
func TestHooks_RestartOnPrivateChat(t *testing.T) {
	g := meuptest.Start(t, hooksConfig+"data: "+t.TempDir()+"\n")
	fires(t, g, "claude", "UserPromptSubmit", nil, none)
	if status, body := postAs(t, g, "alice-token", "/api/spaces/lab/envelopes", `{"id":"q","kind":"chat","to":["claude"],"payload":{"message":"a secret"}}`); status != http.StatusOK {
		t.Fatal(status, body)
	}
	if _, body := fire(t, g, "claude", "", "Stop", nil); !strings.Contains(body, "a secret") {
		t.Fatal(body)
	}
	before, _ := story(t, g, "bob")
	g.Restart()
	fires(t, g, "claude", "PreToolUse", map[string]any{"tool_name": "Read"}, permissionDecision("allow", "The capabilities of claude in the space lab name this call."))
	fires(t, g, "claude", "PostToolUse", map[string]any{"tool_name": "Read"}, none)
	fires(t, g, "claude", "Stop", map[string]any{"last_assistant_message": "Kept."}, none)
	if after, _ := story(t, g, "bob"); len(after) != len(before) {
		t.Errorf("bob sees\n%s", strings.Join(after[len(before):], "\n"))
	}
	_, log := story(t, g, "alice")
	if last := log[len(log)-1]; last.Kind != protocol.KindChat || !last.Correlation.Names("q") || !strings.Contains(string(last.Payload), "Kept.") {
		t.Errorf("the answer is %+v %s", last, last.Payload)
	}
}

// Another participant that uses the id of an end does not end the turn.
func TestHooks_ForeignEndAfterRestart(t *testing.T) {
	for _, end := range []string{"concluded", "canceled"} {
		t.Run(end, func(t *testing.T) {
			g := meuptest.Start(t, hooksConfig+"data: "+t.TempDir()+"\n")
			fires(t, g, "claude", "UserPromptSubmit", nil, none)
			if status, body := postAs(t, g, "alice-token", "/api/spaces/lab/envelopes", `{"id":"q","kind":"chat","to":["claude"],"payload":{"message":"a secret"}}`); status != http.StatusOK {
				t.Fatal(status, body)
			}
			if _, body := fire(t, g, "claude", "", "Stop", nil); !strings.Contains(body, "a secret") {
				t.Fatal(body)
			}
			_, log := story(t, g, "alice")
			takeIDFor(t, g, "claude", end, string(log[len(log)-1].ID), "s1")
			before, _ := story(t, g, "bob")
			g.Restart()
			fires(t, g, "claude", "PreToolUse", map[string]any{"tool_name": "Read"}, permissionDecision("allow", "The capabilities of claude in the space lab name this call."))
			if after, _ := story(t, g, "bob"); len(after) != len(before) {
				t.Errorf("bob sees the private work\n%s", strings.Join(after[len(before):], "\n"))
			}
		})
	}
}

// A participant that may not reason is told so once, in the form of its program.
func TestHooks_NotShown(t *testing.T) {
	config := strings.Replace(hooksConfig, `mute: {token: mute-token, capabilities: [chat, "reasoning/*"]}`, `mute: {token: mute-token, capabilities: [chat]}`, 1)
	const text = "The space lab does not show this session: the capabilities of mute do not allow reasoning.start. Ask an operator of the space for reasoning/*."
	for _, test := range []struct{ program, event, first, second string }{
		{"claude", "UserPromptSubmit", `{"systemMessage":"` + text + `"}`, none},
		{"codex", "UserPromptSubmit", `{"systemMessage":"` + text + `"}`, none},
		{"cursor", "beforeSubmitPrompt", `{"continue":true,"user_message":"` + text + `"}`, `{"continue":true}`},
	} {
		t.Run(test.program, func(t *testing.T) {
			a := agentHooks{t, meuptest.Start(t, config), test.program, "mute"}
			a.fires(test.event, nil, test.first)
			a.fires(test.event, map[string]any{"prompt_id": "p2", "turn_id": "p2", "generation_id": "p2"}, test.second)
		})
	}
}

// The scheme of the token is accepted in any case, as everywhere.
func TestHooks_Scheme(t *testing.T) {
	g := meuptest.Start(t, hooksConfig)
	if status, body := postAs(t, g, "", "/api/spaces/lab/hooks/claude", `{"hook_event_name":"Stop","session_id":"s"}`, "Authorization", "bearer wide-token"); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
}

func TestHooks_Refusals(t *testing.T) {
	g := meuptest.Start(t, hooksConfig)
	const path = "/api/spaces/lab/hooks/claude"
	for _, test := range []struct {
		name, path, token, body string
		status                  int
		want                    string
	}{
		{"no token", path, "", `{"hook_event_name":"Stop"}`, http.StatusUnauthorized, "unauthorized"},
		{"an unknown token", path, "nobody", `{"hook_event_name":"Stop"}`, http.StatusUnauthorized, "unauthorized"},
		{"another space", "/api/spaces/attic/hooks/claude", "bob-token", `{"hook_event_name":"Stop"}`, http.StatusNotFound, "attic"},
		{"another program", "/api/spaces/lab/hooks/emacs", "bob-token", "{}", http.StatusNotFound, "claude"},
		{"an unknown event", path, "bob-token", `{"hook_event_name":"Tomorrow","session_id":"s"}`, http.StatusOK, "{}"},
		{"no event", path, "bob-token", `{}`, http.StatusOK, `"deny"`},
		{"fields of other types", path, "bob-token", `{"hook_event_name":["Stop"],"session_id":{"a":1},"tool_input":7}`, http.StatusOK, `"deny"`},
		{"no JSON, and calls may pass", path + "?fail=open", "bob-token", `{`, http.StatusBadRequest, "not a JSON object"},
		{"no object, and calls may pass", path + "?fail=open", "bob-token", `[]`, http.StatusBadRequest, "not a JSON object"},
		{"a long id", path, "bob-token", `{"hook_event_name":"Stop","session_id":"` + strings.Repeat("x", 300) + `"}`, http.StatusBadRequest, "session_id"},
		{"a long body", path, "bob-token", `{"hook_event_name":"Stop","x":"` + strings.Repeat("x", 1<<20) + `"}`, http.StatusRequestEntityTooLarge, "1048576"},
		{"a bad setting", path + "?wait=-1", "bob-token", `{"hook_event_name":"Stop"}`, http.StatusBadRequest, "wait"},
		{"another bad setting", path + "?prompts=all", "bob-token", `{"hook_event_name":"Stop"}`, http.StatusBadRequest, "prompts"},
		{"a third bad setting", path + "?fail=closed", "bob-token", `{"hook_event_name":"Stop"}`, http.StatusBadRequest, "fail"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if status, body := postAs(t, g, test.token, test.path, test.body); status != test.status || !strings.Contains(body, test.want) {
				t.Errorf("%d %s, want %d %s", status, body, test.status, test.want)
			}
		})
	}
}
