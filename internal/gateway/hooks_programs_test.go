package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// agentHooks sends the recorded events of an agent as a participant.
type agentHooks struct {
	t            *testing.T
	g            *meuptest.Gateway
	program, who string
}

// fire sends one event with some of its fields replaced, and returns the answer.
func (a agentHooks) fire(name string, change map[string]any) string {
	status, body, err := a.send("", name, change)
	if err != nil || status != http.StatusOK {
		a.t.Fatalf("%s: %v %d %s", name, err, status, body)
	}
	return body
}

func (a agentHooks) send(query, name string, change map[string]any) (int, string, error) {
	text, err := os.ReadFile("testdata/hooks/" + a.program + "/" + name + ".json")
	if err != nil {
		return 0, "", err
	}
	var event map[string]any
	if err := json.Unmarshal(text, &event); err != nil {
		return 0, "", err
	}
	for k, v := range change {
		event[k] = v
	}
	text, err = json.Marshal(event)
	if err != nil {
		return 0, "", err
	}
	status, body := postAs(a.t, a.g, a.who+"-token", "/api/spaces/lab/hooks/"+a.program+query, string(text))
	return status, body, nil
}

func (a agentHooks) fires(name string, change map[string]any, want string) {
	a.t.Helper()
	if got := a.fire(name, change); got != want {
		a.t.Fatalf("%s: %s, want %s", name, got, want)
	}
}

// hold sends an event that waits for a decision.
func (a agentHooks) hold(name string, change map[string]any) <-chan string {
	out := make(chan string, 1)
	go func() {
		_, body, err := a.send("", name, change)
		if err != nil {
			a.t.Error(err)
		}
		out <- body
	}()
	return out
}

// approve sends the call of a proposal, with other arguments if given.
func (a agentHooks) approve(p protocol.Envelope, arguments string) {
	a.t.Helper()
	params, edited := string(p.ParsePayload().Get("params").Raw()), ""
	if arguments != "" {
		params, edited = fmt.Sprintf(`{"name":%q,"arguments":%s}`, p.ParsePayload().Get("params").Get("name").Text(), arguments), `,"edited":true`
	}
	decide(a.t, a.g, "mcp.request", fmt.Sprintf(`,"to":[%q]`, a.who), string(p.ID), fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s%s}`, params, edited))
}

func TestCodexHooks_Turn(t *testing.T) {
	a := agentHooks{t, meuptest.Start(t, hooksConfig), "codex", "wide"}
	a.fires("SessionStart", nil, none)
	for range 2 { // a repeated event publishes nothing new
		a.fires("UserPromptSubmit", nil, none)
		a.fires("PreToolUse", nil, none)
	}
	a.fires("PostToolUse", nil, none)
	a.fires("SubagentStart", nil, none)
	a.fires("SubagentStop", nil, none)
	a.fires("Stop", nil, none)
	a.fires("UserPromptSubmit", map[string]any{"turn_id": "t2"}, none)
	a.fires("PreToolUse", map[string]any{"turn_id": "t2", "tool_use_id": "call_2"}, none)
	a.fires("Interrupt", map[string]any{"turn_id": "t2"}, none)
	wantStory(t, a.g, "bob",
		`wide reasoning.start {"message":"Run echo hi, please.","session_id":"s1"}`,
		`wide reasoning.thought in #1 {"message":"Bash: echo hi`,
		`wide mcp.request to [wide] in #1 re [#2] {"id":"#3","jsonrpc":"2.0","method":"tools/call","params":{"arguments":{"command":"echo hi \u003e out; cat out"},"name":"Bash"}}`,
		`wide mcp.response in #1 re [#3] {"id":"#3","jsonrpc":"2.0","result":{"content":[{"text":"hi\n","type":"text"}]}}`,
		`wide reasoning.start in #1 {"message":"Subagent explorer"}`, `wide reasoning.conclusion in #1/#5 {"message":"Found it."}`,
		`wide reasoning.conclusion in #1 {"message":"It printed hi."}`,
		`wide reasoning.start`, `wide reasoning.thought`, `wide mcp.request`, `wide mcp.response`, `wide reasoning.cancel in #8 {"reason":"interrupted by the user"}`,
	)
}

// Codex asks its hook before its user. A call that a capability names, or that the
// space approved before it, needs no other decision; the answers have no fields that
// Codex does not support.
func TestCodexHooks_Permissions(t *testing.T) {
	const allow = `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`
	bash := strings.Replace(hooksConfig, "params: {name: Read}", "params: {name: Bash}", 1)
	t.Run("named by a capability", func(t *testing.T) {
		a := agentHooks{t, meuptest.Start(t, bash), "codex", "claude"}
		a.fires("PreToolUse", nil, none)
		for range 2 {
			a.fires("PermissionRequest", nil, allow)
		}
	})
	t.Run("a host is another subject", func(t *testing.T) {
		a := agentHooks{t, meuptest.Start(t, bash), "codex", "claude"}
		a.fires("PreToolUse", nil, none)
		held := a.hold("PermissionRequest", map[string]any{"tool_input": map[string]any{"command": "echo hi > out; cat out", "description": "network-access example.org"}})
		p := awaitKind(t, a.g, protocol.KindMCPProposal, 0)
		decide(t, a.g, "mcp.reject", "", string(p.ID), `{"reason":"no"}`)
		if got := <-held; !strings.Contains(got, `"behavior":"deny"`) {
			t.Error(got)
		}
	})
	t.Run("proposed before the call", func(t *testing.T) {
		a := agentHooks{t, meuptest.Start(t, hooksConfig), "codex", "claude"}
		held := a.hold("PreToolUse", nil)
		a.approve(awaitKind(t, a.g, protocol.KindMCPProposal, 0), "")
		if got := <-held; got != none {
			t.Error(got)
		}
		a.fires("PermissionRequest", nil, allow)
		// The approval holds once.
		again := a.hold("PermissionRequest", nil)
		last := awaitKind(t, a.g, protocol.KindMCPProposal, 3)
		decide(t, a.g, "mcp.reject", "", string(last.ID), `{"reason":"once"}`)
		if got := <-again; !strings.Contains(got, `"behavior":"deny"`) {
			t.Error(got)
		}
		a.fires("PostToolUse", nil, none)
	})
	t.Run("with other arguments", func(t *testing.T) {
		a := agentHooks{t, meuptest.Start(t, hooksConfig), "codex", "claude"}
		held := a.hold("PreToolUse", nil)
		a.approve(awaitKind(t, a.g, protocol.KindMCPProposal, 0), `{"command":"echo bye"}`)
		if got, want := <-held, `"permissionDecision":"allow","updatedInput":{"command":"echo bye"}}}`; !strings.HasSuffix(got, want) {
			t.Error(got)
		}
		a.fires("PermissionRequest", map[string]any{"tool_input": map[string]any{"command": "echo bye", "description": "Print bye"}}, allow)
	})
	t.Run("with other arguments, too late", func(t *testing.T) {
		a := agentHooks{t, meuptest.Start(t, hooksConfig), "codex", "wide"}
		a.fires("PreToolUse", nil, none)
		held := a.hold("PermissionRequest", nil)
		a.approve(awaitKind(t, a.g, protocol.KindMCPProposal, 0), `{"command":"echo bye"}`)
		if got := <-held; !strings.Contains(got, `"behavior":"deny","message":"A participant of the space lab allows Bash with other arguments instead; call it with them: {\"command\":\"echo bye\"}"`) {
			t.Error(got)
		}
	})
	t.Run("rejected", func(t *testing.T) {
		a := agentHooks{t, meuptest.Start(t, hooksConfig), "codex", "claude"}
		held := a.hold("PreToolUse", nil)
		decide(t, a.g, "mcp.reject", "", string(awaitKind(t, a.g, protocol.KindMCPProposal, 0).ID), `{"reason":"unsafe"}`)
		if got := <-held; !strings.Contains(got, `"permissionDecision":"deny","permissionDecisionReason":"The participant alice of the space lab rejected`) {
			t.Error(got)
		}
	})
	t.Run("allowed by none", func(t *testing.T) {
		a := agentHooks{t, meuptest.Start(t, hooksConfig), "codex", "mute"}
		if got := a.fire("PreToolUse", nil); !strings.Contains(got, `"permissionDecision":"deny"`) {
			t.Error(got)
		}
	})
	t.Run("in no time", func(t *testing.T) {
		a := agentHooks{t, meuptest.Start(t, hooksConfig), "codex", "claude"}
		if _, got, err := a.send("?approval=0", "PreToolUse", nil); err != nil || !strings.Contains(got, `"permissionDecision":"deny","permissionDecisionReason":"No participant`) {
			t.Error(got, err)
		}
	})
}

func TestCursorHooks_Turn(t *testing.T) {
	a := agentHooks{t, meuptest.Start(t, hooksConfig), "cursor", "wide"}
	for range 2 {
		a.fires("beforeSubmitPrompt", nil, `{"continue":true}`)
		a.fires("afterAgentThought", nil, none)
		a.fires("preToolUse", nil, none)
	}
	a.fires("postToolUse", nil, none)
	a.fires("subagentStart", nil, none)
	a.fires("subagentStop", nil, none)
	a.fires("afterAgentResponse", map[string]any{"text": "Almost done."}, none)
	a.fires("preToolUse", map[string]any{"tool_use_id": "tool_3"}, none)
	a.fires("postToolUseFailure", map[string]any{"tool_use_id": "tool_3"}, none)
	a.fires("afterAgentResponse", nil, none)
	a.fires("stop", nil, none)
	a.fires("beforeSubmitPrompt", map[string]any{"generation_id": "g2"}, `{"continue":true}`)
	a.fires("stop", map[string]any{"generation_id": "g2", "status": "aborted"}, none)
	wantStory(t, a.g, "bob",
		`wide reasoning.start {"message":"Run echo hi, please.","session_id":"s1"}`,
		`wide reasoning.thought in #1 {"message":"I should run it."}`,
		`wide reasoning.thought in #1 {"message":"I will run it.","tool_name":"Shell"}`,
		`wide mcp.request to [wide] in #1 re [#3] {"id":"#4","jsonrpc":"2.0","method":"tools/call","params":{"arguments":{"command":"echo hi","working_directory":"/home/user/x"},"name":"Shell"}}`,
		`wide mcp.response in #1 re [#4] {"id":"#4","jsonrpc":"2.0","result":{"content":[{"text":"hi\n","type":"text"}]}}`,
		`wide reasoning.start in #1 {"message":"Subagent explore"}`, `wide reasoning.conclusion in #1/#6 {"message":"Found it."}`,
		`wide reasoning.thought in #1 {"message":"Almost done.","tool_name":"Shell"}`, `wide mcp.request to [wide] in #1 re [#8]`,
		`wide mcp.response in #1 re [#9] {"id":"#9","jsonrpc":"2.0","result":{"content":[{"text":"Command timed out","type":"text"}],"isError":true}}`,
		`wide reasoning.conclusion in #1 {"message":"It printed hi."}`,
		`wide reasoning.start`, `wide reasoning.cancel in #12 {"reason":"interrupted by the user"}`,
	)
}

// Codex and Cursor report delivered chats as a prompt of their user. The turn of a private
// chat stays private if the gateway restarts before that prompt; another prompt ends it.
func TestHooks_RestartBeforeFollowup(t *testing.T) {
	for _, program := range []struct{ name, prompt, stop, id, answer string }{
		{"codex", "UserPromptSubmit", "Stop", "turn_id", "reason"},
		{"cursor", "beforeSubmitPrompt", "stop", "generation_id", "followup_message"},
	} {
		for _, another := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, another prompt: %v", program.name, another), func(t *testing.T) {
				a := agentHooks{t, meuptest.Start(t, hooksConfig+"data: "+t.TempDir()+"\n"), program.name, "wide"}
				a.fire(program.prompt, nil)
				if status, body := postAs(t, a.g, "alice-token", "/api/spaces/lab/envelopes", `{"id":"q","kind":"chat","to":["wide"],"payload":{"message":"a secret"}}`); status != http.StatusOK {
					t.Fatal(status, body)
				}
				var out map[string]any
				if err := json.Unmarshal([]byte(a.fire(program.stop, nil)), &out); err != nil {
					t.Fatal(err)
				}
				text, _ := out[program.answer].(string)
				if !strings.Contains(text, "a secret") {
					t.Fatal(out)
				}
				before, _ := story(t, a.g, "bob")
				a.g.Restart()
				if another {
					text = "Go on."
				}
				a.fire(program.prompt, map[string]any{"prompt": text, program.id: "next"})
				a.fire(program.stop, map[string]any{program.id: "next", "last_assistant_message": "Kept."})
				after, _ := story(t, a.g, "bob")
				lines, _ := story(t, a.g, "alice")
				all := strings.Join(lines, "\n")
				if another {
					if len(after) != len(before)+2 || !strings.Contains(all, "interrupted by another prompt") {
						t.Errorf("bob sees\n%s\nof\n%s", strings.Join(after[len(before):], "\n"), all)
					}
					return
				}
				if len(after) != len(before) || strings.Contains(all, "reasoning.cancel") {
					t.Errorf("bob sees\n%s\nof\n%s", strings.Join(after[len(before):], "\n"), all)
				}
				if program.name == "codex" && !strings.HasPrefix(lines[len(lines)-1], "wide chat to [alice]") {
					t.Errorf("no answer in\n%s", all)
				}
			})
		}
	}
}

// The events of older versions of Cursor have no ids of calls.
func TestCursorHooks_WithoutIDs(t *testing.T) {
	a := agentHooks{t, meuptest.Start(t, hooksConfig), "cursor", "wide"}
	a.fires("beforeShellExecution", nil, none)
	a.fires("afterShellExecution", nil, none)
	a.fires("beforeMCPExecution", nil, none)
	a.fires("afterMCPExecution", nil, none)
	a.fires("afterFileEdit", nil, none)
	a.fires("sessionEnd", nil, none)
	wantStory(t, a.g, "bob",
		`wide reasoning.start`, `wide reasoning.thought in #1 {"message":"Shell: echo hi"`, `wide mcp.request to [wide] in #1 re [#2] {"id":"#3"`,
		`wide mcp.response in #1 re [#3] {"id":"#3","jsonrpc":"2.0","result":{"content":[{"text":"hi\n","type":"text"}]}}`,
		`wide reasoning.thought in #1 {"message":"lookup"`, `wide mcp.request to [wide] in #1 re [#5] {"id":"#6","jsonrpc":"2.0","method":"tools/call","params":{"arguments":{"word":"zebra"},"name":"lookup"}}`,
		`wide mcp.response in #1 re [#6] {"id":"#6","jsonrpc":"2.0","result":{"content":[{"text":"an animal","type":"text"}]}}`,
		`wide reasoning.observation in #1 {"message":"Changed /home/user/x/main.go"}`, `wide reasoning.cancel`,
	)
}

func TestCursorHooks_Permissions(t *testing.T) {
	for _, test := range []struct{ name, who, arguments, reject, want string }{
		{"approved", "claude", "", "", `{"permission":"allow"}`},
		{"with other arguments", "claude", `{"command":"echo bye"}`, "", `{"permission":"allow","updated_input":{"command":"echo bye"}}`},
		{"rejected", "claude", "", "unsafe", `{"permission":"deny","user_message":"The participant alice of the space lab rejected`},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := agentHooks{t, meuptest.Start(t, hooksConfig), "cursor", test.who}
			held := a.hold("preToolUse", nil)
			p := awaitKind(t, a.g, protocol.KindMCPProposal, 0)
			if test.reject != "" {
				decide(t, a.g, "mcp.reject", "", string(p.ID), fmt.Sprintf(`{"reason":%q}`, test.reject))
			} else {
				a.approve(p, test.arguments)
			}
			if got := <-held; !strings.HasPrefix(got, test.want) {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
}

// A chat becomes the next prompt of Cursor, which reports it as one of its user. The
// turn answers the chat.
func TestCursorHooks_Followup(t *testing.T) {
	for _, reported := range []bool{true, false} {
		t.Run(fmt.Sprint("reported ", reported), func(t *testing.T) {
			a := agentHooks{t, meuptest.Start(t, hooksConfig), "cursor", "wide"}
			a.fires("beforeSubmitPrompt", nil, `{"continue":true}`)
			if status, body := postAs(t, a.g, "bob-token", "/api/spaces/lab/envelopes", `{"id":"asked","kind":"chat","payload":{"message":"where is the zebra?"}}`); status != http.StatusOK {
				t.Fatal(status, body)
			}
			var next struct {
				Message string `json:"followup_message"`
			}
			if err := json.Unmarshal([]byte(a.fire("stop", nil)), &next); err != nil || !strings.Contains(next.Message, `{"from":"bob","text":"where is the zebra?"}`) {
				t.Fatal(err, next)
			}
			if reported {
				a.fires("beforeSubmitPrompt", map[string]any{"generation_id": "g2", "prompt": strings.TrimSpace(next.Message)}, `{"continue":true}`)
			}
			a.fires("afterAgentResponse", map[string]any{"generation_id": "g2", "text": "In the yard."}, none)
			a.fires("stop", map[string]any{"generation_id": "g2", "loop_count": 1}, none)
			wantStory(t, a.g, "bob",
				`wide reasoning.start`, `bob chat`, `wide reasoning.conclusion in #1`, `wide chat.acknowledge re [#2]`, `wide reasoning.start re [#2] {"message":"Messages from bob"`,
				`wide reasoning.conclusion in #5 {"message":"In the yard."}`, `wide chat re [#2] {"format":"markdown","message":"In the yard."}`,
			)
		})
	}
}

func TestHooks_UnknownProgram(t *testing.T) {
	g := meuptest.Start(t, hooksConfig)
	if status, body := postAs(t, g, "wide-token", "/api/spaces/lab/hooks/emacs", "{}"); status != http.StatusNotFound || !strings.Contains(body, "claude, codex, cursor") {
		t.Error(status, body)
	}
}
