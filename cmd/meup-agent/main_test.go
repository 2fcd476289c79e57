package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/programtest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) { programtest.Main(m, "meup-agent", main) }

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: programtest.Race})
}

const config = `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      helper: {token: helper-token, capabilities: [chat, "reasoning/*", "mcp/*"]}
`

// running is the agent as a separate process.
type running struct {
	*exec.Cmd
	log testkit.Log
}

// start starts a command of the agent as the participant helper.
func start(t *testing.T, g *meuptest.Gateway, token, command string, args ...string) *running {
	t.Helper()
	p := &running{Cmd: exec.Command(programtest.Program(t, "meup-agent"), append([]string{command, "--gateway", "ws://" + g.Addr() + "/ws", "--space", "lab", "--token-env", "HELPER"}, args...)...)}
	p.Env = append(os.Environ(), "HELPER="+token)
	p.Stdout, p.Stderr = &p.log, &p.log
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	return p
}

// together starts a client of alice and a command of the agent, and waits until the
// agent is present.
func together(t *testing.T, g *meuptest.Gateway, command string, args ...string) (context.Context, *client.Client, *running) {
	t.Helper()
	ctx := testkit.Deadline(t)
	alice, err := client.Dial(ctx, client.Options{URL: g.URL("lab"), Token: "alice-token"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = alice.Close() })
	p := start(t, g, "helper-token", command, args...)
	await(ctx, t, alice, func(env *protocol.Envelope) bool {
		var p protocol.Presence // an earlier process may leave meanwhile
		return env.Kind == protocol.KindSystemPresence && json.Unmarshal(env.Payload, &p) == nil && p.Event == protocol.PresenceJoin && p.Participant.ID == "helper"
	})
	return ctx, alice, p
}

// answer asks a question and returns the chat that answers it.
func answer(ctx context.Context, t *testing.T, alice *client.Client, question string) protocol.Envelope {
	t.Helper()
	asked, err := alice.Send(ctx, client.Chat(question))
	if err != nil {
		t.Fatal(err)
	}
	return await(ctx, t, alice, func(env *protocol.Envelope) bool {
		return env.Kind == protocol.KindChat && env.Correlation.Names(asked.ID)
	})
}

func TestRun_CleanShutdown(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"deploy.md": "# How to deploy\n", "env.md": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, alice, p := together(t, meuptest.Start(t, config), "run", "--docs", dir, "--log-format", "json", "--log-level", "debug")
	if got := answer(ctx, t, alice, "@helper what is in the folder?"); !strings.Contains(string(got.Payload), "How to deploy") {
		t.Errorf("answer %s", got.Payload)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("ended with %v\n%s", err, p.log.String())
	}
	if log := p.log.String(); strings.Contains(log, "helper-token") || strings.Contains(log, "How to deploy") || !strings.Contains(log, `"msg":"agent ready"`) ||
		!strings.Contains(log, `"level":"DEBUG","msg":"decision"`) || strings.Contains(log, `"level":"INFO","msg":"decision"`) {
		t.Errorf("log:\n%s", log)
	}
}

func await(ctx context.Context, t *testing.T, c *client.Client, ok func(*protocol.Envelope) bool) protocol.Envelope {
	t.Helper()
	for {
		env, err := c.Receive(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if ok(&env) {
			return env
		}
	}
}

func TestRun_WrongToken(t *testing.T) {
	g := meuptest.Start(t, config)
	p := start(t, g, "wrong-token", "run")
	err := p.Wait()
	if p.ProcessState.ExitCode() != program.ExitFailed || !strings.Contains(p.log.String(), "unauthorized") || strings.Contains(p.log.String(), "wrong-token") {
		t.Errorf("%v\n%s", err, p.log.String())
	}
}

func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		args []string
		want int
	}{
		{[]string{"version"}, program.ExitOK},
		{[]string{"fly"}, program.ExitUsage},
		{[]string{"run"}, program.ExitUsage},
		{[]string{"run", "--gateway", "ws://127.0.0.1:1/ws", "--space", "lab", "--token-file", "/no/such/file"}, program.ExitFailed},
	} {
		if got := run(t.Context(), program.Process(), test.args); got != test.want {
			t.Errorf("%v: exit code %d, want %d", test.args, got, test.want)
		}
	}
}

func TestServers_NoToken(t *testing.T) {
	t.Setenv("HELPER", "helper-token")
	t.Setenv("FOR_THE_SERVER", "its-key")
	f := runFlags{docs: ".", memberFlags: memberFlags{spaceFlags: spaceFlags{tokenEnv: "HELPER"}, mcp: []string{"some server"}, mcpEnv: []string{"FOR_THE_SERVER"}}}
	servers, err := f.servers()
	if err != nil {
		t.Fatal(err)
	}
	docs, err := f.docServers()
	servers = append(servers, docs...)
	if err != nil || len(servers) != 2 {
		t.Fatalf("%v, %v", servers, err)
	}
	for _, s := range servers {
		if strings.Contains(strings.Join(s.Env, "\n"), "helper-token") {
			t.Errorf("%v gets the token", s.Command)
		}
		if !slices.Contains(s.Env, "FOR_THE_SERVER=its-key") {
			t.Errorf("%v does not get the variable that is named", s.Command)
		}
	}
}
