package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/agent"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) {
	if address := os.Getenv(programVariable); address != "" {
		program(address)
	}
	testkit.Main(m)
}

const config = `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bot: {token: bot-token, capabilities: [chat, "reasoning/*", mcp.request, mcp.response, mcp.proposal, mcp.withdraw, participant.status]}
      files: {token: files-token, capabilities: [mcp.response, mcp.request, participant.status]}
`

func options(g *meuptest.Gateway, who string) client.Options {
	return client.Options{URL: g.HTTP(), Space: "lab", Token: who + "-token"}
}

// run runs a participant until the test ends, after the gateway has it.
func run(t *testing.T, asker *client.Client, who protocol.ParticipantID, run func(ctx context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { // ends with ctx
		defer close(done)
		run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	testkit.Eventually(t, string(who)+" joins", func() bool {
		return slices.ContainsFunc(asker.Welcome().Participants, func(p protocol.Participant) bool { return p.ID == who })
	})
}

// joinAlice joins the participant that asks.
func joinAlice(t *testing.T, g *meuptest.Gateway) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), options(g, "alice"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ask asks a question and returns the kinds of the envelopes up to its answer, and the answer.
func ask(t *testing.T, c *client.Client, text string) (kinds []string, answer string) {
	t.Helper()
	ctx := testkit.Deadline(t)
	sent, err := c.Send(ctx, client.Chat(text))
	if err != nil {
		t.Fatal(err)
	}
	for env, err := range c.All(ctx) {
		switch {
		case err != nil:
			t.Fatal(err)
		case env.Seq <= sent.Seq:
		case env.Kind == protocol.KindChat && env.Correlation.Names(sent.ID):
			return kinds, env.ParsePayload().Get("message").Text()
		default:
			kinds = append(kinds, string(env.Kind))
		}
	}
	return kinds, ""
}

// The examples of the README run with its configuration.
func TestExample(t *testing.T) {
	g := meuptest.Start(t, meuptest.ReadmeConfig(t))
	t.Setenv("MEUP_URL", g.HTTP())
	alice := joinAlice(t, g)
	for who, example := range map[protocol.ParticipantID]func(context.Context) error{"planner": planner, "weather": weather} {
		run(t, alice, who, func(ctx context.Context) {
			if err := example(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	kinds, answer := ask(t, alice, "@planner How cold is it?")
	if got := strings.Join(kinds, " "); answer != "In Oslo it is -3 °C." ||
		got != "reasoning.start reasoning.thought mcp.request mcp.response reasoning.conclusion" {
		t.Errorf("the answer is %q, after %s", answer, got)
	}
}

// The README shows the examples that are tested, and the agent is short.
func TestExample_Readme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"planner", "weather", "cautious"} {
		_, code, _ := strings.Cut(string(source), "\nfunc "+name+"(")
		code, _, _ = strings.Cut(code, "\n}\n")
		if !strings.Contains(string(readme), "```go\nfunc "+name+"("+code+"\n}\n```") {
			t.Errorf("the README does not show %s", name)
		}
		if n := strings.Count(code, "\n") + 1; name == "planner" && n > 15 {
			t.Errorf("%s has %d lines", name, n)
		}
	}
}

func serveFiles(ctx context.Context, options client.Options) {
	type file struct {
		Path string `json:"path"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "files"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "read", Description: "Reads a file."},
		func(_ context.Context, _ *mcp.CallToolRequest, f file) (*mcp.CallToolResult, any, error) {
			if f.Path != "deploy.md" {
				return nil, nil, errors.New("no such file")
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Run make release."}}}, nil, nil
		})
	if err := (&agent.Agent{Client: options, Tools: server}).Run(ctx); err != nil {
		stdlog.Fatal(err)
	}
}

// bot runs an agent that answers with a function.
func bot(t *testing.T, g *meuptest.Gateway, alice *client.Client, answer func(context.Context, *agent.Question) (string, error), change ...func(*agent.Agent)) {
	t.Helper()
	run(t, alice, "bot", func(ctx context.Context) {
		a := &agent.Agent{Client: options(g, "bot"), OnQuestion: answer}
		for _, c := range change {
			c(a)
		}
		if err := a.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}

// The text of an error and the value of a panic are not for the space; the error of a method
// Public is.
func TestQuestion_Errors(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := joinAlice(t, g)
	run(t, alice, "files", func(ctx context.Context) { serveFiles(ctx, options(g, "files")) })
	bot(t, g, alice, func(ctx context.Context, q *agent.Question) (string, error) {
		switch q.Text {
		case "tool":
			_, err := q.CallTool(ctx, "files", "read", map[string]string{"path": "nosuch.md"})
			return "", err
		case "panic":
			panic("secret")
		case "public":
			return "", &agent.CallError{Tool: "x", Message: "out of paper"}
		}
		return "", errors.New("secret")
	})
	for text, want := range map[string]string{"panic": "failed", "public": "the tool x failed: out of paper.", "tool": "the tool read of files failed: no such file.", "error": "internal error"} {
		kinds, answer := ask(t, alice, text)
		if !strings.Contains(answer, want) || strings.Contains(answer, "secret") || kinds[len(kinds)-1] != "reasoning.cancel" {
			t.Errorf("%s: the answer is %q, after %v", text, answer, kinds)
		}
	}
}

// The latest thought explains the calls that follow, and is shared once.
func TestQuestion_Reason(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := joinAlice(t, g)
	run(t, alice, "files", func(ctx context.Context) { serveFiles(ctx, options(g, "files")) })
	bot(t, g, alice, func(ctx context.Context, q *agent.Question) (string, error) {
		if err := q.Think(ctx, "Only the file knows."); err != nil {
			return "", err
		}
		_, err := q.CallTool(ctx, "files", "read", map[string]any{"path": "deploy.md"})
		return "read", err
	})
	ctx := testkit.Deadline(t)
	if _, err := alice.Send(ctx, client.Chat("read it")); err != nil {
		t.Fatal(err)
	}
	var thoughts []protocol.Envelope
	for env, err := range alice.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		switch env.Kind {
		case protocol.KindReasoningThought:
			thoughts = append(thoughts, env)
		case protocol.KindMCPRequest:
			if len(thoughts) != 1 || !env.Correlation.Names(thoughts[0].ID) {
				t.Errorf("the call correlates to %v after %d thoughts", env.Correlation, len(thoughts))
			}
			return
		}
	}
}

// A call without a response names a participant that is not connected. A call that is not
// allowed is proposed, or is refused.
func TestQuestion_NoResult(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(config, "mcp.request, mcp.response, mcp.proposal", "{kind: mcp.request, payload: {params: {name: read}}}, mcp.response, mcp.proposal", 1))
	alice := joinAlice(t, g)
	for name, test := range map[string]struct {
		tool        string
		noProposals bool
		want        agent.CallError
	}{
		"not connected": {"read", false, agent.CallError{Outcome: agent.Failed, Message: "no answer within 20ms (files is not connected)"}},
		"not decided":   {"write", false, agent.CallError{Outcome: agent.Expired, Message: "expired: no decision on the proposal within 20ms"}},
		"not proposed":  {"write", true, agent.CallError{Outcome: agent.Refused, Message: "not allowed: capability_violation: "}},
	} {
		t.Run(name, func(t *testing.T) {
			bot(t, g, alice, func(ctx context.Context, q *agent.Question) (string, error) {
				_, err := q.CallTool(ctx, "files", test.tool, nil)
				var failed *agent.CallError
				if !errors.As(err, &failed) || failed.Outcome != test.want.Outcome || !strings.HasPrefix(failed.Message, test.want.Message) {
					t.Errorf("got %+v", err)
				}
				_, err = q.Propose(ctx, "files", test.tool, nil)
				var proposed *agent.CallError
				if !errors.As(err, &proposed) || (proposed.Outcome == agent.Refused) != test.noProposals {
					t.Errorf("proposed: %+v", err)
				}
				return q.Text, nil
			}, func(a *agent.Agent) {
				a.CallTimeout, a.ProposalTimeout, a.NoProposals = 20*time.Millisecond, 20*time.Millisecond, test.noProposals
			})
			if _, answer := ask(t, alice, "@bot read it"); answer != "@bot read it" { // the text is as it was sent
				t.Errorf("the answer is %q", answer)
			}
		})
	}
}

// The asker learns that a tool was not called since its participant does not exist.
func TestQuestion_UnknownHost(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := joinAlice(t, g)
	bot(t, g, alice, func(ctx context.Context, q *agent.Question) (string, error) {
		_, err := q.CallTool(ctx, "ghost", "read", nil)
		return "", err
	})
	const want = "the tool read of ghost was not called: the space has no such participant."
	if _, answer := ask(t, alice, "@bot read it"); !strings.HasSuffix(answer, want) {
		t.Errorf("the answer is %q", answer)
	}
}

// A tool of the agent itself is called with a request and a response in the log; other
// participants get it from tools/list.
func TestAgent_OwnTools(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := joinAlice(t, g)
	server := mcp.NewServer(&mcp.Implementation{Name: "own"}, nil)
	type in struct{ N int }
	mcp.AddTool(server, &mcp.Tool{Name: "double"}, func(_ context.Context, _ *mcp.CallToolRequest, x in) (*mcp.CallToolResult, map[string]int, error) {
		return nil, map[string]int{"n": 2 * x.N}, nil
	})
	bot(t, g, alice, func(ctx context.Context, q *agent.Question) (string, error) {
		result, err := q.CallTool(ctx, "", "double", in{21})
		if err != nil {
			return "", err
		}
		var out struct {
			Content struct{ N int } `json:"structuredContent"`
		}
		if err := json.Unmarshal(result.JSON, &out); err != nil || out.Content.N != 42 {
			t.Errorf("%s, %v", result.JSON, err)
		}
		return result.Text, nil
	}, func(a *agent.Agent) { a.Tools = server })
	if _, answer := ask(t, alice, "double it"); answer != `{"n":42}` {
		t.Errorf("the answer is %q", answer)
	}
	list, err := alice.Request(testkit.Deadline(t), []protocol.ParticipantID{"bot"}, "tools/list", nil, client.RequestOptions{})
	if err != nil || !strings.Contains(string(list), `"double"`) {
		t.Errorf("%s, %v", list, err)
	}
}

// Of two processes one answers; the other one's context is closed.
func TestAgent_TwoProcesses(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := joinAlice(t, g)
	var calls atomic.Int64
	for range 2 {
		var log testkit.Log
		bot(t, g, alice, func(context.Context, *agent.Question) (string, error) {
			calls.Add(1)
			return "one", nil
		}, func(a *agent.Agent) { a.Client.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		log.Wait(t, "agent ready") // a process that still catches up closes what the other one has begun
	}
	const questions = 5
	for range questions {
		if _, answer := ask(t, alice, "who answers?"); answer != "one" {
			t.Errorf("the answer is %q", answer)
		}
	}
	if n := calls.Load(); n != questions {
		t.Errorf("%d questions were answered %d times", questions, n)
	}
}

// A private question is answered to its participants alone.
func TestQuestion_Private(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := joinAlice(t, g)
	bot(t, g, alice, func(ctx context.Context, q *agent.Question) (string, error) {
		if got := q.Private(); !slices.Equal(got, []protocol.ParticipantID{"alice"}) {
			t.Errorf("private to %v", got)
		}
		return "ok", q.Share(ctx, protocol.KindReasoningObservation, map[string]any{"message": "seen", "confidence": 0.5})
	})
	ctx := testkit.Deadline(t)
	draft := client.Chat("between us")
	draft.To = []protocol.ParticipantID{"bot"}
	sent, err := alice.Send(ctx, draft)
	if err != nil {
		t.Fatal(err)
	}
	for env, err := range alice.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if env.From == "bot" && env.Seq > sent.Seq && !slices.Equal(env.To, []protocol.ParticipantID{"alice"}) {
			t.Errorf("%s goes to %v", env.Kind, env.To)
		}
		if env.Kind == protocol.KindChat && env.Correlation.Names(sent.ID) {
			return
		}
	}
}

// away makes connections fail as long as refused returns true.
func away(o client.Options, refused func() bool) client.Options {
	o.Backoff = client.Backoff{Min: time.Millisecond, Max: time.Millisecond}
	o.HTTPClient = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if refused() {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}}}
	return o
}

// An agent that starts before its gateway warns once, and answers when the gateway is there.
func TestAgent_GatewayAway(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := joinAlice(t, g)
	var log testkit.Log
	var attempts atomic.Int64
	bot(t, g, alice, func(context.Context, *agent.Question) (string, error) { return "here", nil }, func(a *agent.Agent) {
		a.Client = away(a.Client, func() bool { return attempts.Add(1) <= 3 })
		a.Client.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	if _, answer := ask(t, alice, "are you there?"); answer != "here" {
		t.Errorf("the answer is %q", answer)
	}
	warned, reached := `level=WARN msg="gateway not reached; trying again" space=lab gateway=http://`+g.Addr(), `level=INFO msg="gateway reached" space=lab gateway=http://`+g.Addr()
	if got := log.String(); strings.Count(got, "not reached") != 1 || !strings.Contains(got, warned) || strings.Count(got, reached) != 1 {
		t.Errorf("the log is\n%s", got)
	}
}

// Without a logger, the warnings and that it has joined go to the default one, and nothing else does. A host of tools
// makes the calls that it missed.
func TestAgent_MissedCall(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := joinAlice(t, g)
	call := protocol.Envelope{
		Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"files"},
		Payload: []byte(`{"id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"deploy.md"}}}`),
	}
	sent, err := alice.Send(testkit.Deadline(t), call)
	if err != nil {
		t.Fatal(err)
	}
	var log testkit.Log
	former := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer func() {
		slog.SetDefault(former)
		stdlog.SetOutput(os.Stderr)
	}()
	var attempts atomic.Int64
	run(t, alice, "files", func(ctx context.Context) {
		serveFiles(ctx, away(options(g, "files"), func() bool { return attempts.Add(1) <= 2 }))
	})
	for env, err := range alice.All(testkit.Deadline(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if env.Correlation.Names(sent.ID) && env.Kind == protocol.KindMCPResponse {
			if !strings.Contains(string(env.Payload), "Run make release.") {
				t.Errorf("the response is %s", env.Payload)
			}
			break
		}
	}
	if got := log.String(); strings.Count(got, "level=WARN") != 1 || strings.Count(got, "gateway reached") != 1 || strings.Count(got, "msg=joined space=lab participant=files gateway="+g.HTTP()) != 1 || strings.Count(got, "\n") != 3 {
		t.Errorf("the log is\n%s", got)
	}
}

// Run returns nil if its context ends while it waits for the gateway.
func TestAgent_EndsWhileGatewayIsAway(t *testing.T) {
	ctx, cancel := context.WithCancel(testkit.Deadline(t))
	defer cancel()
	var attempts atomic.Int64
	a := agent.Agent{OnQuestion: nothing, Client: away(client.Options{URL: "http://127.0.0.1:1", Space: "lab", Token: "x"}, func() bool {
		if attempts.Add(1) == 3 {
			cancel()
		}
		return true
	})}
	a.Client.Logger = slog.New(slog.DiscardHandler)
	if err := a.Run(ctx); err != nil || attempts.Load() != 3 {
		t.Errorf("ended with %v after %d attempts", err, attempts.Load())
	}
}

// A refusal that stays ends Run.
func TestAgent_Refused(t *testing.T) {
	g := meuptest.Start(t, config+"  den:\n    participants:\n      alice: {token: alice-token, capabilities: []}\n")
	for status, o := range map[int]client.Options{
		http.StatusUnauthorized: {Space: "lab", Token: "wrong-token"},
		http.StatusForbidden:    {Space: "den", Token: "bot-token"},
		http.StatusNotFound:     {Space: "attic", Token: "bot-token"},
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			o.URL = g.HTTP()
			err := (&agent.Agent{Client: o, OnQuestion: nothing}).Run(testkit.Deadline(t))
			var refused *client.DialError
			if !errors.As(err, &refused) || refused.Status != status {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// Run warns of the capabilities that the agent needs and does not have.
func TestAgent_MissingCapabilities(t *testing.T) {
	g := meuptest.Start(t, strings.ReplaceAll(config, ", participant.status]", "]"))
	alice := joinAlice(t, g)
	server := mcp.NewServer(&mcp.Implementation{Name: "own"}, nil)
	for who, a := range map[protocol.ParticipantID]*agent.Agent{
		"bot": {OnQuestion: nothing}, "files": {Tools: server},
	} {
		ready := map[protocol.ParticipantID]string{"bot": "agent ready", "files": "bridge ready"}[who]
		var log testkit.Log
		a.Client = options(g, string(who))
		a.Client.Logger = slog.New(slog.NewTextHandler(&log, nil))
		run(t, alice, who, func(ctx context.Context) {
			if err := a.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		log.Wait(t, ready)
		if got := log.String(); strings.Count(got, "capability missing") != 1 || !strings.Contains(got, "capability=participant.status") {
			t.Errorf("the log of %s is\n%s", who, got)
		}
	}
}

func TestAgent_Faults(t *testing.T) {
	for name, test := range map[string]struct {
		agent agent.Agent
		want  string
	}{
		"nothing to do":   {agent.Agent{Client: client.Options{URL: "http://127.0.0.1:1", Token: "x"}}, "neither OnQuestion nor Tools"},
		"no token":        {agent.Agent{Client: client.Options{URL: "http://127.0.0.1:1"}, OnQuestion: nothing}, "token"},
		"an unknown mode": {agent.Agent{Client: client.Options{URL: "http://127.0.0.1:1", Token: "x"}, OnQuestion: nothing, Answers: "all"}, `unknown mode "all"`},
		"an unknown URL":  {agent.Agent{Client: client.Options{URL: ":", Token: "x"}, OnQuestion: nothing}, "gateway URL"},
		"no scheme":       {agent.Agent{Client: client.Options{URL: "example.org/ws", Token: "x"}, OnQuestion: nothing}, "gateway URL"},
		"another scheme":  {agent.Agent{Client: client.Options{URL: "ftp://127.0.0.1:1", Token: "x"}, OnQuestion: nothing}, "gateway URL"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := test.agent.Run(testkit.Deadline(t)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func nothing(context.Context, *agent.Question) (string, error) { return "", nil }

// programVariable makes the test binary a program with Main. Its value is the address of the
// gateway.
const programVariable = "MEUP_TEST_AGENT"

// program is an agent as main would run it.
func program(address string) {
	a := agent.Agent{Client: client.Options{URL: address, Space: "lab", Token: os.Getenv("BOT_TOKEN")}}
	a.OnQuestion = func(ctx context.Context, q *agent.Question) (string, error) {
		switch q.Text {
		case "secret":
			return "yes", nil
		case "raise":
			return "", errors.New("a defect")
		case "fail":
			return "", &agent.CallError{Tool: "x", Message: "out of\n\x1b[2Jpaper"}
		case "panic":
			panic("secret")
		}
		_, err := q.Propose(ctx, "files", "write", nil)
		return "", err
	}
	a.Main()
}

func startProgram(t *testing.T, address, token string) (cmd *exec.Cmd, log *testkit.Log) {
	t.Helper()
	cmd, log = exec.CommandContext(testkit.Deadline(t), os.Args[0]), &testkit.Log{}
	cmd.Env, cmd.Stderr = append(os.Environ(), programVariable+"="+address, "BOT_TOKEN="+token), log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, log
}

// A signal ends Main with its exit status, after the proposals and the contexts were closed.
func TestMain_Signals(t *testing.T) {
	for signal, status := range map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 0} {
		t.Run(signal.String(), func(t *testing.T) {
			g := meuptest.Start(t, config)
			alice := joinAlice(t, g)
			cmd, log := startProgram(t, g.HTTP(), "bot-token")
			log.Wait(t, "meup: joined lab as bot at "+g.HTTP())
			ctx := testkit.Deadline(t)
			draft := client.Chat("may I?")
			draft.To = []protocol.ParticipantID{"bot"}
			sent, err := alice.Send(ctx, draft)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for env, err := range alice.All(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				if env.From == "bot" && env.Seq > sent.Seq {
					kinds = append(kinds, string(env.Kind))
				}
				if env.Kind == protocol.KindMCPProposal {
					if err := cmd.Process.Signal(signal); err != nil {
						t.Fatal(err)
					}
				}
				if env.Kind == protocol.KindReasoningCancel {
					break
				}
			}
			_ = cmd.Wait()
			if got := strings.Join(kinds, " "); got != "reasoning.start mcp.proposal mcp.withdraw reasoning.cancel" {
				t.Errorf("it sends %s", got)
			}
			question := "meup: question " + string(sent.ID) + " of alice"
			want := "meup: joined lab as bot at " + g.HTTP() + "\n" + question + " begins\nmeup: stopping: 1 question stays open until the next start\n" + question + ": not answered after "
			got, isPrefixed := strings.CutPrefix(log.String(), want)
			if cmd.ProcessState.ExitCode() != status || !isPrefixed || strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, " s: the agent is shutting down\n") {
				t.Errorf("it ends with %v:\n%s", cmd.ProcessState, log)
			}
		})
	}
}

// The lines of questions have no text of them, and no control characters of others. Only
// the stack of a panic has several lines.
func TestMain_Questions(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := joinAlice(t, g)
	cmd, log := startProgram(t, g.HTTP(), "bot-token")
	log.Wait(t, "meup: joined")
	for text, want := range map[string]string{
		"secret": ": answered in N s", "raise": ": not answered after N s: a defect", "panic": ": not answered after N s: OnQuestion panicked",
		"fail": ": not answered after N s: call x: out of  [2Jpaper",
	} {
		ctx := testkit.Deadline(t)
		draft := client.Chat(text)
		draft.To = []protocol.ParticipantID{"bot"}
		sent, err := alice.Send(ctx, draft)
		if err != nil {
			t.Fatal(err)
		}
		for env, err := range alice.All(ctx) {
			if err != nil || env.From == "bot" && env.Kind == protocol.KindChat {
				break
			}
		}
		question := "meup: question " + string(sent.ID) + " of alice"
		log.Wait(t, question+": ")
		got := regexp.MustCompile(`\d+\.\d s`).ReplaceAllString(log.String(), "N s")
		if !strings.Contains(got, question+" begins\n"+question+want+"\n") {
			t.Errorf("%s: it writes\n%s", text, got)
		}
	}
	if got := log.String(); strings.Contains(got, "secret") || !strings.Contains(got, "\nmeup: OnQuestion panicked (string):\ngoroutine ") {
		t.Errorf("it writes\n%s", got)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// A gateway that is away longer than ConnectTimeout ends Run.
func TestAgent_ConnectTimeout(t *testing.T) {
	for timeout := 500 * time.Millisecond; ; timeout *= 2 {
		var log testkit.Log
		a := agent.Agent{OnQuestion: nothing, ConnectTimeout: timeout, Client: away(client.Options{URL: "http://127.0.0.1:1", Space: "lab", Token: "x"}, func() bool { return true })}
		a.Client.Backoff = client.Backoff{Min: 2 * timeout, Max: 2 * timeout, Rand: func() float64 { return 0.9 }} // one attempt
		a.Client.Logger = slog.New(slog.NewTextHandler(&log, nil))
		err := a.Run(testkit.Deadline(t))
		got := log.String()
		if got == "" && timeout < testkit.Patience {
			continue // a busy machine may need longer for the attempt
		}
		want := fmt.Sprintf("run agent: the gateway at http://127.0.0.1:1 was not reached within %g s (connection refused: ", timeout.Seconds())
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("ended with %v", err)
		}
		if !regexp.MustCompile(` in=(\d+ms|\d+(\.\d{1,3})?s)\n$`).MatchString(got) {
			t.Errorf("the log is %s", got)
		}
		return
	}
}

// Main reports an error on one line, and ends with another status.
func TestMain_Fails(t *testing.T) {
	g := meuptest.Start(t, config)
	for token, want := range map[string]string{
		"":      "the token is empty: is the variable with the token set?",
		"wrong": "meup: the gateway at " + g.HTTP() + " does not know this token (unauthorized): is it the participant's token of tokens.env?\n",
	} {
		cmd, log := startProgram(t, g.HTTP(), token)
		_ = cmd.Wait()
		if got := log.String(); cmd.ProcessState.ExitCode() != 1 || !strings.HasPrefix(got, "meup: ") || !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("it ends with %v:\n%s", cmd.ProcessState, got)
		}
	}
}

// Ctrl-C ends Main also while the gateway is away, which is one line more.
func TestMain_GatewayAway(t *testing.T) {
	cmd, log := startProgram(t, "http://127.0.0.1:1", "x")
	log.Wait(t, "meup: waiting for the gateway at http://127.0.0.1:1: connection refused: ")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got := log.String(); cmd.ProcessState.ExitCode() != 130 || strings.Count(got, "\n") != 2 || !strings.HasSuffix(got, "\nmeup: stopping\n") {
		t.Errorf("it ends with %v:\n%s", cmd.ProcessState, got)
	}
}
