package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/hookconfig"
	"github.com/meup-protocol/meup/internal/meuptest"
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
	path, err := filepath.Abs("../../.tools/node/node_modules/@anthropic-ai/" + name + "/claude")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("Claude Code is not installed; run make install-npm")
	}
	return path
}

// scriptedModel is an Anthropic API whose model calls Bash, reports the result, and
// answers a message.
func scriptedModel(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Messages []json.RawMessage `json:"messages"`
			Tools    []json.RawMessage `json:"tools"`
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/messages" || json.Unmarshal(body, &in) != nil || len(in.Messages) == 0 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		last := string(in.Messages[len(in.Messages)-1])
		text, call := "ok", ""
		switch {
		case strings.Contains(last, "tool_result"):
			text = "It printed hi."
		case strings.Contains(last, "zebra"):
			text = "In the yard."
		case len(in.Tools) > 0:
			text, call = "I will run it.", `{"command":"echo hi > out; cat out","description":"Print hi"}`
		}
		w.Header().Set("Content-Type", "text/event-stream")
		event := func(name, format string, args ...any) {
			_, _ = fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,%s}\n\n", name, name, fmt.Sprintf(format, args...))
		}
		event("message_start", `"message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}`)
		event("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`)
		event("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":%q}`, text)
		event("content_block_stop", `"index":0`)
		reason := "end_turn"
		if call != "" {
			reason = "tool_use"
			event("content_block_start", `"index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}`)
			event("content_block_delta", `"index":1,"delta":{"type":"input_json_delta","partial_json":%q}`, call)
			event("content_block_stop", `"index":1`)
		}
		event("message_delta", `"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":1}`, reason)
		event("message_stop", `"x":0`)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// startClaude starts claude -p with the hooks of the space lab.
func startClaude(t *testing.T, g *meuptest.Gateway, who string, h hookconfig.Hooks) (wait func() (string, error), stop func()) {
	t.Helper()
	program, home, work := claudeCode(t), t.TempDir(), t.TempDir()
	gateway, err := url.Parse(g.HTTP())
	if err != nil {
		t.Fatal(err)
	}
	h.Gateway, h.Space, h.TokenEnv = gateway, "lab", "SPACE_TOKEN"
	settings, err := h.Add(nil)
	if err == nil {
		err = os.Mkdir(filepath.Join(home, ".claude"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(home, ".claude", "settings.json"), settings, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, program, "-p", "Run echo hi, please.")
	c.Dir, c.WaitDelay = work, time.Second
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "SPACE_TOKEN=" + who + "-token",
		"ANTHROPIC_BASE_URL=" + scriptedModel(t), "ANTHROPIC_API_KEY=test", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return func() (string, error) {
		err := c.Wait()
		return out.String(), err
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
			g := meuptest.Start(t, hooksConfig)
			wait, _ := startClaude(t, g, test.who, hookconfig.Hooks{Headless: test.headless})
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
	g := meuptest.Start(t, strings.Replace(hooksConfig, "params: {name: Read}", "params: {name: Bash}", 1))
	wait, stop := startClaude(t, g, "claude", hookconfig.Hooks{Wait: time.Minute})
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
