package python_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

const configuration = `
limits: {rate: 100000, burst: 100000, bytes_per_second: 1GiB, message_bytes: 1MiB, connections: 64, open_contexts: 100000, context_depth: 5}
spaces:
  "t-*":
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: ["*"]}
      carol: {token: carol-token, capabilities: ["*"]}
      planner:
        token: planner-token
        description: Answers questions.
        capabilities:
          - chat
          - reasoning/*
          - mcp.response
          - mcp.proposal
          - mcp.withdraw
          - participant.status
          - {kind: mcp.request, payload: {method: tools/list}}
          - {kind: mcp.request, payload: {method: notifications/*}}
          - {kind: mcp.request, payload: {params: {name: temperature}}}
      weather: {token: weather-token, capabilities: [mcp.request, mcp.response, participant.status]}
      slow: {token: slow-token, capabilities: [chat], limits: {rate: 20, burst: 3}}
`

// interpreterFile has the path of the Python that scripts/install-python.sh has found or
// installed.
const interpreterFile = "../../.tools/python/interpreter"

// needs checks that a Python has the parts that the tests use.
const needs = "import sys, websockets; assert sys.version_info >= (3, 11)"

// interpreter returns a Python with websockets. The one that make installed must work;
// without it, the test is skipped if the machine has none.
func interpreter(t *testing.T) string {
	t.Helper()
	testkit.Reads(t, ".", "../../schemas")
	path, err := os.ReadFile(interpreterFile)
	if err == nil {
		python := strings.TrimSpace(string(path))
		if out, err := exec.CommandContext(t.Context(), python, "-c", needs).CombinedOutput(); err != nil {
			t.Fatalf("%s names %s, which cannot be used: %v\n%s", interpreterFile, python, err, out)
		}
		return python
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, candidate := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), candidate, "-c", needs).Run() == nil {
			return candidate
		}
	}
	t.Skip("there is no Python 3.11 with websockets: scripts/install-python.sh")
	return ""
}

// script returns a command of Python with the package in its path.
func script(ctx context.Context, python string, g *meuptest.Gateway, who, space string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, python, args...)
	cmd.Env = append(os.Environ(),
		"PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1", "PYTHONIOENCODING=utf-8", "MEUP_TEST_URL=http://"+g.Addr(),
		"MEUP_URL=http://"+g.Addr(), "MEUP_SPACE="+space, "MEUP_TOKEN="+who+"-token",
	)
	return cmd
}

// TestUnittest runs the tests of the package, which need a gateway.
func TestUnittest(t *testing.T) {
	python := interpreter(t)
	g := meuptest.Start(t, configuration)
	// Each test has a deadline of its own.
	cmd := script(t.Context(), python, g, "alice", "t-unittest", "-m", "unittest", "discover", "-s", "tests")
	if !testkit.IsSlow() {
		cmd.Env = append(cmd.Env, "MEUP_TEST_CUTS=20") // of 100
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !bytes.Contains(out, []byte("\nOK")) || bytes.Contains(out, []byte("skipped")) {
		t.Errorf("not all tests ran:\n%s", out)
	}
}

// TestTypes_AreCurrent checks that the types are the ones that the schemas give.
func TestTypes_AreCurrent(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), interpreter(t), "-B", "generate.py", "--check").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestExamples runs the agent and the tools of the examples with the configuration of the
// README, and asks a question with the Go client.
func TestExamples(t *testing.T) {
	python := interpreter(t)
	g := meuptest.Start(t, meuptest.ReadmeConfig(t))
	ctx := testkit.Deadline(t)
	c, err := client.Dial(ctx, client.Options{URL: "http://" + g.Addr(), Space: "lab", Token: "alice-token"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	logs := make(map[string]*testkit.Log)
	for who, file := range map[string]string{"planner": "agent.py", "weather": "tools.py"} {
		log, stop := run(t, script(ctx, python, g, who, "lab", filepath.Join("examples", file)))
		defer stop()
		logs[who] = log
	}
	testkit.Eventually(t, "both are connected", func() bool { return len(c.Welcome().Participants) == 3 || next(t, c) })
	asked, err := c.Send(ctx, client.Chat("How cold is it?"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []protocol.Kind
	for {
		env, err := c.Receive(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if env.Seq > asked.Seq {
			kinds = append(kinds, env.Kind)
		}
		if env.From == "planner" && env.Kind == protocol.KindChat {
			if got := env.ParsePayload().Get("message").Text(); got != "In Oslo it is -3 °C." || !env.Correlation.Names(asked.ID) {
				t.Errorf("answer %q to %v", got, env.Correlation)
			}
			break
		}
	}
	want := []protocol.Kind{"reasoning.start", "reasoning.thought", "mcp.request", "mcp.response", "reasoning.conclusion", "chat"}
	if !slices.Equal(kinds, want) {
		t.Errorf("%q", kinds)
	}
	logs["planner"].Wait(t, " of alice: answered in ")
}

// next receives an envelope, so that presence is noted; it returns false.
func next(t *testing.T, c *client.Client) bool {
	t.Helper()
	if _, err := c.Receive(testkit.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	return false
}

// run starts a program, and returns its output. The returned function ends it by SIGTERM, and fails the test if it
// fails.
func run(t *testing.T, cmd *exec.Cmd) (out *testkit.Log, stop func()) {
	t.Helper()
	out = &testkit.Log{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return out, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", cmd.Args[1], err, out.String())
		}
		if got := out.String(); !strings.HasPrefix(got, "meup: joined lab as ") || !strings.HasSuffix(got, "\nmeup: stopping\n") {
			t.Errorf("%s has written:\n%s", cmd.Args[1], got)
		}
	}
}

// TestExample_Lines checks that the agent of the README is the one that is tested, and that
// it is as short as it claims.
func TestExample_Lines(t *testing.T) {
	agent, err := os.ReadFile("examples/agent.py")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(agent, []byte("\n")); n > 15 {
		t.Errorf("the agent has %d lines", n)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(readme, append([]byte("```python\n"), append(agent, "```"...)...)) {
		t.Error("the README shows another agent")
	}
}

// TestWatch runs the front end of the examples, which uses no package.
func TestWatch(t *testing.T) {
	python := interpreter(t)
	testkit.Reads(t, "../../examples/front-end")
	g := meuptest.Start(t, configuration)
	alice := g.API(t, "alice")
	send := func(c *api.Client, id, about string, e protocol.Envelope) {
		e.ID = protocol.ID(id)
		if about != "" {
			e.Correlation = protocol.CorrelateTo(protocol.ID(about))
		}
		if _, err := c.Send(testkit.Deadline(t), "t-watch", e); err != nil {
			t.Fatal(err)
		}
	}
	send(alice, "q", "", client.Chat("why?"))
	cmd, out := script(t.Context(), python, g, "alice", "t-watch", "../../examples/front-end/watch.py", "q"), &testkit.Log{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}()
	out.Wait(t, "1. alice: why?")
	g.Restart()
	planner := g.API(t, "planner")
	send(planner, "s", "q", protocol.Envelope{Kind: protocol.KindReasoningStart, Payload: []byte("{}")})
	send(planner, "c", "", protocol.Envelope{Kind: protocol.KindReasoningConclusion, Context: "s", Payload: []byte(`{"message":"because"}`)})
	send(planner, "a", "q", client.Chat("because of that"))
	out.Wait(t, "  ──  because of that")
	if text := out.String(); strings.Count(text, "why?") != 1 || !strings.Contains(text, "  ■ planner because\n  » planner because of that\n") {
		t.Error(text)
	}
}
