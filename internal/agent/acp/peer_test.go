package acp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/acp"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// installed returns the path of a file of the npm packages, or skips the test.
func installed(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(filepath.Join("../../../.tools", path))
	if err == nil {
		_, err = os.Stat(full)
	}
	if err != nil {
		t.Skipf("%s is not installed", path)
	}
	return full
}

// An agent of the SDK for JavaScript gets the MCP server of the space, and its requests for
// permission are decided by other participants.
func TestPeer_SDKAgent(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node on this machine")
	}
	sdk := installed(t, "node/node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js")
	for _, approve := range []bool{true, false} {
		t.Run(fmt.Sprint(approve), func(t *testing.T) {
			l := start(t, func(o *acp.Options, _ *agent.Options) {
				testkit.Reads(t, "testdata")
				script, err := filepath.Abs("testdata/agent.mjs")
				if err != nil {
					t.Fatal(err)
				}
				o.Command, o.Env = []string{node, script}, append(os.Environ(), "SDK="+sdk)
				o.HTTPServers = []any{map[string]any{"type": "http", "name": "meup", "url": "http://127.0.0.1:1/mcp", "headers": []any{}}}
			})
			q := l.ask("change it")
			l.decide(approve, nil)
			want := map[bool]string{true: "Changed.", false: "Left as it is."}[approve]
			if got := l.answer(q); got != want {
				t.Errorf("answer %q, not %q", got, want)
			}
			l.check(`{"message":"servers: meup http","raw":true`, `{"message":"I change the file.",`, `"tool_name":"edit"`, `claude mcp.proposal`, `"name":"edit","arguments":{"path":"/config.json"}`, `"agent":"sdk-agent 2.4.0"`)
			l.closed()
		})
	}
}

// thinkingModel is an Anthropic API: the model thinks, calls Bash, and reports the result.
func thinkingModel(t *testing.T) string {
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
		w.Header().Set("Content-Type", "text/event-stream")
		event := func(name, format string, args ...any) {
			_, _ = fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,%s}\n\n", name, name, fmt.Sprintf(format, args...))
		}
		block := func(n int, start, delta string) {
			event("content_block_start", `"index":%d,"content_block":%s`, n, start)
			event("content_block_delta", `"index":%d,"delta":%s`, n, delta)
			event("content_block_stop", `"index":%d`, n)
		}
		event("message_start", `"message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"usage":{"input_tokens":100,"output_tokens":1}}`)
		reason, last := "end_turn", string(in.Messages[len(in.Messages)-1])
		switch {
		case len(in.Tools) == 0:
			block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"A title"}`)
		case strings.Contains(last, "tool_result"):
			block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"It printed hi."}`)
		default:
			reason = "tool_use"
			block(0, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"The shell can print it."}`)
			block(1, `{"type":"text","text":""}`, `{"type":"text_delta","text":"I will run it."}`)
			block(2, `{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"command\":\"echo hi > out; cat out\",\"description\":\"Print hi\"}"}`)
		}
		event("message_delta", `"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":20}`, reason)
		event("message_stop", `"x":0`)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Claude Code, by its ACP agent, publishes its thinking, which its hooks do not have, and
// another participant grants the permission that it asks for.
func TestPeer_ClaudeCode(t *testing.T) {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	node := installed(t, "mcpclients/node_modules/node-"+runtime.GOOS+"-"+arch+"/bin/node")
	script := installed(t, "mcpclients/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js")
	l := start(t, func(o *acp.Options, _ *agent.Options) {
		home, err := os.MkdirTemp("", "meup-claude-") // in which its processes may still write when the test ends
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(home) })
		o.Command = []string{node, script}
		o.Env = []string{
			"PATH=" + filepath.Dir(node) + ":" + os.Getenv("PATH"), "HOME=" + home, "ANTHROPIC_BASE_URL=" + thinkingModel(t), "ANTHROPIC_API_KEY=test",
			"DISABLE_AUTOUPDATER=1", "ENABLE_TOOL_SEARCH=false", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		}
		o.Mode = "default"                                               // the mode that this one chooses asks for no permission
		o.StartTimeout, o.CallDelay = testkit.Patience, testkit.Patience // it asks for the permission
	})
	q := l.ask("Run echo hi, please.")
	l.decide(true, nil)
	if got := l.answer(q); !strings.HasSuffix(got, "It printed hi.") {
		t.Errorf("answer %q", got)
	}
	l.check(
		`claude reasoning.thought in`, `{"message":"The shell can print it.","raw":true`,
		`claude mcp.proposal`, `"name":"Bash","arguments":{"command":"echo hi > out; cat out","description":"Print hi"}`,
		`bob mcp.request to [claude]`, `claude mcp.response`, `hi`, `claude reasoning.conclusion`, `"agent":"`, `"tokens":`,
	)
	if story := l.story(); !strings.Contains(story, "I will run it.") { // before the call, or in the answer: the program may ask first
		t.Errorf("a text is missing in\n%s", story)
	}
	l.closed()
}
