package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/mcp/toolserver"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// config is a space with two people and two agents.
const config = `
limits: {rate: 100000, burst: 100000, bytes_per_second: 1GiB, message_bytes: 1MiB, connections: 64, open_contexts: 100000, context_depth: 5}
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      carol: {token: carol-token, capabilities: ["*"]}
      planner: {token: planner-token, capabilities: [chat, "reasoning/*", "mcp/*", "participant/*"]}
      critic: {token: critic-token, capabilities: [chat, "reasoning/*", "mcp/*"]}
`

func join(t *testing.T, g *meuptest.Gateway, who string, since ...protocol.Seq) *client.Client {
	t.Helper()
	var opts client.Options
	if len(since) > 0 {
		opts.Since = client.After(since[0])
	}
	return dial(t, g, who, opts)
}

// joinHost joins as a participant that serves tools.
func joinHost(t *testing.T, g *meuptest.Gateway, who string) *client.Client {
	t.Helper()
	return dial(t, g, who, client.Options{ServesTools: true})
}

func dial(t *testing.T, g *meuptest.Gateway, who string, opts client.Options) *client.Client {
	t.Helper()
	opts.URL, opts.Token = g.URL("lab"), who+"-token"
	opts.Backoff = client.Backoff{Min: time.Millisecond, Max: 20 * time.Millisecond}
	c, err := client.Dial(testkit.Deadline(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// employ runs an agent until the test ends or the returned function is called.
func employ(t *testing.T, g *meuptest.Gateway, who string, opts agent.Options) (stop func()) {
	t.Helper()
	if opts.Space == nil {
		opts.Space = join(t, g, who)
	}
	if opts.CatchUp != "" && opts.History == nil {
		opts.History = g.API(t, who)
	}
	opts.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
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
		if c, ok := opts.Space.(io.Closer); ok {
			_ = c.Close()
		}
	}
	t.Cleanup(stop)
	return stop
}

// after returns time.After, with a channel of the test in place of one duration.
func after(d time.Duration, fire <-chan time.Time) func(time.Duration) <-chan time.Time {
	return func(other time.Duration) <-chan time.Time {
		if other == d {
			return fire
		}
		return time.After(other)
	}
}

// atOnce returns time.After, with a duration that has passed.
func atOnce(d time.Duration) func(time.Duration) <-chan time.Time {
	passed := make(chan time.Time)
	close(passed)
	return after(d, passed)
}

// tools serves a folder, with our own server or with the reference server.
func tools(t *testing.T, files map[string]string) agent.Tools {
	t.Helper()
	dir := docs(t, files)
	server, closeDir, err := toolserver.NewDocuments(dir, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closeDir() })
	return started(t, mcptools.Server{InProcess: server})
}

func started(t *testing.T, server mcptools.Server) *mcptools.Set {
	t.Helper()
	// A busy machine needs long for a huge result.
	set, err := mcptools.Start(t.Context(), []mcptools.Server{server}, mcptools.Options{CallTimeout: 10 * testkit.Patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	return set
}

func docs(t *testing.T, files map[string]string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "docs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var handbook = map[string]string{
	"deploy.md":     "# How to deploy\n\nRun the pipeline.\n",
	"networking.md": "# Networking\n\nThe gateway listens on port 8080.\n",
}

func ask(t *testing.T, c *client.Client, text string, to ...protocol.ParticipantID) protocol.ID {
	t.Helper()
	chat := client.Chat(text)
	chat.To = to
	receipt, err := c.Send(testkit.Deadline(t), chat)
	if err != nil {
		t.Fatal(err)
	}
	return receipt.ID
}

// conversation receives until an envelope fits, and returns the whole log.
func conversation(t *testing.T, c *client.Client, until func(*protocol.Envelope) bool) []protocol.Envelope {
	t.Helper()
	var all []protocol.Envelope
	for {
		env, err := c.Receive(testkit.Deadline(t))
		if err != nil {
			t.Fatalf("%v, after\n%s", err, script(all))
		}
		if env.Seq == 0 || isInterview(&env) {
			continue
		}
		all = append(all, env)
		if until(&env) {
			return all
		}
	}
}

// isInterview reports whether an envelope only requests a list of tools.
func isInterview(env *protocol.Envelope) bool {
	return env.Kind == protocol.KindMCPRequest && strings.Contains(string(env.Payload), `"tools/list"`)
}

func answerTo(id protocol.ID) func(*protocol.Envelope) bool {
	return func(env *protocol.Envelope) bool {
		return env.Kind == protocol.KindChat && env.Correlation.Names(id)
	}
}

// script summarizes a conversation.
func script(all []protocol.Envelope) string {
	var b strings.Builder
	for _, env := range all {
		fmt.Fprintf(&b, "%d %s %s → %v in %q: %.300s\n", env.Seq, env.From, env.Kind, env.To, env.Context, env.Payload)
	}
	return b.String()
}

func decode(t *testing.T, env *protocol.Envelope) map[string]any {
	t.Helper()
	var p map[string]any
	if err := json.Unmarshal(env.Payload, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func last(all []protocol.Envelope) *protocol.Envelope { return &all[len(all)-1] }

// checkShape checks the structure of a finished conversation: the start at top
// level correlates to the question, everything else is inside; each request
// correlates to the thought that explains it, each response to its request;
// then follow the conclusion and the answer.
func checkShape(t *testing.T, question protocol.ID, all []protocol.Envelope) {
	t.Helper()
	var context protocol.ContextPath
	reasons := make(map[protocol.ID]string)  // thoughts by the tool that they explain
	requests := make(map[protocol.ID]string) // without a response yet
	concluded := false
	for i := range all {
		env := &all[i]
		if env.Kind == protocol.KindMCPResponse {
			if requests[env.Correlation.First()] == "" || decode(t, env)["id"] != string(env.Correlation.First()) {
				t.Errorf("a response answers %q", env.Correlation.First())
			}
			delete(requests, env.Correlation.First())
		}
		if env.From != "planner" {
			continue
		}
		p := decode(t, env)
		switch env.Kind {
		case protocol.KindReasoningStart:
			if env.Context != "" || env.Correlation.First() != question {
				t.Errorf("start in %q answers %q", env.Context, env.Correlation.First())
			}
			context = protocol.ContextPath(env.ID)
			continue
		case protocol.KindChat:
			if env.Context != "" || !concluded || env.Correlation.First() != question || len(requests) > 0 {
				t.Errorf("answer in %q, concluded %t, %d requests open", env.Context, concluded, len(requests))
			}
			continue
		case protocol.KindReasoningThought:
			if tool, ok := p["tool_name"].(string); ok {
				reasons[env.ID] = tool
			}
		case protocol.KindMCPRequest:
			name := p["params"].(map[string]any)["name"].(string)
			if reasons[env.Correlation.First()] != name {
				t.Errorf("the call of %s answers the reason for %q", name, reasons[env.Correlation.First()])
			}
			requests[env.ID] = name
		case protocol.KindReasoningConclusion:
			concluded = true
		}
		if env.Context != context || context == "" {
			t.Errorf("%s in %q, want %q", env.Kind, env.Context, context)
		}
	}
	if !concluded {
		t.Error("no conclusion")
	}
}

func TestReasoning_IsPublished(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Tools: tools(t, handbook)})
	q := ask(t, alice, "what is in the docs folder?")
	all := conversation(t, alice, answerTo(q))
	checkShape(t, q, all)
	text := decode(t, last(all))["message"].(string)
	if !strings.Contains(text, "2 files") || !strings.Contains(text, "`deploy.md`: How to deploy") {
		t.Errorf("answer %q\n%s", text, script(all))
	}
	groups := make(map[any]int)
	for i := range all {
		if group, ok := decode(t, &all[i])["parallel_group"]; ok {
			groups[group]++
		}
	}
	if fmt.Sprint(groups) != "map[0:2]" {
		t.Errorf("parallel groups %v\n%s", groups, script(all))
	}
}

func TestWithTheFilesystemServerOfTheReferenceImplementation(t *testing.T) {
	path := testkit.FilesystemServer(t)
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Tools: started(t, mcptools.Server{Command: []string{path, docs(t, handbook)}})})
	q := ask(t, alice, "Which port does the gateway listen on?")
	all := conversation(t, alice, answerTo(q))
	checkShape(t, q, all)
	if text := decode(t, last(all))["message"].(string); !strings.Contains(text, "port 8080") {
		t.Errorf("answer %q\n%s", text, script(all))
	}
}

func TestRefusedToolCallIsAnOutcome(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(config, `[chat, "reasoning/*", "mcp/*", "participant/*"]`,
		`[chat, "reasoning/*", mcp.response, {kind: mcp.request, payload: {params: {name: "list_*"}}}]`, 1))
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Tools: tools(t, handbook)})
	q := ask(t, alice, "what is in deploy.md?")
	all := conversation(t, alice, answerTo(q))
	checkShape(t, q, all)
	text := decode(t, last(all))["message"].(string)
	if !strings.Contains(text, "`read_text_file` failed: not allowed: capability_violation") {
		t.Errorf("answer %q", text)
	}
	if strings.Contains(script(all), `"name":"read_text_file"`) {
		t.Errorf("the call happened:\n%s", script(all))
	}
}

func TestMayNotReason(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(config, `[chat, "reasoning/*", "mcp/*", "participant/*"]`, `[chat]`, 1))
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Tools: tools(t, handbook)})
	q := ask(t, alice, "what is in the docs folder?")
	all := conversation(t, alice, answerTo(q))
	if text := decode(t, last(all))["message"].(string); !strings.Contains(text, "capability_violation") {
		t.Errorf("answer %q", text)
	}
}

func TestPrivateQuestionStaysPrivate(t *testing.T) {
	g := meuptest.Start(t, config)
	alice, carol := join(t, g, "alice"), join(t, g, "carol")
	employ(t, g, "planner", agent.Options{Tools: tools(t, handbook)})
	q := ask(t, alice, "what is in the docs folder?", "planner")
	all := conversation(t, alice, answerTo(q))
	checkShape(t, q, all)
	public := ask(t, carol, "@planner hello")
	seen := conversation(t, carol, answerTo(public))
	for _, env := range seen {
		if env.Context != "" || env.Correlation.Names(q) {
			if env.From == "planner" && !env.Correlation.Names(public) && env.Context == protocol.ContextPath(all[1].ID) {
				t.Errorf("carol saw %s", env.Kind)
			}
		}
		if env.ID == q || env.Correlation.Names(q) {
			t.Errorf("carol saw %s %s", env.Kind, env.Payload)
		}
	}
}

func TestConcurrentQuestionsHaveContextsOfTheirOwn(t *testing.T) {
	const count = 6
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Tools: tools(t, handbook), MaxQuestions: 3})
	open := make(map[protocol.ID]bool)
	for range count {
		open[ask(t, alice, "what is in the docs folder?")] = true
	}
	starts := make(map[protocol.ID]bool)
	all := conversation(t, alice, func(env *protocol.Envelope) bool {
		if env.From == "planner" && env.Kind == protocol.KindReasoningStart {
			starts[env.ID] = true
		}
		if env.From == "planner" && env.Kind == protocol.KindChat {
			delete(open, env.Correlation.First())
		}
		return len(open) == 0
	})
	if len(starts) != count {
		t.Errorf("%d contexts for %d questions\n%s", len(starts), count, script(all))
	}
}

func TestNoTools(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{})
	q := ask(t, alice, "what is in the docs folder?")
	all := conversation(t, alice, answerTo(q))
	checkShape(t, q, all)
}

func TestSurvivesARestartOfTheGateway(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Tools: tools(t, handbook)})
	g.Restart()
	q := ask(t, alice, "what is in the docs folder?")
	g.Restart()
	all := conversation(t, alice, answerTo(q))
	checkShape(t, q, all)
}

func TestAgent_EndsWhenKicked(t *testing.T) {
	g := meuptest.Start(t, config)
	alice, c := join(t, g, "alice"), join(t, g, "planner")
	done := make(chan error, 1)
	go func() { done <- agent.New(agent.Options{Space: c}).Run(testkit.Deadline(t)) }()
	if _, err := alice.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindSpaceKick, Payload: []byte(`{"participant_id":"planner","reason":"x"}`)}); err != nil {
		t.Fatal(err)
	}
	var closed *client.CloseError
	if err := <-done; !errors.As(err, &closed) || closed.Code != protocol.CloseKicked {
		t.Errorf("ended with %v", err)
	}
}

func TestForeignRequests_Declined(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{})
	to := []protocol.ParticipantID{"planner"}
	_, err := alice.Request(testkit.Deadline(t), to, "tools/list", nil, client.RequestOptions{})
	var rpc *client.RPCError
	if !errors.As(err, &rpc) || rpc.Code != -32601 {
		t.Errorf("tools/list: %v", err)
	}
	if res, err := alice.Request(testkit.Deadline(t), to, "ping", nil, client.RequestOptions{}); err != nil || string(res) != "{}" {
		t.Errorf("ping: %s, %v", res, err)
	}
	// The envelope's id replaces a JSON-RPC id that a MEW client omits.
	receipt, err := alice.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindMCPRequest, To: to, Payload: []byte(`{"method":"ping"}`)})
	if err != nil {
		t.Fatal(err)
	}
	for {
		env, err := alice.Receive(testkit.Deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		if !env.Correlation.Names(receipt.ID) || env.Kind != protocol.KindMCPResponse {
			continue
		}
		if want := `{"jsonrpc":"2.0","id":"` + string(receipt.ID) + `","result":{}}`; string(env.Payload) != want {
			t.Errorf("ping without an id: %s, want %s", env.Payload, want)
		}
		break
	}
}
