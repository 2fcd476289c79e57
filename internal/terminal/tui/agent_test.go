package tui_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/mcp/toolserver"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// config is a space with two people and two agents, one of whom may only read.
const config = `
limits: {rate: 100000, burst: 100000, bytes_per_second: 1GiB, message_bytes: 1MiB, connections: 64, open_contexts: 100000, context_depth: 5}
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: [chat, "reasoning/cancel", "mcp/*"]}
      mute: {token: mute-token, capabilities: ["reasoning/*"]}
      guide: {token: guide-token, capabilities: [chat, "reasoning/*", "stream/*", "mcp/*"]}
      scout:
        token: scout-token
        capabilities: [chat, "reasoning/*", "stream/*", mcp.response, mcp.proposal, mcp.withdraw]
`

func dial(t *testing.T, g *meuptest.Gateway, who string) *client.Client {
	t.Helper()
	c, err := client.Dial(testkit.Deadline(t), client.Options{
		URL: g.URL("lab"), Token: who + "-token", Backoff: client.Backoff{Min: time.Millisecond, Max: 20 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// employ runs a real agent until the test, or the returned function, ends it.
func employ(t *testing.T, g *meuptest.Gateway, who string, opts agent.Options) (stop func()) {
	t.Helper()
	c := dial(t, g, who)
	opts.Space = c
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	a := agent.New(opts)
	go func() { done <- a.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("agent %s: %v", who, err)
		}
		_ = c.Close()
	}
	t.Cleanup(stop)
	return stop
}

// handbook serves a folder of two documents.
func handbook(t *testing.T) agent.Tools {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "docs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"deploy.md":     "# How to deploy\n\nRun the pipeline.\n",
		"networking.md": "# Networking\n\nThe gateway listens on port 8080.\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server, closeDir, err := toolserver.NewDocuments(dir, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closeDir() })
	set, err := mcptools.Start(t.Context(), []mcptools.Server{{InProcess: server}}, mcptools.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	return set
}

// deciding is a planner made from a function.
type deciding func(context.Context, planner.State) (planner.Decision, error)

func (d deciding) Next(ctx context.Context, s planner.State) (planner.Decision, error) {
	return d(ctx, s)
}

// answering answers every question with the result of a function.
func answering(answer func(question string) string) deciding {
	return func(_ context.Context, s planner.State) (planner.Decision, error) {
		return planner.Decision{Action: contextwindow.Finish, Answer: answer(s.Question), Conclusion: "done"}, nil
	}
}

// calling makes parallel calls in the first step, and then answers.
func calling(answer string, calls ...contextwindow.Call) deciding {
	return func(_ context.Context, s planner.State) (planner.Decision, error) {
		if len(s.Steps) == 0 {
			return planner.Decision{Action: contextwindow.UseTools, Thought: "I look it up first.", Calls: calls}, nil
		}
		return planner.Decision{Action: contextwindow.Finish, Thought: "That is enough.", Answer: answer, Conclusion: "found"}, nil
	}
}

func call(tool, args, why string) contextwindow.Call {
	return contextwindow.Call{Tool: tool, Arguments: json.RawMessage(args), Reason: why}
}

// held waits for a signal, or for the end of the context, before it answers.
func held(sign <-chan struct{}, answer string) deciding {
	return func(ctx context.Context, s planner.State) (planner.Decision, error) {
		if len(s.Steps) == 0 {
			return planner.Decision{Action: contextwindow.UseTools, Thought: "Let me look at the folder.", Calls: []contextwindow.Call{
				call("list_directory", `{"path":"."}`, "what there is"),
			}}, nil
		}
		select {
		case <-sign:
			return planner.Decision{Action: contextwindow.Finish, Answer: answer, Conclusion: "done"}, nil
		case <-ctx.Done():
			return planner.Decision{}, ctx.Err()
		}
	}
}

func say(t *testing.T, c *client.Client, text string, corr ...protocol.ID) protocol.ID {
	t.Helper()
	env := client.Chat(text)
	env.Correlation.IDs = corr
	r, err := c.Send(testkit.Deadline(t), env)
	if err != nil {
		t.Fatal(err)
	}
	return r.ID
}
