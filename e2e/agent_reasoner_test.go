package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// deciderProc is a reasoning service that can be killed and started again, on
// the same port.
type deciderProc struct {
	*process
	t    *testing.T
	addr string
}

// reasonerToken is the token that the service requires.
const reasonerToken = "reasoner-token-for-tests"

func startDecider(t *testing.T, args ...string) *deciderProc {
	t.Helper()
	r := &deciderProc{t: t, addr: "127.0.0.1:" + freePort(t)}
	r.restart(args...)
	return r
}

func (r *deciderProc) restart(args ...string) {
	r.t.Helper()
	r.process = start(r.t, []string{"REASONING_API_TOKEN=" + reasonerToken}, filepath.Join(bin, "meup-reasoner"),
		append([]string{"serve", "--listen", r.addr}, args...)...)
	eventually(r.t, "the reasoning service is ready", func() bool { return get(r.addr, "/healthz", "") == http.StatusOK })
}

// openReasonerStage starts the agent with the filesystem server of the npm
// registry and a reasoning service that decides.
func openReasonerStage(t *testing.T, r *deciderProc, more ...string) *agentStage {
	t.Helper()
	fs := testkit.FilesystemServer(t)
	docs, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(docs, "networking.md"), []byte("# Networking\n\nThe gateway listens on port 8080.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := testkit.Deadline(t)
	s := &agentStage{t: t, g: startGateway(t, agentConfig), ctx: ctx}
	s.args = append([]string{"run", "--gateway", "ws://" + s.g.addr + "/ws", "--space", "lab", "--token-env", "GUIDE", "--space-tools", "off",
		"--log-level", "debug", "--reasoner", "http://" + r.addr, "--reasoner-token-env", "THE_REASONERS", "--mcp", fs + " " + docs}, more...)
	s.alice = s.g.dial(t, "alice", client.After(0))
	s.startAgent()
	return s
}

const whichPort = "Which port does the gateway listen on?"

func TestAgent_ReasoningService(t *testing.T) {
	t.Parallel()
	r := startDecider(t)
	s := openReasonerStage(t, r)
	if text := s.answer(s.ask(whichPort)); !strings.Contains(text, "port 8080") {
		t.Errorf("answer %q\n%s", text, s.script())
	}
	if approach := `"approach":"reasoner"`; !strings.Contains(s.script(), approach) {
		t.Errorf("no %s in\n%s", approach, s.script())
	}
	calls := 0
	for i := range s.seen {
		if s.seen[i].From == "guide" && s.seen[i].Kind == protocol.KindMCPRequest {
			calls++
		}
	}
	if calls == 0 {
		t.Errorf("answered without a tool\n%s", s.script())
	}
	if log := s.agent.log.String(); !strings.Contains(log, "source=rules") || strings.Contains(log, "source=fallback") || strings.Contains(log, reasonerToken) {
		t.Errorf("the agent's log:\n%s", log)
	}
}

// hanging is a model that does not answer the service after it has called one
// tool.
func hanging(t *testing.T) (server *llmtest.Server, flags []string) {
	t.Helper()
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	return model(t, func(r llmtest.Request) llmtest.Turn {
		if r.N == 1 {
			return llmtest.Turn{Calls: []llm.ToolCall{call("list_allowed_directories", `{}`)}}
		}
		return llmtest.Turn{Hang: forever}
	})
}

func TestAgent_ReasoningServiceKilled(t *testing.T) {
	t.Parallel()
	server, flags := hanging(t)
	r := startDecider(t, flags...)
	s := openReasonerStage(t, r)
	question := s.ask(whichPort)
	s.until("the response of the first step", of(protocol.KindMCPResponse))
	if _, err := server.Asked(s.ctx, 2); err != nil {
		t.Fatal(err)
	}
	r.kill()
	if text := s.answer(question); !strings.Contains(text, "I have stopped looking into this: ") || strings.Contains(text, r.addr) {
		t.Errorf("answer %q\n%s", text, s.script())
	}
	closed := false
	for i := range s.seen {
		closed = closed || s.seen[i].Kind == protocol.KindReasoningCancel && s.seen[i].From == "guide"
	}
	if !closed {
		t.Errorf("the context is open\n%s", s.script())
	}
	if text := s.answer(s.ask(whichPort)); !strings.Contains(text, "I have stopped looking into this: ") { // while it is unavailable
		t.Errorf("answer %q", text)
	}
	r.restart() // without its model: rules decide
	if text := s.answer(s.ask(whichPort)); !strings.Contains(text, "port 8080") {
		t.Errorf("answer %q\n%s", text, s.script())
	}
	if strings.Contains(s.script(), reasonerToken) || strings.Contains(s.agent.log.String(), reasonerToken) {
		t.Error("the service's token is in the space, or in the log")
	}
}

func TestAgent_ReasoningServiceDown(t *testing.T) {
	t.Parallel()
	server, flags := hanging(t)
	r := startDecider(t, flags...)
	s := openReasonerStage(t, r, "--rules-behind")
	question := s.ask(whichPort)
	if _, err := server.Asked(s.ctx, 2); err != nil {
		t.Fatal(err)
	}
	r.kill()
	if text := s.answer(question); !strings.Contains(text, "port 8080") {
		t.Errorf("answer %q\n%s", text, s.script())
	}
	if text := s.answer(s.ask(whichPort)); !strings.Contains(text, "port 8080") { // while it is unavailable
		t.Errorf("answer %q\n%s", text, s.script())
	}
	log := s.agent.log.String()
	if !strings.Contains(log, "source=fallback") || strings.Contains(log, reasonerToken) {
		t.Errorf("the agent's log:\n%s", log)
	}
	r.restart()
	if text := s.answer(s.ask(whichPort)); !strings.Contains(text, "port 8080") {
		t.Errorf("answer %q\n%s", text, s.script())
	}
	if !strings.Contains(s.agent.log.String()[len(log)-1:], "source=rules") { // the service is used again
		t.Errorf("the agent's log:\n%s", s.agent.log)
	}
}
