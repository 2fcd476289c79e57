package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/terminal/hookconfig"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// claudeCode returns the program of @anthropic-ai/claude-code, which make
// install-npm installs.
func claudeCode(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("claude-code-%s-%s", runtime.GOOS, map[string]string{"amd64": "x64"}[runtime.GOARCH])
	if runtime.GOARCH != "amd64" {
		name = fmt.Sprintf("claude-code-%s-%s", runtime.GOOS, runtime.GOARCH)
	}
	path, err := filepath.Abs("../../.tools/mcpclients/node_modules/@anthropic-ai/" + name + "/claude")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("Claude Code is not installed; run make install-npm")
	}
	return path
}

// turn is what a scripted model says, and the tool that it calls, if any.
type turn struct{ text, tool, input string }

// scriptedModel is an Anthropic API. next gets the last message of a request, and the
// names of the tools in it.
func scriptedModel(t *testing.T, next func(last string, tools []string) turn) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Messages []json.RawMessage `json:"messages"`
			Tools    []struct{ Name string }
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/messages" || json.Unmarshal(body, &in) != nil || len(in.Messages) == 0 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		var names []string
		for _, tool := range in.Tools {
			names = append(names, tool.Name)
		}
		say := next(string(in.Messages[len(in.Messages)-1]), names)
		w.Header().Set("Content-Type", "text/event-stream")
		event := func(name, format string, args ...any) {
			_, _ = fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,%s}\n\n", name, name, fmt.Sprintf(format, args...))
		}
		event("message_start", `"message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}`)
		event("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`)
		event("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":%q}`, say.text)
		event("content_block_stop", `"index":0`)
		reason := "end_turn"
		if say.tool != "" {
			reason = "tool_use"
			event("content_block_start", `"index":1,"content_block":{"type":"tool_use","id":"toolu_%d","name":%q,"input":{}}`, len(in.Messages), say.tool)
			event("content_block_delta", `"index":1,"delta":{"type":"input_json_delta","partial_json":%q}`, say.input)
			event("content_block_stop", `"index":1`)
		}
		event("message_delta", `"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":1}`, reason)
		event("message_stop", `"x":0`)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// bashModel calls Bash, reports the result, and answers a message.
func bashModel(last string, tools []string) turn {
	switch {
	case strings.Contains(last, "tool_result"):
		return turn{text: "It printed hi."}
	case strings.Contains(last, "zebra"):
		return turn{text: "In the yard."}
	case len(tools) > 0:
		return turn{"I will run it.", "Bash", `{"command":"echo hi > out; cat out","description":"Print hi"}`}
	}
	return turn{text: "ok"}
}

// startClaude starts claude -p with the hooks of the space lab.
func startClaude(t *testing.T, g *meuptest.Gateway, who string, h hookconfig.Hooks) (wait func() (string, error), stop func()) {
	t.Helper()
	gateway, err := url.Parse(g.HTTP())
	if err != nil {
		t.Fatal(err)
	}
	h.Gateway, h.Space, h.TokenEnv = gateway, "lab", "SPACE_TOKEN"
	settings, err := h.Add(nil)
	if err != nil {
		t.Fatal(err)
	}
	return runClaude(t, settings, who, bashModel, "-p", "Run echo hi, please.")
}

// runClaude starts claude with settings and a scripted model, in an empty folder.
func runClaude(t *testing.T, settings []byte, who string, model func(string, []string) turn, args ...string) (wait func() (string, error), stop func()) {
	t.Helper()
	program, home, work := claudeCode(t), t.TempDir(), t.TempDir()
	err := os.Mkdir(filepath.Join(home, ".claude"), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(home, ".claude", "settings.json"), settings, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(testkit.Deadline(t))
	c := exec.CommandContext(ctx, program, args...)
	c.Dir = work
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "SPACE_TOKEN=" + who + "-token",
		"ANTHROPIC_BASE_URL=" + scriptedModel(t, model), "ANTHROPIC_API_KEY=test", "DISABLE_AUTOUPDATER=1", "ENABLE_TOOL_SEARCH=false", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
	// A file, since Wait would wait for the end of a pipe: a process that claude leaves may hold it.
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = out, out
	if err := errors.Join(c.Start(), out.Close()); err != nil {
		t.Fatal(err)
	}
	return func() (string, error) {
		err := c.Wait()
		text, unread := os.ReadFile(out.Name())
		return string(text), errors.Join(err, unread)
	}, cancel
}

// An unmodified Claude Code with the settings of meup hooks install publishes its
// work, is granted a permission by another participant, and answers a message that
// arrived in the meantime.
func TestClaudeCode(t *testing.T) {
	for _, test := range []struct {
		name, who string
		headless  bool
		call      string // the line of a request of its own
	}{
		{"asked by the program", "wide", false, "wide mcp.request to [wide]"},
		{"asked by the space", "claude", true, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.headless {
				testkit.Slow(t) // the program takes seconds; TestHooks_Headless has the same answers
			}
			t.Parallel()
			claudeCode(t)
			g := meuptest.Start(t, hooksConfig)
			wait, _ := startClaude(t, g, test.who, hookconfig.Hooks{Program: "claude", Headless: test.headless})
			p := awaitKind(t, g, protocol.KindMCPProposal, 0)
			if status, body := postAs(t, g, "bob-token", "/api/spaces/lab/envelopes", `{"id":"asked","kind":"chat","payload":{"message":"where is the zebra?"}}`); status != http.StatusOK {
				t.Fatal(status, body)
			}
			payload := p.ParsePayload()
			decide(t, g, "mcp.request", fmt.Sprintf(`,"to":[%q],"id":"approved"`, test.who), string(p.ID),
				fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}`, payload.Get("params").Raw()))
			out, err := wait()
			if err != nil || strings.TrimSpace(out) != "In the yard." {
				t.Errorf("claude: %v\n%s", err, out)
			}
			lines, _ := story(t, g, "alice")
			all := strings.Join(lines, "\n")
			for _, want := range []string{
				test.who + ` reasoning.start {"message":"Run echo hi, please."`,
				test.who + ` reasoning.thought in #1 {"message":"I will run it.","tool_name":"Bash"}`,
				test.call,
				test.who + ` mcp.proposal in #1 re [#2]`, `"name":"Bash"`, `"result":{"content":[{"text":"hi","type":"text"}]}`,
				test.who + ` reasoning.conclusion in #1 {"message":"It printed hi."}`,
				test.who + ` chat.acknowledge re [#`, `{"message":"Messages from bob"`,
				`{"message":"In the yard."}`, `{"format":"markdown","message":"In the yard."}`,
			} {
				if !strings.Contains(all, want) {
					t.Errorf("missing: %s", want)
				}
			}
			if t.Failed() {
				t.Log(all)
			}
		})
	}
}

// Claude Code whose turn has ended is woken by a message.
func TestClaudeCode_Woken(t *testing.T) {
	testkit.Slow(t) // the program takes seconds; TestHooks_WaitsForChat has the same answers
	t.Parallel()
	claudeCode(t)
	g := meuptest.Start(t, strings.Replace(hooksConfig, "params: {name: Read}", "params: {name: Bash}", 1))
	wait, stop := startClaude(t, g, "claude", hookconfig.Hooks{Program: "claude", Wait: testkit.Patience})
	e := awaitKind(t, g, protocol.KindReasoningConclusion, 0)
	if status, body := postAs(t, g, "alice-token", "/api/spaces/lab/envelopes", `{"kind":"chat","to":["claude"],"payload":{"message":"where is the zebra?"}}`); status != http.StatusOK {
		t.Fatal(status, body)
	}
	last := awaitKind(t, g, protocol.KindReasoningConclusion, e.Seq)
	stop()
	if out, err := wait(); err == nil {
		t.Errorf("it ended by itself: %s", out)
	}
	if text := last.ParsePayload().Get("message").Text(); text != "In the yard." {
		lines, _ := story(t, g, "alice")
		t.Errorf("%q\n%s", text, strings.Join(lines, "\n"))
	}
}

// Claude Code with the MCP server of docs/connect.md lists the space's tools, says
// something, and uses a tool of another participant.
func TestClaudeCode_MCP(t *testing.T) {
	t.Parallel()
	claudeCode(t)
	g := meuptest.Start(t, mcpNodeConfig)
	bridgeTo(t, g, "lamp-token", lamp())
	config := fmt.Sprintf(`{"mcpServers":{"meup":{"type":"http","url":"%s/mcp?space=lab","headers":{"Authorization":"Bearer ${SPACE_TOKEN}"}}}}`, g.HTTP())
	model := func(last string, tools []string) turn {
		switch {
		case strings.Contains(last, `{\"n\":1}`) || strings.Contains(last, `\"n\": 1`):
			return turn{text: "The lamp has 1."}
		case strings.Contains(last, "tool_result") && slices.Contains(tools, "mcp__meup__lamp__precise"):
			return turn{"Now the lamp.", "mcp__meup__lamp__precise", `{"n":1}`}
		case slices.Contains(tools, "mcp__meup__say") && !strings.Contains(last, "tool_result"):
			return turn{"I will greet them.", "mcp__meup__say", `{"message":"hello from claude"}`}
		}
		return turn{text: fmt.Sprintf("no tool: %q", tools)}
	}
	wait, _ := runClaude(t, []byte("{}"), "bob", model, "-p", "Greet them.", "--mcp-config", config, "--strict-mcp-config", "--allowedTools", "mcp__meup__say,mcp__meup__lamp__precise")
	out, err := wait()
	if err != nil || strings.TrimSpace(out) != "The lamp has 1." {
		t.Errorf("claude: %v\n%s", err, out)
	}
	lines, _ := story(t, g, "alice")
	all := strings.Join(lines, "\n")
	for _, want := range []string{`bob chat {"message":"hello from claude"}`, "bob mcp.request to [lamp]", `"name":"precise"`, "lamp mcp.response to [bob]"} {
		if !strings.Contains(all, want) {
			t.Errorf("missing %s in\n%s", want, all)
		}
	}
}
