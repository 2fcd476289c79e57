package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/acp"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

const config = `
limits: {rate: 100000, burst: 100000, connections: 64, open_contexts: 1000}
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      guest: {token: guest-token, capabilities: [chat, "chat/*"]}
      planner: {token: planner-token, capabilities: ["*"]}
      files: {token: files-token, capabilities: ["*"]}
`

// editor is a client of a server.
type editor struct {
	t       *testing.T
	g       *meuptest.Gateway
	conn    *acp.Conn
	session string

	mu      sync.Mutex
	updates []string
	choose  func(params json.RawMessage, gone <-chan struct{}) string
	end     func()
}

// connect starts a server for a participant, and connects to it. Questions go to some
// participants, or to all.
func connect(t *testing.T, g *meuptest.Gateway, who string, to ...protocol.ParticipantID) *editor {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	c, err := api.New(api.Options{URL: g.HTTP(), Token: who + "-token"})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		err := acp.Serve(context.Background(), acp.ServerOptions{Client: c, Space: "lab", You: protocol.ParticipantID(who), To: to, In: in, Out: out, Version: "1"})
		_ = out.Close()
		done <- err
	}()
	e := &editor{t: t, g: g}
	e.conn = acp.NewConn(fromServer, toServer, slog.New(slog.DiscardHandler), e.handle)
	e.conn.Start()
	e.end = sync.OnceFunc(func() {
		_ = toServer.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		e.conn.Close()
		c.Close()
	})
	t.Cleanup(e.end)
	e.call("initialize", map[string]any{"protocolVersion": 1}, nil)
	return e
}

func (e *editor) handle(ctx context.Context, method string, params json.RawMessage) (any, error) {
	var p struct {
		Update struct {
			Kind    string `json:"sessionUpdate"`
			Call    string `json:"toolCallId"`
			Status  string `json:"status"`
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	if method == "session/request_permission" {
		option := e.choose(params, ctx.Done())
		return map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": option}}, nil
	}
	var c struct{ Text string }
	_ = json.Unmarshal(p.Update.Content, &c)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.updates = append(e.updates, strings.TrimSpace(strings.Join([]string{p.Update.Kind, p.Update.Call, p.Update.Status, c.Text}, " ")))
	return nil, nil
}

func (e *editor) call(method string, params map[string]any, result any) {
	e.t.Helper()
	if err := e.conn.Call(testkit.Deadline(e.t), method, params, result); err != nil {
		e.t.Fatalf("%s: %v", method, err)
	}
}

// open begins a session.
func (e *editor) open() *editor {
	e.t.Helper()
	var s struct{ SessionID string }
	e.call("session/new", map[string]any{"cwd": "/", "mcpServers": []any{}}, &s)
	e.session = s.SessionID
	return e
}

// prompt sends a prompt; the returned function waits for its end.
func (e *editor) prompt(text string) (wait func() (string, error)) {
	done := make(chan error, 1)
	var out struct{ StopReason string }
	go func() {
		done <- e.conn.Call(testkit.Deadline(e.t), "session/prompt", map[string]any{"sessionId": e.session, "prompt": []any{map[string]string{"type": "text", "text": text}}}, &out)
	}()
	return func() (string, error) { err := <-done; return out.StopReason, err }
}

func (e *editor) seen() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.updates, "\n")
}

func (e *editor) await(text string) {
	e.t.Helper()
	testkit.Eventually(e.t, text, func() bool { return strings.Contains(e.seen(), text) })
}

// does publishes an envelope of a participant.
func does(t *testing.T, g *meuptest.Gateway, who, id, kind, within, to, correlation, payload string) {
	t.Helper()
	e := protocol.Envelope{ID: protocol.ID(id), Kind: protocol.Kind(kind), Context: protocol.ContextPath(within), Payload: json.RawMessage(payload)}
	if to != "" {
		e.To = []protocol.ParticipantID{protocol.ParticipantID(to)}
	}
	if correlation != "" {
		e.Correlation = protocol.CorrelateTo(protocol.ID(correlation))
	}
	if _, err := g.API(t, who).Send(testkit.Deadline(t), "lab", e); err != nil {
		t.Errorf("%s %s: %v", who, kind, err)
	}
}

// chats waits until the log has a number of chats of a participant, and returns them.
func chats(t *testing.T, g *meuptest.Gateway, who protocol.ParticipantID, kind protocol.Kind, n int) (list []protocol.Envelope) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("%d %s of %s", n, kind, who), func() bool {
		page, err := g.API(t, "alice").Envelopes(testkit.Deadline(t), "lab", api.EnvelopeQuery{Kinds: []string{string(kind)}, From: []protocol.ParticipantID{who}})
		if err == nil {
			list = page.Envelopes
		}
		return len(list) >= n
	})
	return list
}

const writeCall = `"method":"tools/call","params":{"name":"write","arguments":{"path":"b.txt"}}`

// work plays a planner that thinks, calls a tool, and proposes a call.
func work(t *testing.T, g *meuptest.Gateway, question protocol.ID) {
	t.Helper()
	does(t, g, "planner", "s", "reasoning.start", "", "", string(question), `{"message":"looks at it"}`)
	does(t, g, "planner", "o", "stream.open", "s", "", "", `{"stream_id":"grows","description":"a thought that grows"}`)
	does(t, g, "planner", "d", "stream.data", "s", "", "", `{"stream_id":"grows","data":"first "}`)
	does(t, g, "planner", "e", "stream.close", "s", "", "", `{"stream_id":"grows"}`)
	does(t, g, "planner", "t", "reasoning.thought", "s", "", "s", `{"message":"first I read","stream_id":"grows"}`)
	does(t, g, "planner", "call", "mcp.request", "s", "files", "t", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"a.txt"}}}`)
	does(t, g, "files", "r", "mcp.response", "", "planner", "call", `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"the text"}]}}`)
	does(t, g, "planner", "p", "mcp.proposal", "s", "", "", `{"participant_id":"files",`+writeCall+`}`)
}

func finish(t *testing.T, g *meuptest.Gateway, question protocol.ID) {
	t.Helper()
	does(t, g, "planner", "c", "reasoning.conclusion", "s", "", "", `{"message":"so it is"}`)
	does(t, g, "planner", "a", "chat", "", "", string(question), `{"message":"It is fine."}`)
}

// The client of the SDK for JavaScript gets thoughts, calls, a request for permission and
// the answer, and loads the session again.
func TestServer_SDK(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node on this machine")
	}
	testkit.Reads(t, "testdata")
	sdk, err := filepath.Abs("../../.tools/node/node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(sdk); err != nil {
		t.Skip("the ACP SDK is not installed; run make install-npm")
	}
	for choice, want := range map[string]string{"allow_once": "mcp.request", "reject_once": "mcp.reject"} {
		t.Run(choice, func(t *testing.T) {
			g := meuptest.Start(t, config)
			cmd := exec.CommandContext(testkit.Deadline(t), node, "testdata/editor.mjs")
			cmd.Env = append(os.Environ(), "SDK="+sdk, "CHOICE="+choice)
			in, err1 := cmd.StdoutPipe()
			out, err2 := cmd.StdinPipe()
			report, err3 := cmd.StderrPipe()
			if err := errors.Join(err1, err2, err3, cmd.Start()); err != nil {
				t.Fatal(err)
			}
			c, err := api.New(api.Options{URL: g.HTTP(), Token: "alice-token"})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			done := make(chan error, 1)
			go func() {
				done <- acp.Serve(t.Context(), acp.ServerOptions{Client: c, Space: "lab", You: "alice", In: in, Out: out, Version: "1"})
			}()
			text := make(chan string, 1)
			go func() {
				all, _ := io.ReadAll(report)
				text <- string(all)
			}()
			q := chats(t, g, "alice", protocol.KindChat, 1)[0]
			if got := q.ParsePayload().Get("message").Text(); got != "what is it?\nfile:///a.txt:\n\n````\n```\n````" {
				t.Errorf("asked %q", got)
			}
			work(t, g, q.ID)
			d := chats(t, g, "alice", protocol.Kind(want), 1)[0]
			if !d.Correlation.Names("p") || want == "mcp.request" && !strings.Contains(string(d.Payload), writeCall) {
				t.Errorf("decided %s", d.Payload)
			}
			finish(t, g, q.ID)
			all := <-text
			if err := errors.Join(<-done, cmd.Wait()); err != nil {
				t.Errorf("%v\n%s", err, all)
			}
			rest := all
			for _, line := range []string{
				`"title":"Space lab"`, `**planner** looks at it`, `I read`, `"title":"files: read"`, `"rawInput":{"path":"a.txt"}`,
				`"status":"completed"`, `the text`, `"status":"pending"`, `**planner** concludes: so it is`,
				`{"text":"It is fine.","type":"text"},"sessionUpdate":"agent_message_chunk"`, `"stopReason":"end_turn"`, `"user_message_chunk"`, `It is fine.`, `"loaded"`,
			} {
				_, after, ok := strings.Cut(rest, line)
				if !ok {
					t.Fatalf("missing %s in\n%s", line, all)
				}
				rest = after
			}
			if n := strings.Count(all, "first "); n != 1 { // with the rest of the thought or before it
				t.Errorf("the thought begins %d times in\n%s", n, all)
			}
			if !strings.Contains(all, `"title":"planner asks: files: write"`) || !strings.Contains(all, `"rawInput":{"path":"b.txt"}},"options"`) {
				t.Errorf("no permission in\n%s", all)
			}
		})
	}
}

// A participant that may not decide is not asked.
func TestServer_NoDecision(t *testing.T) {
	g := meuptest.Start(t, config)
	e := connect(t, g, "guest").open()
	e.choose = func(json.RawMessage, <-chan struct{}) string { t.Error("asked"); return "approve" }
	wait := e.prompt("hello")
	q := chats(t, g, "guest", protocol.KindChat, 1)[0]
	work(t, g, q.ID)
	e.await("tool_call p pending")
	finish(t, g, q.ID)
	if reason, err := wait(); reason != "end_turn" || err != nil {
		t.Error(reason, err)
	}
	e.await("tool_call_update p failed")
}

// A decision of another participant ends the request for permission.
func TestServer_DecidedElsewhere(t *testing.T) {
	g := meuptest.Start(t, config)
	e := connect(t, g, "alice").open()
	asked, gone := make(chan struct{}), make(chan struct{})
	e.choose = func(_ json.RawMessage, canceled <-chan struct{}) string {
		close(asked)
		<-canceled
		close(gone)
		return "approve"
	}
	wait := e.prompt("hello")
	q := chats(t, g, "alice", protocol.KindChat, 1)[0]
	work(t, g, q.ID)
	<-asked
	does(t, g, "files", "no", "mcp.reject", "s", "", "p", `{"reason":"unsafe"}`)
	<-gone
	finish(t, g, q.ID)
	if reason, err := wait(); reason != "end_turn" || err != nil {
		t.Error(reason, err)
	}
	if list := chats(t, g, "alice", protocol.KindMCPRequest, 0); len(list) > 0 {
		t.Error("approved too")
	}
}

// A canceled prompt withdraws its question.
func TestServer_Cancel(t *testing.T) {
	g := meuptest.Start(t, config)
	e := connect(t, g, "alice").open()
	wait := e.prompt("hello")
	q := chats(t, g, "alice", protocol.KindChat, 1)[0]
	for _, method := range []string{"session/load", "session/prompt"} {
		params := map[string]any{"sessionId": e.session, "prompt": []any{map[string]string{"type": "text", "text": "more"}}}
		if err := e.conn.Call(testkit.Deadline(t), method, params, nil); err == nil || !strings.Contains(err.Error(), "in progress") {
			t.Errorf("%s: %v", method, err)
		}
	}
	if err := e.conn.Notify(t.Context(), "session/cancel", map[string]string{"sessionId": e.session}); err != nil {
		t.Fatal(err)
	}
	if reason, err := wait(); reason != "cancelled" || err != nil {
		t.Error(reason, err)
	}
	if c := chats(t, g, "alice", protocol.KindChatCancel, 1)[0]; !c.Correlation.Names(q.ID) {
		t.Errorf("%+v", c)
	}
	wait = e.prompt("hello") // asks again
	q = chats(t, g, "alice", protocol.KindChat, 2)[1]
	finishNew(t, g, q.ID)
	if reason, err := wait(); reason != "end_turn" || err != nil {
		t.Error(reason, err)
	}
}

// A prompt, or a load, that is sent right after a cancel waits for the end of the canceled
// turn.
func TestServer_PromptAfterCancel(t *testing.T) {
	g := meuptest.Start(t, config)
	e := connect(t, g, "alice").open()
	for i := range 3 {
		wait := e.prompt("hello")
		chats(t, g, "alice", protocol.KindChat, 2*i+1)
		if err := e.conn.Notify(t.Context(), "session/cancel", map[string]string{"sessionId": e.session}); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			e.call("session/load", map[string]any{"sessionId": e.session, "cwd": "/", "mcpServers": []any{}}, nil)
		}
		next := e.prompt("something else")
		if reason, err := wait(); reason != "cancelled" || err != nil {
			t.Errorf("the canceled prompt: %q, %v", reason, err)
		}
		q := chats(t, g, "alice", protocol.KindChat, 2*i+2)[2*i+1]
		finishNew(t, g, q.ID)
		if reason, err := next(); reason != "end_turn" || err != nil {
			t.Errorf("the next prompt: %q, %v; want end_turn", reason, err)
		}
	}
}

// A cancel that is sent right after a prompt ends it, even if it is handled first.
func TestServer_CancelAtOnce(t *testing.T) {
	g := meuptest.Start(t, config)
	in, editor := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- acp.Serve(context.Background(), acp.ServerOptions{Client: g.API(t, "alice"), Space: "lab", You: "alice", In: in, Out: out, Version: "1"})
	}()
	stop := context.AfterFunc(testkit.Deadline(t), func() { _ = answers.CloseWithError(errors.New("no answer in time")) })
	defer stop()
	responses := json.NewDecoder(answers)
	answer := func(text string) (result struct{ SessionID, StopReason string }) {
		t.Helper()
		if _, err := io.WriteString(editor, text); err != nil {
			t.Fatal(err)
		}
		for {
			var m struct {
				Method string
				Result json.RawMessage
			}
			if err := responses.Decode(&m); err != nil {
				t.Fatal(err)
			}
			if m.Method != "" {
				continue
			}
			if err := json.Unmarshal(m.Result, &result); err != nil {
				t.Fatal(err)
			}
			return result
		}
	}
	session := answer(`{"jsonrpc":"2.0","id":0,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}` + "\n").SessionID
	for i := range 50 {
		reason := answer(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"hello"}]}}`+"\n"+
			`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%[2]q}}`+"\n", i+1, session)).StopReason
		if reason != "cancelled" {
			t.Fatalf("%q", reason)
		}
	}
	_ = editor.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// finishNew answers a question in a context of its own.
func finishNew(t *testing.T, g *meuptest.Gateway, question protocol.ID) {
	t.Helper()
	does(t, g, "planner", "", "chat", "", "", string(question), `{"message":"It is fine."}`)
}

// An answer is shown as it grows. A text that seemed to be one stays, with a blank line
// after it.
func TestServer_AnswerGrows(t *testing.T) {
	g := meuptest.Start(t, config)
	e := connect(t, g, "alice", "planner").open()
	wait := e.prompt("hello")
	q := string(chats(t, g, "alice", protocol.KindChat, 1)[0].ID)
	does(t, g, "planner", "s", "reasoning.start", "", "", q, `{"message":"looks at it"}`)
	e.await("looks at it")
	grow := func(stream, text string) {
		does(t, g, "planner", "o"+stream, "stream.open", "", "", q, fmt.Sprintf(`{"stream_id":%q}`, stream))
		does(t, g, "planner", "d"+stream, "stream.data", "", "", q, fmt.Sprintf(`{"stream_id":%q,"data":%q}`, stream, text))
		e.await(text)
	}
	grow("one", "I look")
	does(t, g, "planner", "e", "stream.close", "", "", q, `{"stream_id":"one","reason":"withdrawn"}`)
	does(t, g, "planner", "t", "reasoning.thought", "s", "", "", `{"message":"I look there.","stream_id":"one"}`)
	e.await("there.")
	grow("two", "It is")
	does(t, g, "planner", "c", "reasoning.conclusion", "s", "", "", `{"message":"It is"}`)
	does(t, g, "planner", "a", "chat", "", "", q, `{"message":"It is fine.","stream_id":"two"}`)
	if reason, err := wait(); reason != "end_turn" || err != nil {
		t.Error(reason, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var said []string
	for _, update := range e.updates {
		if text, found := strings.CutPrefix(update, "agent_message_chunk"); found {
			said = append(said, strings.TrimSpace(text))
		}
	}
	if slices.ContainsFunc(e.updates, func(update string) bool {
		return strings.Contains(update, "thought") && strings.Contains(update, "I look")
	}) {
		t.Errorf("the text is shown again as a thought: %q", e.updates)
	}
	if want := []string{"I look", "", "It is", "fine."}; !slices.Equal(said, want) {
		t.Errorf("the editor got %q, want %q", said, want)
	}
}

// An answer of a participant that was not asked has its name.
func TestServer_AnswerOfAnother(t *testing.T) {
	g := meuptest.Start(t, config)
	e := connect(t, g, "alice", "planner").open()
	wait := e.prompt("hello")
	q := chats(t, g, "alice", protocol.KindChat, 1)[0]
	does(t, g, "files", "", "chat", "", "", string(q.ID), `{"message":"Trust me."}`)
	does(t, g, "planner", "", "chat", "", "", string(q.ID), `{"message":"It is fine."}`)
	if reason, err := wait(); reason != "end_turn" || err != nil {
		t.Error(reason, err)
	}
	for _, text := range []string{"**files**: Trust me.", "**planner**: It is fine."} {
		if !strings.Contains(e.seen(), text) {
			t.Errorf("no %q in %s", text, e.seen())
		}
	}
}

// A gateway that restarts in the middle of a turn is followed again: nothing is shown twice,
// and nothing is left out.
func TestServer_GatewayRestarts(t *testing.T) {
	g := meuptest.Start(t, config)
	e := connect(t, g, "alice").open()
	e.choose = func(_ json.RawMessage, canceled <-chan struct{}) string { <-canceled; return "" }
	wait := e.prompt("hello")
	q := chats(t, g, "alice", protocol.KindChat, 1)[0]
	work(t, g, q.ID)
	e.await("tool_call p pending")
	g.Restart()
	finish(t, g, q.ID)
	if reason, err := wait(); reason != "end_turn" || err != nil {
		t.Error(reason, err)
	}
	for _, once := range []string{"looks at it", "I read", "tool_call call", "tool_call_update call completed", "tool_call p", "concludes", "It is fine."} {
		if n := strings.Count(e.seen(), once); n != 1 {
			t.Errorf("%q %d times in\n%s", once, n, e.seen())
		}
	}
}

// A prompt that failed and is sent again asks nothing twice; another one is another
// question. A session of an ended connection is continued, and its prompts are not repeated.
func TestServer_Retry(t *testing.T) {
	g := meuptest.Start(t, config)
	e := connect(t, g, "alice").open()
	wait := e.prompt("first")
	q := chats(t, g, "alice", protocol.KindChat, 1)[0]
	e.end() // the editor is closed with the question open
	if _, err := wait(); err == nil {
		t.Error("it has ended")
	}
	finishNew(t, g, q.ID)
	next := connect(t, g, "alice")
	next.session = e.session
	next.call("session/load", map[string]any{"sessionId": e.session, "cwd": "/", "mcpServers": []any{}}, nil)
	if got, want := next.seen(), "user_message_chunk   first\nagent_message_chunk   **planner**: It is fine."; got != want {
		t.Errorf("loaded %q", got)
	}
	wait = next.prompt("second")
	list := chats(t, g, "alice", protocol.KindChat, 2)
	if name := list[1].ParsePayload().Get("session_id").Text(); !list[1].Correlation.Names(q.ID) || name == "" || name == e.session {
		t.Errorf("%+v", list[1]) // with the id of the session, others could use the ids of its questions first
	}
	finishNew(t, g, list[1].ID)
	if reason, err := wait(); reason != "end_turn" || err != nil {
		t.Error(reason, err)
	}
	if n := len(chats(t, g, "alice", protocol.KindChat, 2)); n != 2 {
		t.Errorf("%d questions", n)
	}
}

// Requests that cannot be served are refused with a reason.
func TestServer_Refusals(t *testing.T) {
	g := meuptest.Start(t, config)
	e := connect(t, g, "alice").open()
	for name, test := range map[string]struct {
		method string
		params any
		want   string
	}{
		"no session":    {"session/prompt", map[string]any{"sessionId": "x", "prompt": []any{}}, "there is no session"},
		"no text":       {"session/prompt", map[string]any{"sessionId": e.session, "prompt": []any{}}, "expected a text"},
		"unknown":       {"session/set_model", map[string]any{}, "method not found"},
		"bad params":    {"session/prompt", []int{1}, "invalid params: expected an object, not an array"},
		"a bad prompt":  {"session/prompt", map[string]any{"sessionId": e.session, "prompt": 5}, "invalid params: prompt: expected an array, not a number"},
		"bad id":        {"session/load", map[string]any{"sessionId": 5}, "invalid params: sessionId: expected a string, not a number"},
		"bad session":   {"session/load", map[string]any{"sessionId": "a b"}, "expected the id"},
		"too long":      {"session/prompt", map[string]any{"sessionId": e.session, "prompt": []any{map[string]string{"type": "text", "text": strings.Repeat("x", 2<<20)}}}, "message_too_large"},
		"a new session": {"session/load", map[string]any{"sessionId": "editor-made"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := e.conn.Call(testkit.Deadline(t), test.method, test.params, nil)
			if test.want == "" && err == nil {
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
		})
	}
}
