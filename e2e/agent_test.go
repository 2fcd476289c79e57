package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

const agentConfig = `
limits: {rate: 1000000, burst: 1000000}
spaces:
  lab:
    participants:
      alice: {token: alice-token-for-tests, capabilities: ["*"]}
      guide: {token: guide-token-for-tests, capabilities: [chat, "reasoning/*", "mcp/*", "stream/*", participant.status]}
`

// agentStage is a gateway, the agent guide, and alice, who can see all
// envelopes.
type agentStage struct {
	t     *testing.T
	g     *gatewayProc
	agent *process
	args  []string
	alice *client.Client
	seen  []protocol.Envelope
	ctx   context.Context // ends before the test's timeout
}

// openAgentStage starts the agent with both servers of the npm registry.
func openAgentStage(t *testing.T, more ...string) *agentStage {
	t.Helper()
	fs, everything := testkit.FilesystemServer(t), testkit.EverythingServer(t)
	docs, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(docs, "networking.md"), []byte("# Networking\n\nThe gateway listens on port 8080.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return openAgentStageWith(t, append([]string{"--mcp", fs + " " + docs, "--mcp", everything + " stdio"}, more...)...)
}

// openAgentStageWith starts the agent with flags.
func openAgentStageWith(t *testing.T, flags ...string) *agentStage {
	t.Helper()
	ctx := testkit.Deadline(t)
	s := &agentStage{t: t, g: startGateway(t, agentConfig), ctx: ctx}
	s.args = append([]string{"run", "--gateway", "ws://" + s.g.addr + "/ws", "--space", "lab", "--token-env", "GUIDE"}, flags...)
	s.alice = s.g.dial(t, "alice", client.After(0))
	s.startAgent()
	return s
}

func (s *agentStage) startAgent() {
	s.t.Helper()
	s.agent = start(s.t, []string{"GUIDE=guide-token-for-tests", "THE_REASONERS=" + reasonerToken}, filepath.Join(bin, "meup-agent"), s.args...)
	eventually(s.t, "the agent is ready", func() bool { return strings.Contains(s.agent.log.String(), "agent ready") })
}

func (s *agentStage) ask(text string) protocol.ID {
	s.t.Helper()
	receipt, err := s.alice.Send(s.ctx, client.Chat(text))
	if err != nil {
		s.t.Fatal(err)
	}
	return receipt.ID
}

// until receives up to the first envelope that matches, and returns it.
func (s *agentStage) until(what string, fits func(*protocol.Envelope) bool) *protocol.Envelope {
	s.t.Helper()
	for {
		env, err := s.alice.Receive(s.ctx)
		if err != nil {
			s.t.Fatalf("waiting for %s: %v\n%s", what, err, s.script())
		}
		s.seen = append(s.seen, env)
		if fits(&env) {
			return &env
		}
	}
}

func (s *agentStage) answer(to protocol.ID) string {
	s.t.Helper()
	return message(s.until("the answer", func(env *protocol.Envelope) bool {
		return env.From == "guide" && env.Kind == protocol.KindChat && env.Correlation.Names(to)
	}))
}

func (s *agentStage) script() string {
	var b strings.Builder
	for _, env := range s.seen {
		fmt.Fprintf(&b, "%d %s %s in %q: %.200s\n", env.Seq, env.From, env.Kind, env.Context, env.Payload)
	}
	return b.String()
}

// count counts the agent's envelopes of a kind that correlate to an envelope.
func (s *agentStage) count(kind protocol.Kind, to protocol.ID) int {
	n := 0
	for _, env := range s.seen {
		if env.From == "guide" && env.Kind == kind && env.Correlation.Names(to) {
			n++
		}
	}
	return n
}

func message(env *protocol.Envelope) string {
	var p struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(env.Payload, &p)
	return p.Message
}

func of(kind protocol.Kind) func(*protocol.Envelope) bool {
	return func(env *protocol.Envelope) bool { return env.Kind == kind && env.From == "guide" }
}

// toolCall waits for the agent's call of a tool.
func (s *agentStage) toolCall(name string) *protocol.Envelope {
	s.t.Helper()
	return s.until("a call of "+name, func(env *protocol.Envelope) bool {
		return env.Kind == protocol.KindMCPRequest && strings.Contains(string(env.Payload), `"`+name+`"`)
	})
}

func TestAgent_Rules(t *testing.T) {
	t.Parallel()
	s := openAgentStage(t)
	if text := s.answer(s.ask("Which port does the gateway listen on?")); !strings.Contains(text, "port 8080") {
		t.Errorf("answer %q\n%s", text, s.script())
	}
	if text := s.answer(s.ask("What is the sum of 2 and 40?")); !strings.Contains(text, "42") {
		t.Errorf("answer %q\n%s", text, s.script())
	}
}

// model starts a scripted model and returns the flags that name it.
func model(t *testing.T, script llmtest.Script) (server *llmtest.Server, flags []string) {
	t.Helper()
	server = llmtest.Start(t, script)
	return server, []string{"--model", "openai:scripted", "--base-url", server.URL() + "/v1"}
}

func call(name, arguments string) llm.ToolCall {
	return llm.ToolCall{Name: name, Arguments: []byte(arguments)}
}

func TestAgent_Model(t *testing.T) {
	t.Parallel()
	for _, api := range []string{"chat", "responses"} {
		t.Run(api, func(t *testing.T) { testAgentModel(t, api) })
	}
}

func testAgentModel(t *testing.T, api string) {
	server, flags := model(t, llmtest.Turns(
		llmtest.Turn{Thinking: "nobody's business", Text: "I add and I echo.", Calls: []llm.ToolCall{
			call("get-sum", `{"a":2,"b":40,"rationale":"The sum is asked for."}`),
			call("echo", `{"message":"hello","rationale":"An echo is asked for."}`),
		}},
		llmtest.Turn{Text: "It is 42, and hello."},
	))
	s := openAgentStage(t, append(flags, "--api", api)...)
	question := s.ask("What is 2 and 40, and what does hello sound like?")
	if text := s.answer(question); text != "It is 42, and hello." {
		t.Errorf("answer %q\n%s", text, s.script())
	}
	script := s.script()
	for _, want := range []string{
		`"message":"I add and I echo."`, `"message":"The sum is asked for.","tool_name":"get-sum","parallel_group":0`,
		`"message":"An echo is asked for.","tool_name":"echo","parallel_group":0`, `"arguments":{"a":2,"b":40}`,
	} {
		if !strings.Contains(script, want) {
			t.Errorf("%s is missing in\n%s", want, script)
		}
	}
	if strings.Contains(script, "nobody's business") {
		t.Errorf("raw thinking was shared\n%s", script)
	}
	if n := len(server.Requests()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestAgent_ModelLost(t *testing.T) {
	t.Parallel()
	lost := llmtest.Turn{Text: "I think about this for a long time.", CutAfter: 3} // it is asked once more
	_, flags := model(t, llmtest.Turns(
		lost, lost,
		llmtest.Turn{Text: "Here I am again."},
	))
	s := openAgentStageWith(t, flags...)
	if text := s.answer(s.ask("Well?")); !strings.Contains(text, "I have stopped looking into this") {
		t.Errorf("answer %q", text)
	}
	cancelled := false
	for i := range s.seen {
		cancelled = cancelled || s.seen[i].Kind == protocol.KindReasoningCancel
	}
	if !cancelled {
		t.Errorf("the context is open\n%s", s.script())
	}
	if text := s.answer(s.ask("And now?")); text != "Here I am again." {
		t.Errorf("answer %q", text)
	}
}

func TestAgent_Killed(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	server, flags := model(t, func(r llmtest.Request) llmtest.Turn {
		switch r.N {
		case 1:
			return llmtest.Turn{Calls: []llm.ToolCall{call("echo", `{"message":"one"}`)}}
		case 2:
			return llmtest.Turn{Hang: hang}
		}
		return llmtest.Turn{Text: "Sorry for the break."}
	})
	t.Cleanup(func() { close(hang) })
	s := openAgentStageWith(t, append(flags, "--mcp", os.Args[0]+" "+hangingServer+" unused")...)
	question := s.ask("What does one sound like?")
	start := s.until("the start", of(protocol.KindReasoningStart))
	s.until("the response", of(protocol.KindMCPResponse))
	if _, err := server.Asked(s.ctx, 2); err != nil {
		t.Fatal(err)
	}
	s.agent.kill()
	later := s.ask("And are you there?") // while it is unavailable
	s.startAgent()
	texts := map[protocol.ID]string{question: "", later: ""}
	closed := 0
	s.until("both answers", func(env *protocol.Envelope) bool {
		if env.Kind == protocol.KindReasoningCancel && env.Context == protocol.ContextPath(start.ID) {
			closed++
		}
		if env.Kind == protocol.KindChat && env.From == "guide" {
			texts[env.Correlation.First()] = message(env)
		}
		return texts[question] != "" && texts[later] != ""
	})
	if closed != 1 || texts[question] != "Sorry for the break." {
		t.Errorf("closed %d times, answered %q\n%s", closed, texts, s.script())
	}
	s.answer(s.ask("Anything else?")) // a duplicate would have arrived before this
	if n, m := s.count(protocol.KindChat, question), s.count(protocol.KindChat, later); n != 1 || m != 1 {
		t.Errorf("answered %d and %d times\n%s", n, m, s.script())
	}
}

func TestAgent_GatewayKilled(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	server, flags := model(t, func(r llmtest.Request) llmtest.Turn {
		if r.N == 1 {
			return llmtest.Turn{Text: "I go on.", Calls: []llm.ToolCall{call("echo", `{"message":"one"}`)}, Gate: gate}
		}
		return llmtest.Turn{Text: "It sounds like " + r.LastResult()}
	})
	s := openAgentStageWith(t, append(flags, "--mcp", os.Args[0]+" "+hangingServer+" unused")...)
	question := s.ask("What does one sound like?")
	if _, err := server.Asked(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s.g.kill()
	close(gate) // the model answers while there is no gateway
	s.g.restart()
	later := s.ask("And what does two sound like?")
	texts := map[protocol.ID]string{}
	s.until("both answers", func(env *protocol.Envelope) bool {
		if env.Kind == protocol.KindChat && env.From == "guide" {
			texts[env.Correlation.First()] = message(env)
		}
		return texts[question] != "" && texts[later] != ""
	})
	if !strings.Contains(texts[question], "one") {
		t.Errorf("answers %q", texts)
	}
	if n := s.count(protocol.KindReasoningStart, question); n != 1 {
		t.Errorf("begun %d times\n%s", n, s.script())
	}
	if n := s.count(protocol.KindChat, question); n != 1 {
		t.Errorf("answered %d times\n%s", n, s.script())
	}
}

// hangingServer makes this test binary an MCP server with the tools echo and hang;
// hang creates a file and does not return.
const hangingServer = "mcp-server-hanging"

func runHangingServer(file string) {
	s := mcp.NewServer(&mcp.Implementation{Name: "hanging", Version: "1"}, nil)
	type input struct {
		Message string `json:"message"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Message}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "hang"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return nil, nil, err
		}
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
}

// A tool server is killed during a call. A call that it has not received would be
// sent to its successor, so the test waits for the call to begin.
func TestAgent_ToolServerKilled(t *testing.T) {
	t.Parallel()
	_, flags := model(t, func(r llmtest.Request) llmtest.Turn {
		switch {
		case r.N == 1:
			return llmtest.Turn{Calls: []llm.ToolCall{call("hang", `{"message":"one"}`)}}
		case r.N == 3:
			return llmtest.Turn{Calls: []llm.ToolCall{call("echo", `{"message":"two"}`)}}
		}
		return llmtest.Turn{Text: "The tool said: " + r.LastResult()}
	})
	began := filepath.Join(t.TempDir(), "began")
	s := openAgentStageWith(t, append(flags, "--mcp", os.Args[0]+" "+hangingServer+" "+began)...)
	question := s.ask("Take your time.")
	request := s.toolCall("hang")
	eventually(t, "the call begins", func() bool { _, err := os.Stat(began); return err == nil })
	killChild(t, s.agent.cmd.Process.Pid, hangingServer)
	if text := s.answer(question); !strings.Contains(text, "FAILED") || !strings.Contains(text, "gone") {
		t.Errorf("answer %q\n%s", text, s.script())
	}
	if s.count(protocol.KindMCPResponse, request.ID) != 1 {
		t.Errorf("the call has no response\n%s", s.script())
	}
	if text := s.answer(s.ask("And now an echo.")); !strings.Contains(text, "two") {
		t.Errorf("answer %q", text)
	}
}

// killChild kills the child of a process whose command line contains a word,
// together with its group. It waits for a child that is being started.
func killChild(t *testing.T, parent int, word string) {
	t.Helper()
	eventually(t, fmt.Sprintf("a child with %q is killed", word), func() bool {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			raw, err := os.ReadFile(task)
			if err != nil {
				continue
			}
			for field := range strings.FieldsSeq(string(raw)) {
				line, _ := os.ReadFile("/proc/" + field + "/cmdline")
				// Before exec, a child has the command line of its parent, and no group.
				pid, err := strconv.Atoi(field)
				if err == nil && strings.Contains(string(line), word) && syscall.Kill(-pid, syscall.SIGKILL) == nil {
					return true
				}
			}
		}
		return false
	})
}
