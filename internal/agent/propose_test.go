package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/exchange"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// deciding is a planner in the form of a function.
type deciding func(context.Context, planner.State) (planner.Decision, error)

func (f deciding) Next(ctx context.Context, s planner.State) (planner.Decision, error) {
	return f(ctx, s)
}

// once calls tools in one step, and then answers with their results.
func once(calls ...contextwindow.Call) deciding {
	return func(_ context.Context, s planner.State) (planner.Decision, error) {
		if len(s.Steps) == 0 {
			return planner.Decision{Action: contextwindow.UseTools, Calls: calls}, nil
		}
		var b strings.Builder
		for _, r := range s.Steps[0].Results {
			b.WriteString(string(r.Outcome) + " | " + r.Text + r.Error + "\n")
		}
		return planner.Decision{Action: contextwindow.Finish, Answer: b.String(), Conclusion: "done"}, nil
	}
}

func callOf(tool, arguments string) contextwindow.Call {
	return contextwindow.Call{Tool: tool, Arguments: json.RawMessage(arguments), Reason: "I need " + tool + "."}
}

// mayOnlyPropose is the configuration with an agent that may not call tools.
var mayOnlyPropose = strings.Replace(config, `[chat, "reasoning/*", "mcp/*", "participant/*"]`, `[chat, "reasoning/*", mcp.response, mcp.proposal, mcp.withdraw]`, 1)

func isKind(kind protocol.Kind) func(*protocol.Envelope) bool {
	return func(env *protocol.Envelope) bool { return env.Kind == kind }
}

// proposed starts an agent that may only propose, and returns its proposal.
func proposed(t *testing.T, opts agent.Options) (alice *client.Client, question protocol.ID, proposal protocol.Envelope) {
	t.Helper()
	opts.Planner = once(callOf("read_text_file", `{"path":"deploy.md"}`))
	return proposedFor(t, opts, "how do I deploy?")
}

func proposedFor(t *testing.T, opts agent.Options, text string) (alice *client.Client, question protocol.ID, proposal protocol.Envelope) {
	t.Helper()
	g := meuptest.Start(t, mayOnlyPropose)
	alice = join(t, g, "alice")
	opts.Tools = tools(t, handbook)
	employ(t, g, "planner", opts)
	question = ask(t, alice, text)
	all := conversation(t, alice, isKind(protocol.KindMCPProposal))
	return alice, question, *last(all)
}

func TestProposal_Fulfilled(t *testing.T) {
	alice, question, proposal := proposed(t, agent.Options{})
	if proposal.Context == "" || len(proposal.Correlation.IDs) != 1 {
		t.Errorf("proposal in %q answers %v", proposal.Context, proposal.Correlation.IDs)
	}
	expires := decode(t, &proposal)["expires_at"].(string)
	if want := `{"method":"tools/call","params":{"arguments":{"path":"deploy.md"},"name":"read_text_file"},"participant_id":"planner","expires_at":"` + expires + `"}`; string(proposal.Payload) != want {
		t.Errorf("proposal %s", proposal.Payload)
	}
	if at, err := time.Parse(time.RFC3339, expires); err != nil || at.Before(proposal.TS.Add(4*time.Minute)) || at.After(proposal.TS.Add(6*time.Minute)) {
		t.Errorf("it expires at %s (%v), and was made at %s", expires, err, proposal.TS)
	}
	// Alice makes the call, with another file than the agent proposed.
	approval := protocol.Envelope{
		Kind: protocol.KindMCPRequest, To: []protocol.ParticipantID{"planner"}, Context: proposal.Context, Correlation: protocol.CorrelateTo(proposal.ID),
		Payload: []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"networking.md"}},"edited":true}`),
	}
	send(t, alice, approval)
	all := conversation(t, alice, answerTo(question))
	if text := decode(t, last(all))["message"].(string); !strings.HasPrefix(text, "fulfilled | # Networking") {
		t.Errorf("answer %q\n%s", text, script(all))
	}
	responses := 0
	for i := range all {
		if all[i].Kind == protocol.KindMCPResponse {
			responses++
			if all[i].From != "planner" || !all[i].AddressedTo("alice") || decode(t, &all[i])["id"] != 7.0 {
				t.Errorf("response %s", script(all[i:i+1]))
			}
		}
	}
	if responses != 1 {
		t.Errorf("%d responses\n%s", responses, script(all))
	}
}

func TestProposalRejected(t *testing.T) {
	alice, question, proposal := proposed(t, agent.Options{})
	send(t, alice, protocol.Envelope{Kind: protocol.KindMCPReject, Context: proposal.Context, Correlation: protocol.CorrelateTo(proposal.ID), Payload: []byte(`{"reason":"unsafe"}`)})
	all := conversation(t, alice, answerTo(question))
	if text := decode(t, last(all))["message"]; text != "rejected | rejected by alice: unsafe\n" {
		t.Errorf("answer %q", text)
	}
}

func TestProposalExpires(t *testing.T) {
	alice, question, proposal := proposed(t, agent.Options{ProposalTimeout: 50 * time.Millisecond})
	all := conversation(t, alice, answerTo(question))
	if text := decode(t, last(all))["message"]; text != "expired | expired: no decision on the proposal within 50ms\n" {
		t.Errorf("answer %q", text)
	}
	withdrawn := false
	for i := range all {
		withdrawn = withdrawn || all[i].Kind == protocol.KindMCPWithdraw && all[i].Correlation.Names(proposal.ID) && decode(t, &all[i])["reason"] == "timeout"
	}
	if !withdrawn {
		t.Errorf("the proposal was not taken back\n%s", script(all))
	}
}

func TestProposal_WithdrawnByOtherProcess(t *testing.T) {
	for reason, want := range map[string]string{
		"duplicate": "withdrawn | withdrawn: duplicate\n",
		"timeout":   "expired | expired: no decision on the proposal in time\n",
	} {
		t.Run(reason, func(t *testing.T) {
			g := meuptest.Start(t, mayOnlyPropose)
			alice, hand := join(t, g, "alice"), join(t, g, "planner")
			employ(t, g, "planner", agent.Options{Tools: tools(t, handbook), Planner: once(callOf("read_text_file", `{"path":"deploy.md"}`))})
			question := ask(t, alice, "how do I deploy?")
			proposal := last(conversation(t, alice, isKind(protocol.KindMCPProposal)))
			send(t, hand, protocol.Envelope{Kind: protocol.KindMCPWithdraw, Correlation: protocol.CorrelateTo(proposal.ID), Payload: []byte(`{"reason":"` + reason + `"}`)})
			all := conversation(t, alice, answerTo(question))
			if text := decode(t, last(all))["message"]; text != want {
				t.Errorf("answer %q, want %q", text, want)
			}
		})
	}
}

// A decision that is in the log before the agent gives up counts. The agent is paused, so
// that it cannot give up before.
func TestProposal_DecidedAtTheLastMoment(t *testing.T) {
	for name, c := range map[string]struct{ decision, want string }{
		"approved": {`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"deploy.md"}}}`, "fulfilled | "},
		"rejected": {"", "rejected | rejected by alice: unsafe\n"},
	} {
		t.Run(name, func(t *testing.T) {
			expire := make(chan time.Time)
			alice, question, proposal := proposed(t, agent.Options{ProposalTimeout: 17 * time.Minute, After: after(17*time.Minute, expire)})
			to := []protocol.ParticipantID{"planner"}
			send(t, alice, protocol.Envelope{Kind: protocol.KindParticipantPause, To: to, Payload: []byte(`{}`)})
			expire <- time.Time{}
			e := protocol.Envelope{Kind: protocol.KindMCPReject, Payload: []byte(`{"reason":"unsafe"}`)}
			if c.decision != "" {
				e = protocol.Envelope{Kind: protocol.KindMCPRequest, To: to, Payload: []byte(c.decision)}
			}
			e.Context, e.Correlation = proposal.Context, protocol.CorrelateTo(proposal.ID)
			send(t, alice, e)
			send(t, alice, protocol.Envelope{Kind: protocol.KindParticipantResume, To: to, Payload: []byte(`{}`)})
			all := conversation(t, alice, answerTo(question))
			if text := decode(t, last(all))["message"].(string); !strings.HasPrefix(text, c.want) {
				t.Errorf("answer %q, want %q", text, c.want)
			}
		})
	}
}

func TestProposal_WithdrawnWithQuestion(t *testing.T) {
	alice, question, proposal := proposed(t, agent.Options{})
	send(t, alice, protocol.Envelope{Kind: protocol.KindChatCancel, Correlation: protocol.CorrelateTo(question)})
	all := conversation(t, alice, isKind(protocol.KindReasoningCancel))
	for i := range all {
		if all[i].Kind == protocol.KindMCPWithdraw && all[i].Correlation.Names(proposal.ID) && decode(t, &all[i])["reason"] == "no_longer_needed" {
			return
		}
	}
	t.Errorf("the proposal is still open\n%s", script(all))
}

func TestNoProposals(t *testing.T) {
	g := meuptest.Start(t, mayOnlyPropose)
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{NoProposals: true, Tools: tools(t, handbook), Planner: once(callOf("read_text_file", `{}`))})
	all := conversation(t, alice, answerTo(ask(t, alice, "how do I deploy?")))
	if text := decode(t, last(all))["message"].(string); !strings.HasPrefix(text, "refused | not allowed: capability_violation") {
		t.Errorf("answer %q", text)
	}
}

// An agent that may list and not read answers what is in a folder without asking for an
// approval.
func TestProposal_NotForPreviews(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(config, `[chat, "reasoning/*", "mcp/*", "participant/*"]`,
		`[chat, "reasoning/*", mcp.response, mcp.proposal, mcp.withdraw, {kind: mcp.request, payload: {method: tools/call, params: {name: "list_*"}}}]`, 1))
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Tools: tools(t, handbook)})
	all := conversation(t, alice, answerTo(ask(t, alice, "what is in the docs folder?")))
	if text, _ := decode(t, last(all))["message"].(string); !strings.HasSuffix(text, "- `deploy.md`\n- `networking.md`") {
		t.Errorf("answer %q", text)
	}
	for i := range all {
		if all[i].Kind == protocol.KindMCPProposal || decode(t, &all[i])["tool_name"] == "read_text_file" {
			t.Errorf("%s", script(all[i:i+1]))
		}
	}
}

// A call that is not worth a decision is not proposed.
func TestProposal_NotIfOptional(t *testing.T) {
	g := meuptest.Start(t, mayOnlyPropose)
	alice := join(t, g, "alice")
	call := callOf("read_text_file", `{"path":"deploy.md"}`)
	call.Optional = true
	employ(t, g, "planner", agent.Options{Tools: tools(t, handbook), Planner: once(call)})
	all := conversation(t, alice, answerTo(ask(t, alice, "how do I deploy?")))
	if text, _ := decode(t, last(all))["message"].(string); !strings.HasPrefix(text, "refused | not allowed: capability_violation") {
		t.Errorf("answer %q\n%s", text, script(all))
	}
}

// A question that waits for a decision keeps no other from being answered, and goes on
// only with a place.
func TestProposal_HoldsNoPlace(t *testing.T) {
	reached, busy := make(chan struct{}), make(chan struct{})
	propose := once(callOf("read_text_file", `{"path":"deploy.md"}`))
	plan := deciding(func(ctx context.Context, s planner.State) (planner.Decision, error) {
		switch {
		case s.Question == "hold":
			close(reached)
			<-busy
			return finishing("held"), nil
		case s.Question != "deploy":
			return finishing("quick"), nil
		case len(s.Steps) > 0:
			select {
			case <-busy:
			default:
				t.Error("two questions are answered at once")
			}
		}
		return propose(ctx, s)
	})
	alice, question, proposal := proposedFor(t, agent.Options{MaxQuestions: 1, Planner: plan}, "deploy")
	conversation(t, alice, answerTo(ask(t, alice, "another")))
	held := ask(t, alice, "hold")
	<-reached
	send(t, alice, protocol.Envelope{Kind: protocol.KindMCPReject, Context: proposal.Context, Correlation: protocol.CorrelateTo(proposal.ID), Payload: []byte(`{"reason":"unsafe"}`)})
	settled(t, alice, "planner")
	close(busy)
	conversation(t, alice, answersTo(held, question))
}

// TestProposal_Budget: an agent whose budget is used up proposes the call that it may make, and
// goes on when a person approves it.
func TestProposal_Budget(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(config, `[chat, "reasoning/*", "mcp/*", "participant/*"]`, `[chat, "reasoning/*", mcp.request, mcp.response, mcp.withdraw], budget: {tokens: 100}`, 1))
	alice := join(t, g, "alice")
	employ(t, g, "planner", agent.Options{Tools: tools(t, handbook), Planner: once(callOf("read_text_file", `{"path":"networking.md"}`))})
	planner := g.API(t, "planner")
	if _, err := planner.Send(t.Context(), "lab", protocol.Envelope{Kind: protocol.KindReasoningCancel, Payload: []byte(`{"metadata":{"tokens":100}}`)}); err != nil {
		t.Fatal(err)
	}
	question := ask(t, alice, "how do I network?")
	all := conversation(t, alice, isKind(protocol.KindMCPProposal))
	approval, err := exchange.Approval(last(all), "approval", "")
	if err != nil {
		t.Fatal(err)
	}
	send(t, alice, approval)
	all = conversation(t, alice, answerTo(question))
	if text := decode(t, last(all))["message"].(string); !strings.HasPrefix(text, "fulfilled | # Networking") {
		t.Errorf("answer %q\n%s", text, script(all))
	}
}
