package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// idle requests the status of agents until none has work, and returns the
// envelopes in between. Every earlier envelope has been received by then.
func idle(t *testing.T, c *client.Client, agents ...protocol.ParticipantID) []protocol.Envelope {
	t.Helper()
	var all []protocol.Envelope
	for _, id := range agents {
		for state := ""; state != "idle"; {
			receipt, err := c.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindParticipantRequestStatus, To: []protocol.ParticipantID{id}})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, conversation(t, c, func(env *protocol.Envelope) bool {
				return env.Kind == protocol.KindParticipantStatus && env.Correlation.Names(receipt.ID)
			})...)
			state, _ = decode(t, last(all))["status"].(string)
		}
	}
	return all
}

// payloads returns the payloads of a conversation, one per line.
func payloads(all []protocol.Envelope) string {
	var b strings.Builder
	for i := range all {
		b.Write(append(all[i].Payload, '\n'))
	}
	return b.String()
}

// responses returns the decoded responses of a conversation.
func responses(t *testing.T, all []protocol.Envelope) []map[string]any {
	t.Helper()
	var list []map[string]any
	for i := range all {
		if all[i].Kind == protocol.KindMCPResponse {
			list = append(list, decode(t, &all[i]))
		}
	}
	return list
}

func TestToolResult_TenMegabytes(t *testing.T) {
	const size = 10 << 20
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	big := oneTool(t, "search_much", func(context.Context) (string, error) { return strings.Repeat("0123456789abcde\n", size/16), nil })
	employ(t, g, "planner", agent.Options{Tools: big, OwnToolsOnly: true, Planner: deciding(func(ctx context.Context, s planner.State) (planner.Decision, error) {
		d, err := once(callOf("search_much", `{"query":"x"}`))(ctx, s)
		if len(s.Steps) > 0 {
			r := s.Steps[0].Results[0]
			d.Answer = fmt.Sprintf("%s, %d bytes", r.Outcome, len(r.Text))
		}
		return d, err
	})})
	for range 2 { // it continues
		question := ask(t, alice, "how much?")
		all := conversation(t, alice, answerTo(question))
		checkShape(t, question, all)
		if text := decode(t, last(all))["message"]; text != fmt.Sprintf("success, %d bytes", size) {
			t.Errorf("answer %q", text)
		}
		for _, p := range responses(t, all) {
			result, _ := p["result"].(map[string]any)
			meta := fmt.Sprint(result["_meta"])
			if body := fmt.Sprint(result["content"]); len(body) > 256<<10 || !strings.Contains(body, "\n[cut: the first ") || !strings.Contains(meta, "meup/truncated") {
				t.Errorf("a response of %d characters, marked %s", len(body), meta)
			}
		}
	}
}

// crashingEnv makes this test binary an MCP server with a tool that terminates
// it.
const crashingEnv = "MEUP_TEST_CRASHING_SERVER"

func TestMCPServerThatCrashes(*testing.T) {
	if os.Getenv(crashingEnv) == "" {
		return // part of the test below
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "crashing", Version: "1"}, nil)
	type query struct {
		Query string `json:"query"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "search_crash"}, func(context.Context, *mcp.CallToolRequest, query) (*mcp.CallToolResult, any, error) {
		os.Exit(3)
		return nil, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "search_well"}, func(context.Context, *mcp.CallToolRequest, query) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "found it"}}}, nil, nil
	})
	_ = server.Run(context.Background(), &mcp.StdioTransport{})
	os.Exit(0)
}

func crashingServer(t *testing.T) mcptools.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcptools.Server{Command: []string{self, "-test.run=^TestMCPServerThatCrashes$"}, Env: append(os.Environ(), crashingEnv+"=1")}
}

func crashing(t *testing.T) agent.Tools { return started(t, crashingServer(t)) }

// crashed returns the tools of a server that has ended and is not restarted within
// the timeout of a call.
func crashed(t *testing.T) agent.Tools {
	t.Helper()
	set, err := mcptools.Start(t.Context(), []mcptools.Server{crashingServer(t)}, mcptools.Options{CallTimeout: 100 * time.Millisecond, MinBackoff: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	testkit.Eventually(t, "the server is gone", func() bool {
		_, err := set.Call(t.Context(), "search_crash", []byte(`{"query":"x"}`))
		return errors.Is(err, mcptools.ErrServerGone)
	})
	return set
}

// blocking returns a tool that blocks until its call times out.
func blocking(t *testing.T, timeout time.Duration) agent.Tools {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "hanging", Version: "1"}, nil)
	type query struct {
		Query string `json:"query"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "search_slowly"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ query) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	set, err := mcptools.Start(t.Context(), []mcptools.Server{{InProcess: server}}, mcptools.Options{CallTimeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	return set
}

func TestToolErrors(t *testing.T) {
	for name, test := range map[string]struct {
		tools        agent.Tools
		call, with   string
		want, answer string // in the response, and for the planner
	}{
		"the tool reports an error": {
			oneTool(t, "search_faults", func(context.Context) (string, error) { return "", errors.New("out of paper") }), "search_faults", `{"query":"x"}`,
			`"isError":true`, "error | out of paper\n",
		},
		"the tool hangs": {
			blocking(t, 50*time.Millisecond), "search_slowly", `{"query":"x"}`,
			`"error":{"code":-32001,"message":"the tool took too long"}`, "error | the tool took too long\n",
		},
		"there is no tool": {
			blocking(t, time.Minute), "search_else", `{"query":"x"}`,
			`"error":{"code":-32602,"message":"no such tool"}`, "error | no such tool\n",
		},
		"the arguments are wrong": {
			blocking(t, time.Minute), "search_slowly", `{"query":7}`,
			`"isError":true`, "error | validating \"arguments\"",
		},
		"the server crashes": {
			crashing(t), "search_crash", `{"query":"x"}`,
			`"error":{"code":-32000,"message":"`, "error | ",
		},
		"the server is not restarted in time": {
			crashed(t), "search_well", `{"query":"x"}`,
			`"error":{"code":-32000,"message":"the tool server is gone"}`, "error | the tool server is gone\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := meuptest.Start(t, config)
			alice := join(t, g, "alice")
			employ(t, g, "planner", agent.Options{Tools: test.tools, OwnToolsOnly: true, Planner: once(callOf(test.call, test.with))})
			for range 2 { // it continues
				question := ask(t, alice, "well?")
				all := conversation(t, alice, answerTo(question))
				checkShape(t, question, all)
				text, _ := decode(t, last(all))["message"].(string)
				if !strings.HasPrefix(text, test.answer) || !strings.Contains(payloads(all), test.want) {
					t.Errorf("answer %q\n%s", text, script(all))
				}
			}
		})
	}
}

func TestToolServer_Restart(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	calls := []contextwindow.Call{callOf("search_crash", `{"query":"x"}`), callOf("search_well", `{"query":"x"}`)}
	employ(t, g, "planner", agent.Options{Tools: crashing(t), OwnToolsOnly: true, Planner: deciding(func(_ context.Context, s planner.State) (planner.Decision, error) {
		if n := len(s.Steps); n < len(calls) {
			return planner.Decision{Action: contextwindow.UseTools, Calls: calls[n : n+1]}, nil
		}
		first, second := s.Steps[0].Results[0], s.Steps[1].Results[0]
		return planner.Decision{Action: contextwindow.Finish, Answer: first.Error + " | " + second.Text, Conclusion: "done"}, nil
	})})
	question := ask(t, alice, "well?")
	all := conversation(t, alice, answerTo(question))
	checkShape(t, question, all)
	if text, _ := decode(t, last(all))["message"].(string); !strings.Contains(text, "gone") || !strings.HasSuffix(text, " | found it") {
		t.Errorf("answer %q\n%s", text, script(all))
	}
}

// naming answers every question with a question to another agent.
func naming(other string) deciding {
	return func(context.Context, planner.State) (planner.Decision, error) {
		return planner.Decision{Action: contextwindow.Finish, Answer: "@" + other + " what do you think?", Conclusion: "asked"}, nil
	}
}

func TestTwoAgents_Mentions(t *testing.T) {
	for _, hops := range []int{1, 2, 5} {
		t.Run(fmt.Sprint(hops, " hops"), func(t *testing.T) {
			g := meuptest.Start(t, strings.Replace(config, `critic-token, capabilities: [`, `critic-token, capabilities: [participant.status, `, 1))
			alice := join(t, g, "alice")
			employ(t, g, "planner", agent.Options{MaxHops: hops, Planner: naming("critic"), OwnToolsOnly: true})
			employ(t, g, "critic", agent.Options{MaxHops: hops, Planner: naming("planner"), OwnToolsOnly: true})
			first := ask(t, alice, "@planner what do you think?")
			chats := 0
			all := conversation(t, alice, func(env *protocol.Envelope) bool {
				if env.Kind == protocol.KindChat && env.From != "alice" {
					chats++
				}
				return chats == hops
			})
			rest := idle(t, alice, "planner", "critic", "planner")
			for i := range rest {
				if rest[i].Kind == protocol.KindChat || rest[i].Kind == protocol.KindReasoningStart {
					t.Errorf("%d hops: %s goes on", hops, rest[i].From)
				}
			}
			if n := answerCount(append(all, rest...), first); n != 1 {
				t.Errorf("%d hops: %d answers to alice", hops, n)
			}
		})
	}
}

// The questions of an agent whose chats correlate to nothing cannot be counted
// by correlation.
func TestAgentQuestions_Bounded(t *testing.T) {
	g := meuptest.Start(t, config)
	alice, critic := join(t, g, "alice"), join(t, g, "critic")
	employ(t, g, "planner", agent.Options{MaxQuestions: 1, OwnToolsOnly: true})
	count := func() int {
		n := 0
		for range 20 {
			ask(t, critic, "@planner hello")
		}
		for _, env := range idle(t, alice, "planner") {
			if env.From == "planner" && env.Kind == protocol.KindChat {
				n++
			}
		}
		return n
	}
	if n := count(); n != 16 {
		t.Errorf("%d answers", n)
	}
	ask(t, alice, "a person speaks")
	if n := count(); n != 16 {
		t.Errorf("%d answers after a person has spoken", n)
	}
}
