package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// slowTools is a real MCP server with one tool, which blocks until its call is
// cancelled.
func slowTools(t *testing.T) (tools agent.Tools, hanging, cancelled chan struct{}) {
	t.Helper()
	hanging, cancelled = make(chan struct{}, 8), make(chan struct{}, 8)
	return oneTool(t, "search_slowly", func(ctx context.Context) (string, error) {
		hanging <- struct{}{}
		<-ctx.Done()
		cancelled <- struct{}{}
		return "", ctx.Err()
	}), hanging, cancelled
}

func oneTool(t *testing.T, name string, run func(context.Context) (string, error)) agent.Tools {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
	type query struct {
		Query string `json:"query"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: name}, func(ctx context.Context, _ *mcp.CallToolRequest, _ query) (*mcp.CallToolResult, any, error) {
		text, err := run(ctx)
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	return started(t, mcptools.Server{InProcess: server})
}

func send(t *testing.T, c *client.Client, env protocol.Envelope) {
	t.Helper()
	if _, err := c.Send(testkit.Deadline(t), env); err != nil {
		t.Fatal(err)
	}
}

func TestCancelledByAPerson(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	tools, hanging, cancelled := slowTools(t)
	employ(t, g, "planner", agent.Options{Tools: tools})
	q := ask(t, alice, "look slowly")
	all := conversation(t, alice, func(env *protocol.Envelope) bool { return env.Kind == protocol.KindMCPRequest })
	<-hanging
	send(t, alice, protocol.Envelope{Kind: protocol.KindReasoningCancel, Context: last(all).Context, Payload: []byte(`{"reason":"never mind"}`)})
	<-cancelled // the tool itself was notified
	rest := conversation(t, alice, answerTo(q))
	if text := decode(t, last(rest))["message"].(string); !strings.Contains(text, "cancelled by alice: never mind") {
		t.Errorf("answer %q", text)
	}
	for _, env := range rest {
		if env.From == "planner" && (env.Kind == protocol.KindReasoningCancel || env.Kind == protocol.KindReasoningConclusion) {
			t.Errorf("the closed context got a %s", env.Kind)
		}
	}
	if !strings.Contains(script(rest), `"error":{"code":-32002`) {
		t.Errorf("the request was left without a response:\n%s", script(rest))
	}
}

// A cancel at top level closes the contexts whose start it correlates to.
func TestCancel_ByStartID(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	tools, hanging, cancelled := slowTools(t)
	employ(t, g, "planner", agent.Options{Tools: tools})
	q := ask(t, alice, "look slowly")
	start := last(conversation(t, alice, isKind(protocol.KindReasoningStart)))
	<-hanging
	send(t, alice, protocol.Envelope{Kind: protocol.KindReasoningCancel, Correlation: protocol.CorrelateTo(start.ID), Payload: []byte(`{"reason":"enough"}`)})
	<-cancelled
	all := conversation(t, alice, answerTo(q))
	if text := decode(t, last(all))["message"].(string); !strings.Contains(text, "cancelled by alice: enough") {
		t.Errorf("answer %q", text)
	}
}

func TestQuestionWithdrawn(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	tools, hanging, cancelled := slowTools(t)
	employ(t, g, "planner", agent.Options{Tools: tools})
	q := ask(t, alice, "look slowly")
	<-hanging
	send(t, alice, protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(q), Payload: []byte(`{"reason":"found it"}`)})
	<-cancelled
	all := conversation(t, alice, func(env *protocol.Envelope) bool { return env.Kind == protocol.KindReasoningCancel })
	if p := decode(t, last(all)); last(all).From != "planner" || p["reason"] != "cancelled by alice: found it" {
		t.Errorf("%s", script(all))
	}
}

// A question that is given up before a place is free is in the log like one that was taken.
func TestQuestionGivenUp_Waiting(t *testing.T) {
	g := meuptest.Start(t, config)
	alice, space := join(t, g, "alice"), join(t, g, "planner")
	tools, hanging, _ := slowTools(t)
	var log bytes.Buffer // read after the agent has ended
	a := agent.New(agent.Options{Space: space, Tools: tools, MaxQuestions: 1, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	ask(t, alice, "look slowly")
	<-hanging
	withdrawn, left := ask(t, alice, "and this?"), ask(t, alice, "and that?")
	send(t, alice, protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(withdrawn)})
	asked, err := alice.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindParticipantRequestStatus, To: []protocol.ParticipantID{"planner"}})
	if err != nil {
		t.Fatal(err)
	}
	conversation(t, alice, func(env *protocol.Envelope) bool { return env.Correlation.Names(asked.ID) }) // the others were received before
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	_ = space.Close()
	for id, want := range map[protocol.ID]string{withdrawn: "cancelled by alice", left: "the agent is shutting down"} {
		var got []string
		for line := range strings.Lines(log.String()) {
			var x struct{ Msg, Question, Err string }
			if err := json.Unmarshal([]byte(line), &x); err != nil {
				t.Fatal(err)
			}
			if x.Question == string(id) {
				got = append(got, x.Msg+": "+x.Err)
			}
		}
		if want := "question given up: " + want; !slices.Contains(got, want) {
			t.Errorf("%s: the log has %q, want %q", id, got, want)
		}
	}
}

func TestShutdown_ClosesContexts(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	tools, hanging, _ := slowTools(t)
	stop := employ(t, g, "planner", agent.Options{Tools: tools})
	ask(t, alice, "look slowly")
	<-hanging
	stop()
	all := conversation(t, alice, func(env *protocol.Envelope) bool { return env.Kind == protocol.KindReasoningCancel })
	if p := decode(t, last(all)); p["reason"] != "the agent is shutting down" {
		t.Errorf("%s", script(all))
	}
}

func TestShutdownByAParticipant(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	c := join(t, g, "planner")
	done := make(chan error, 1)
	go func() { done <- agent.New(agent.Options{Space: c}).Run(testkit.Deadline(t)) }()
	send(t, alice, protocol.Envelope{Kind: protocol.KindParticipantShutdown, To: []protocol.ParticipantID{"planner"}})
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestHugeResultIsCutAndMarked(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	tools := oneTool(t, "search_megabytes", func(context.Context) (string, error) { return strings.Repeat("megabytes <&>\n", 1<<17), nil })
	employ(t, g, "planner", agent.Options{Tools: tools})
	q := ask(t, alice, "search megabytes")
	all := conversation(t, alice, answerTo(q))
	checkShape(t, q, all)
	for i := range all {
		if all[i].Kind != protocol.KindMCPResponse {
			continue
		}
		if n := len(all[i].Payload); n > 300<<10 || n < 60<<10 {
			t.Errorf("the response has %d bytes", n)
		}
		var p struct {
			Result struct {
				Meta struct {
					Truncated map[string]int `json:"meup/truncated"`
				} `json:"_meta"`
			}
		}
		if err := json.Unmarshal(all[i].Payload, &p); err != nil || p.Result.Meta.Truncated["text_bytes"] != 14<<17 {
			t.Errorf("meta %v, %v", p.Result.Meta, err)
		}
	}
}

func TestFailingToolIsAnOutcome(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	tools := oneTool(t, "search_faults", func(context.Context) (string, error) { return "", errors.New("out of paper") })
	employ(t, g, "planner", agent.Options{Tools: tools})
	q := ask(t, alice, "search faults")
	all := conversation(t, alice, answerTo(q))
	checkShape(t, q, all)
	if text := decode(t, last(all))["message"].(string); !strings.Contains(text, "`search_faults` failed: out of paper") {
		t.Errorf("answer %q", text)
	}
}

func TestPause_Resume(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Tools: tools(t, handbook)})
	to := []protocol.ParticipantID{"planner"}
	send(t, alice, protocol.Envelope{Kind: protocol.KindParticipantPause, To: to})
	q := ask(t, alice, "what is in the docs folder?")
	send(t, alice, protocol.Envelope{ID: "r-1", Kind: protocol.KindParticipantResume, To: to})
	all := conversation(t, alice, answerTo(q))
	resumed := false
	for _, env := range all {
		resumed = resumed || env.ID == "r-1"
		if env.From == "planner" && !resumed {
			t.Errorf("%s while it was paused", env.Kind)
		}
	}
	checkShape(t, q, all)
}

func TestStatus(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	tools, hanging, _ := slowTools(t)
	employ(t, g, "planner", agent.Options{Tools: tools})
	ask(t, alice, "look slowly")
	<-hanging
	send(t, alice, protocol.Envelope{ID: "s-1", Kind: protocol.KindParticipantRequestStatus, To: []protocol.ParticipantID{"planner"}})
	all := conversation(t, alice, func(env *protocol.Envelope) bool { return env.Kind == protocol.KindParticipantStatus })
	p := decode(t, last(all))
	if contexts, _ := p["contexts"].([]any); p["status"] != "reasoning" || len(contexts) != 1 || !last(all).Correlation.Names("s-1") {
		t.Errorf("status %v", p)
	}
}

// TestAgent_BusyAsker: one asker gets three of twelve slots; another asker's
// question is accepted.
func TestAgent_BusyAsker(t *testing.T) {
	g := meuptest.Start(t, config)
	alice, carol := join(t, g, "alice"), join(t, g, "carol")
	tools, hanging, _ := slowTools(t)
	employ(t, g, "planner", agent.Options{Tools: tools, MaxQuestions: 4, MaxWaiting: 8})
	for range 3 {
		ask(t, alice, "look slowly")
		<-hanging
	}
	fourth := ask(t, alice, "look slowly")
	all := conversation(t, alice, answerTo(fourth))
	if text := decode(t, last(all))["message"].(string); !strings.Contains(text, "too many questions") {
		t.Errorf("answer %q", text)
	}
	ask(t, carol, "look slowly")
	<-hanging // carol's
}

func TestTooManyQuestions(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	tools, hanging, _ := slowTools(t)
	employ(t, g, "planner", agent.Options{Tools: tools, MaxQuestions: 1, MaxWaiting: 1})
	ask(t, alice, "look slowly")
	<-hanging
	ask(t, alice, "look slowly")
	third := ask(t, alice, "look slowly")
	all := conversation(t, alice, answerTo(third))
	if text := decode(t, last(all))["message"].(string); !strings.Contains(text, "too many questions") {
		t.Errorf("answer %q", text)
	}
}
