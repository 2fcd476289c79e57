package mcpclients

import (
	"bufio"
	"bytes"
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
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

const codexConfig = `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: [chat]}
      wide: {token: wide-token, capabilities: ["*"]}
      codex: {token: codex-token, capabilities: [chat, chat.acknowledge, "reasoning/*", mcp.proposal, mcp.withdraw, mcp.response]}
`

// codexProgram returns the program of @openai/codex, or skips the test.
func codexProgram(t *testing.T) string {
	t.Helper()
	switch runtime.GOOS + "/" + runtime.GOARCH {
	case "linux/amd64":
		return installed(t, "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex")
	case "linux/arm64":
		return installed(t, "@openai/codex-linux-arm64/vendor/aarch64-unknown-linux-musl/bin/codex")
	}
	t.Skip("the package of Codex for this system is not known here")
	return ""
}

// scriptedResponses is an OpenAI Responses API whose model calls a command, reports
// its result, and answers a message. The command is to leave the sandbox, unless the prompt
// says otherwise.
func scriptedResponses(t *testing.T) string {
	t.Helper()
	message := func(text string) map[string]any {
		return map[string]any{"type": "message", "role": "assistant", "id": "msg_1", "content": []any{map[string]any{"type": "output_text", "text": text}}}
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input []json.RawMessage }
		if r.URL.Path != "/v1/responses" || json.NewDecoder(r.Body).Decode(&in) != nil || len(in.Input) == 0 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		var items []map[string]any
		switch last := string(in.Input[len(in.Input)-1]); {
		case strings.Contains(last, "function_call_output"):
			items = append(items, message("It printed hi."))
		case strings.Contains(last, "zebra"):
			items = append(items, message("In the yard."))
		default:
			arguments := `{"cmd":"echo hi > out; cat out","justification":"Print hi","sandbox_permissions":"require_escalated"}`
			if strings.Contains(last, "in the sandbox") {
				arguments = `{"cmd":"echo hi > out; cat out"}`
			}
			items = append(items,
				map[string]any{"type": "reasoning", "id": "rs_1", "summary": []any{map[string]any{"type": "summary_text", "text": "I should run it."}}, "encrypted_content": "x"},
				message("I will run it."),
				map[string]any{"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "exec_command", "arguments": arguments})
		}
		w.Header().Set("Content-Type", "text/event-stream")
		event := func(kind string, fields map[string]any) {
			fields["type"] = kind
			text, err := json.Marshal(fields)
			if err != nil {
				t.Error(err)
			}
			_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, text)
		}
		event("response.created", map[string]any{"response": map[string]any{"id": "resp_1"}})
		for i, item := range items {
			event("response.output_item.added", map[string]any{"output_index": i, "item": item})
			event("response.output_item.done", map[string]any{"output_index": i, "item": item})
		}
		event("response.completed", map[string]any{"response": map[string]any{"id": "resp_1", "output": items, "usage": map[string]any{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}})
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// codexHome makes a home directory in which meup hooks install has written the
// hooks of a participant, and returns the environment.
func codexHome(t *testing.T, g *meuptest.Gateway, who string) (home string, env []string) {
	t.Helper()
	home = t.TempDir()
	config := fmt.Sprintf(`model = "scripted"
model_provider = "scripted"
sandbox_mode = "danger-full-access"
[model_providers.scripted]
name = "scripted"
base_url = "%s/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
`, scriptedResponses(t))
	if err := os.Mkdir(filepath.Join(home, ".codex"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".codex", "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "SCRIPTED_KEY=k", "SPACE_TOKEN=" + who + "-token"}
	c := exec.CommandContext(t.Context(), testkit.Program(t, "meup"), "hooks", "install", "codex", "--yes", "--gateway", g.HTTP(), "--space", "lab", "--token-env", "SPACE_TOKEN")
	c.Env = env
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "written\n") {
		t.Fatalf("install: %v\n%s", err, out)
	}
	return home, env
}

// startCodex starts codex in an empty folder.
func startCodex(t *testing.T, env []string, args ...string) (c *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	c, out = exec.CommandContext(testkit.Deadline(t), codexProgram(t), args...), new(bytes.Buffer)
	c.Dir, c.Env, c.WaitDelay, c.Stderr = t.TempDir(), env, time.Second, out
	return c, out
}

// spaceLog is the log as alice sees it.
type spaceLog struct {
	t   *testing.T
	url string
	*api.Client
}

func logOf(t *testing.T, g *meuptest.Gateway) spaceLog {
	t.Helper()
	c, err := api.New(api.Options{URL: g.HTTP(), Token: "alice-token"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return spaceLog{t, g.HTTP(), c}
}

func (l spaceLog) await(kind protocol.Kind) protocol.Envelope {
	l.t.Helper()
	ctx := testkit.Deadline(l.t)
	q := api.EnvelopeQuery{Kinds: []string{string(kind)}}
	if err := l.Await(ctx, "lab", q); err != nil {
		l.t.Fatalf("%s: %v", kind, err)
	}
	page, err := l.Envelopes(ctx, "lab", q)
	if err != nil {
		l.t.Fatal(err)
	}
	return page.Envelopes[0]
}

func (l spaceLog) send(token string, e protocol.Envelope) {
	l.t.Helper()
	c, err := api.New(api.Options{URL: l.url, Token: token})
	if err != nil {
		l.t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Send(l.t.Context(), "lab", e); err != nil {
		l.t.Fatal(err)
	}
}

// approve makes the call of the first proposal possible, as alice.
func (l spaceLog) approve(who protocol.ParticipantID) {
	l.t.Helper()
	p := l.await(protocol.KindMCPProposal)
	l.send("alice-token", protocol.Envelope{
		Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{who}, Correlation: protocol.CorrelateTo(p.ID),
		Payload: json.RawMessage(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}`, p.ParsePayload().Get("params").Raw())),
	})
}

// wantLines fails unless the log has the lines in this order.
func (l spaceLog) wantLines(want ...string) {
	l.t.Helper()
	page, err := l.Envelopes(l.t.Context(), "lab", api.EnvelopeQuery{Limit: 200})
	if err != nil {
		l.t.Fatal(err)
	}
	var lines []string
	for _, e := range page.Envelopes {
		lines = append(lines, fmt.Sprintf("%s %s %s", e.From, e.Kind, e.Payload))
	}
	rest := lines
	for _, text := range want {
		for len(rest) > 0 && !strings.Contains(rest[0], text) {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			l.t.Fatalf("no %s, or not in this order:\n%s", text, strings.Join(lines, "\n"))
		}
	}
}

// An unmodified Codex without a terminal publishes its work, makes a call that
// another participant approved, and answers a message that arrived in the meantime.
func TestCodex_Exec(t *testing.T) {
	t.Parallel()
	codexProgram(t)
	g := meuptest.Start(t, codexConfig)
	l := logOf(t, g)
	_, env := codexHome(t, g, "codex")
	c, errs := startCodex(t, env, "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "Run echo hi, please.")
	var out bytes.Buffer
	c.Stdout = &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	l.await(protocol.KindMCPProposal)
	l.send("bob-token", protocol.Envelope{Kind: protocol.KindChat, Payload: json.RawMessage(`{"message":"where is the zebra?"}`)})
	l.approve("codex")
	if err := c.Wait(); err != nil || strings.TrimSpace(out.String()) != "In the yard." {
		t.Errorf("codex: %v\n%s\n%s", err, out.String(), errs)
	}
	l.wantLines(
		`codex reasoning.start {"message":"Run echo hi, please."`, `codex reasoning.thought {"message":"Bash: echo hi`, `codex mcp.proposal`,
		`bob chat`, `alice mcp.request`, `codex mcp.response`, `codex reasoning.conclusion {"message":"It printed hi."}`, `codex chat.acknowledge`,
		`codex reasoning.start {"message":"Messages from bob"`, `codex reasoning.conclusion {"message":"In the yard."}`, `codex chat {"format":"markdown","message":"In the yard."}`,
	)
}

// appServer is Codex as the editors use it: JSON-RPC over pipes.
type appServer struct {
	t     *testing.T
	in    io.Writer
	lines *bufio.Scanner
	next  int
	asked []string // methods of the requests of Codex
}

func (a *appServer) call(method string, params, result any) {
	a.t.Helper()
	a.next++
	a.write(map[string]any{"id": a.next, "method": method, "params": params})
	a.read(func(id int, _ string, text json.RawMessage) bool {
		if id != a.next {
			return false
		}
		if err := json.Unmarshal(text, result); err != nil {
			a.t.Fatalf("%s: %v", method, err)
		}
		return true
	})
}

func (a *appServer) write(message any) {
	a.t.Helper()
	text, err := json.Marshal(message)
	if err == nil {
		_, err = a.in.Write(append(text, '\n'))
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// read reads messages until found.
func (a *appServer) read(found func(id int, method string, result json.RawMessage) bool) {
	a.t.Helper()
	for a.lines.Scan() {
		var m struct {
			ID     int
			Method string
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(a.lines.Bytes(), &m); err != nil {
			a.t.Fatalf("%v: %s", err, a.lines.Text())
		}
		if m.Error != nil {
			a.t.Fatalf("%s", a.lines.Text())
		}
		if strings.HasSuffix(m.Method, "requestApproval") {
			a.asked = append(a.asked, m.Method)
		}
		if found(m.ID, m.Method, m.Result) {
			return
		}
	}
	a.t.Fatalf("codex ended: %v", a.lines.Err())
}

// An unmodified Codex asks the space before its user, and makes a call that another
// participant approved without a question.
func TestCodex_Permission(t *testing.T) {
	t.Parallel()
	codexProgram(t)
	g := meuptest.Start(t, codexConfig)
	l := logOf(t, g)
	_, env := codexHome(t, g, "wide")
	c, errs := startCodex(t, env, "app-server")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = c.Wait() // its exit code does not matter
		if t.Failed() {
			t.Log(errs)
		}
	}()
	a := &appServer{t: t, in: in, lines: bufio.NewScanner(out)}
	a.lines.Buffer(nil, 1<<20)
	var ignored struct{}
	a.call("initialize", map[string]any{"clientInfo": map[string]string{"name": "test", "version": "1"}}, &ignored)
	a.write(map[string]string{"method": "initialized"})
	a.trustHooks(c.Dir)
	var started struct{ Thread struct{ ID string } }
	a.call("thread/start", map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only", "cwd": c.Dir}, &started)
	a.call("turn/start", map[string]any{"threadId": started.Thread.ID, "input": []any{map[string]string{"type": "text", "text": "Run echo hi, please."}}}, &ignored)
	l.approve("wide")
	a.read(func(_ int, method string, _ json.RawMessage) bool { return method == "turn/completed" })
	if len(a.asked) > 0 {
		t.Errorf("the user was asked: %q", a.asked)
	}
	l.wantLines(
		`wide reasoning.start {"message":"Run echo hi, please."`, `wide mcp.request`, `wide mcp.proposal`, `alice mcp.request`,
		`"result":{"content":[{"text":"hi\n","type":"text"}]}`, `wide reasoning.conclusion {"message":"It printed hi."}`,
	)
}

// trustHooks does what the user does with /hooks: without it, Codex runs none.
func (a *appServer) trustHooks(dir string) {
	a.t.Helper()
	var list struct {
		Data []struct {
			Hooks []struct{ Key, CurrentHash, TrustStatus string }
		}
	}
	a.call("hooks/list", map[string]any{"cwds": []string{dir}}, &list)
	trusted := map[string]any{}
	for _, h := range list.Data[0].Hooks {
		trusted[h.Key] = map[string]string{"trusted_hash": h.CurrentHash}
	}
	if len(trusted) != 9 {
		a.t.Fatalf("%d hooks", len(trusted))
	}
	var ignored struct{}
	a.call("config/value/write", map[string]any{"keyPath": "hooks.state", "value": trusted, "mergeStrategy": "upsert"}, &ignored)
}
