package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// mayStream is the configuration with an agent that may stream its thoughts.
var mayStream = strings.Replace(config, `"participant/*"`, `"participant/*", "stream/*"`, 1)

// streaming runs a model that sends some words and then blocks. It returns when
// alice has received one of them.
func streaming(t *testing.T) (alice *client.Client, question protocol.ID, opened protocol.Envelope, letGo func()) {
	t.Helper()
	gate := make(chan struct{}, 7) // the role, and six words
	for range cap(gate) {
		gate <- struct{}{}
	}
	server := llmtest.Start(t, func(r llmtest.Request) llmtest.Turn {
		if r.N == 1 {
			return llmtest.Turn{Text: strings.Repeat("spoken ", 6) + strings.Repeat("unspoken ", 30), Gate: gate}
		}
		return llmtest.Turn{Text: "Here I am."}
	})
	m, err := planner.Open(planner.Options{ModelName: "openai:scripted", BaseURL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	g := meuptest.Start(t, mayStream)
	alice = join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Planner: m, OwnToolsOnly: true})
	question = ask(t, alice, "well?")
	conversation(t, alice, func(env *protocol.Envelope) bool {
		if env.Kind == protocol.KindStreamOpen {
			opened = *env
		}
		return opened.ID != ""
	})
	for { // stream.data is not in the log
		env, err := alice.Receive(testkit.Deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		if env.Kind == protocol.KindStreamData && strings.Contains(string(env.Payload), "spoken") {
			return alice, question, opened, func() { close(gate) }
		}
	}
}

// until receives all envelopes up to the one that fits, streams included.
func until(t *testing.T, c *client.Client, fits func(*protocol.Envelope) bool) []protocol.Envelope {
	t.Helper()
	var all []protocol.Envelope
	for {
		env, err := c.Receive(testkit.Deadline(t))
		if err != nil {
			t.Fatalf("%v, after\n%s", err, script(all))
		}
		all = append(all, env)
		if fits(&env) {
			return all
		}
	}
}

func TestCancelReasoning_StopsModel(t *testing.T) {
	for name, end := range map[string]func(question protocol.ID, context protocol.ContextPath) protocol.Envelope{
		"chat.cancel": func(question protocol.ID, _ protocol.ContextPath) protocol.Envelope {
			return protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(question), Payload: []byte(`{"reason":"found it"}`)}
		},
		"reasoning.cancel": func(_ protocol.ID, context protocol.ContextPath) protocol.Envelope {
			return protocol.Envelope{Kind: protocol.KindReasoningCancel, Context: context, Payload: []byte(`{"reason":"found it"}`)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			alice, question, opened, letGo := streaming(t)
			send(t, alice, end(question, opened.Context))
			said := "" // broadcast
			closed := false
			all := until(t, alice, func(env *protocol.Envelope) bool {
				if env.From == "planner" {
					closed = closed || env.Kind == protocol.KindStreamClose
					if env.Kind == protocol.KindReasoningCancel || env.Kind == protocol.KindChat {
						said = string(env.Payload)
					}
				}
				return closed && said != ""
			})
			if !strings.Contains(said, "cancelled by alice: found it") {
				t.Errorf("it says %s", said)
			}
			letGo() // the rest of the model's output is discarded
			next := ask(t, alice, "and now?")
			all = append(all, until(t, alice, answerTo(next))...)
			if text := decode(t, last(all))["message"]; text != "Here I am." {
				t.Errorf("answer %q", text)
			}
			if strings.Contains(script(all), "unspoken") {
				t.Errorf("the model was heard on\n%s", script(all))
			}
			if n := answerCount(all, question); name == "chat.cancel" && n > 0 || name == "reasoning.cancel" && n != 1 {
				t.Errorf("%d answers\n%s", n, script(all))
			}
		})
	}
}

func TestProposal_WithdrawnWithContext(t *testing.T) {
	alice, question, proposal := proposed(t, agent.Options{OwnToolsOnly: true})
	send(t, alice, protocol.Envelope{Kind: protocol.KindReasoningCancel, Context: proposal.Context, Payload: []byte(`{"reason":"never mind"}`)})
	all := conversation(t, alice, answerTo(question))
	if text := decode(t, last(all))["message"]; text != "I have stopped looking into this: cancelled by alice: never mind." {
		t.Errorf("answer %q", text)
	}
	withdrawn := 0
	for i := range all {
		if all[i].Kind == protocol.KindMCPWithdraw && all[i].Correlation.Names(proposal.ID) && decode(t, &all[i])["reason"] == "no_longer_needed" {
			withdrawn++
		}
		if all[i].From == "planner" && (all[i].Kind == protocol.KindReasoningCancel || all[i].Kind == protocol.KindReasoningConclusion) {
			t.Errorf("the closed context got a %s", all[i].Kind)
		}
	}
	if withdrawn != 1 {
		t.Errorf("withdrawn %d times\n%s", withdrawn, script(all))
	}
}

func TestWithdrawnQuestion_CancelsTool(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	slow, hanging, stopped := slowTools(t)
	employ(t, g, "planner", agent.Options{Tools: slow, OwnToolsOnly: true, Planner: deciding(func(ctx context.Context, s planner.State) (planner.Decision, error) {
		if s.Depth == 0 {
			return once(callOf(planner.Subproblem, `{"question":"is it safe?"}`))(ctx, s)
		}
		return once(callOf("search_slowly", `{"query":"x"}`))(ctx, s)
	})})
	question := ask(t, alice, "shall we deploy?")
	<-hanging
	send(t, alice, protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(question), Payload: []byte(`{"reason":"too late"}`)})
	<-stopped // the tool itself was notified
	all := conversation(t, alice, func(env *protocol.Envelope) bool {
		return env.Kind == protocol.KindReasoningCancel && env.Context.Depth() == 1
	})
	var kinds []string
	for i := range all {
		env := &all[i]
		if env.From == "planner" && env.Context.Depth() > 0 && (env.Kind == protocol.KindMCPResponse || env.Kind == protocol.KindReasoningCancel) {
			kinds = append(kinds, fmt.Sprintf("%s at %d", env.Kind, env.Context.Depth()))
		}
	}
	if got, want := fmt.Sprint(kinds), "[mcp.response at 2 reasoning.cancel at 2 reasoning.cancel at 1]"; got != want {
		t.Errorf("%s, want %s\n%s", got, want, script(all))
	}
	if !strings.Contains(script(all), `"error":{"code":-32002,"message":"cancelled"}`) || decode(t, last(all))["reason"] != "cancelled by alice: too late" {
		t.Errorf("%s", script(all))
	}
	if rest := idle(t, alice, "planner"); answerCount(rest, question) > 0 {
		t.Errorf("a withdrawn question was answered\n%s", script(rest))
	}
}

func TestPause_DuringStep(t *testing.T) {
	g := meuptest.Start(t, config)
	alice := join(t, g, "alice")
	running, goOn := make(chan struct{}), make(chan struct{})
	tool := oneTool(t, "search_long", func(context.Context) (string, error) {
		close(running)
		<-goOn
		return "found it", nil
	})
	employ(t, g, "planner", agent.Options{Tools: tool, OwnToolsOnly: true, Planner: once(callOf("search_long", `{"query":"x"}`))})
	to := []protocol.ParticipantID{"planner"}
	question := ask(t, alice, "well?")
	<-running
	send(t, alice, protocol.Envelope{ID: "p-1", Kind: protocol.KindParticipantPause, To: to})
	if rest := status(t, alice); rest["paused"] != true || rest["status"] != "reasoning" {
		t.Errorf("status %v", rest)
	}
	close(goOn)
	// The response may be sent during the pause; the envelopes after it may
	// not.
	before := conversation(t, alice, isKind(protocol.KindMCPResponse))
	send(t, alice, protocol.Envelope{ID: "r-1", Kind: protocol.KindParticipantResume, To: to})
	all := append(before, conversation(t, alice, answerTo(question))...)
	if text := decode(t, last(all))["message"]; text != "success | found it\n" {
		t.Errorf("answer %q", text)
	}
	paused := false
	for i := range all {
		switch env := &all[i]; {
		case env.ID == "r-1":
			paused = false
		case env.ID == "p-1":
			paused = true
		case paused && env.From == "planner" && env.Kind != protocol.KindMCPResponse && env.Kind != protocol.KindParticipantStatus:
			t.Errorf("%s in the pause", env.Kind)
		}
	}
	if rest := status(t, alice); rest["paused"] != false {
		t.Errorf("status %v", rest)
	}
}

// status returns the status that the planner reports.
func status(t *testing.T, c *client.Client) map[string]any {
	t.Helper()
	receipt, err := c.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindParticipantRequestStatus, To: []protocol.ParticipantID{"planner"}})
	if err != nil {
		t.Fatal(err)
	}
	var answer protocol.Envelope
	for {
		answer, err = c.Receive(testkit.Deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		if answer.Kind == protocol.KindParticipantStatus && answer.Correlation.Names(receipt.ID) {
			return decode(t, &answer)
		}
	}
}
