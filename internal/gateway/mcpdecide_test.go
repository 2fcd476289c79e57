package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

const decideConfig = `
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: [chat, mcp.proposal, mcp.withdraw, "reasoning/*"]}
      eve: {token: eve-token, capabilities: [chat, mcp.reject, mcp.withdraw]}
      clock: {token: clock-token, capabilities: [mcp.response]}
`

// sentEnvelope reads an envelope of the log as alice.
func sentEnvelope(t *testing.T, g *meuptest.Gateway, id string) protocol.Envelope {
	t.Helper()
	c, err := api.New(api.Options{URL: g.HTTP(), Token: "alice-token"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	text, err := c.Envelope(t.Context(), "lab", protocol.ID(id))
	if err != nil {
		t.Fatal(err)
	}
	e, err := protocol.DecodeDelivered(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestMCP_Think(t *testing.T) {
	for _, revision := range mcpRevisions {
		t.Run(revision, func(t *testing.T) {
			g := meuptest.Start(t, decideConfig)
			alice, bob := mcpClientOf(t, g, "alice-token", revision), mcpClientOf(t, g, "bob-token", revision)
			asked := call[toldSent](t, alice, "say", map[string]any{"message": "where is the zebra?"})
			type step struct{ ID, Context, Cursor string }
			open := call[step](t, bob, "think", map[string]any{"action": "open", "message": "looking", "reply_to": asked.ID, "confidence": 0.5, "key": "k"})
			if again := call[step](t, bob, "think", map[string]any{"action": "open", "message": "looking", "reply_to": asked.ID, "confidence": 0.5, "key": "k"}); again != open || open.Context != open.ID {
				t.Errorf("opened %v, then %v", open, again)
			}
			inner := call[step](t, bob, "think", map[string]any{"action": "open", "message": "closer", "context": open.Context})
			if inner.Context != open.Context+"/"+inner.ID {
				t.Errorf("the nested context is %q", inner.Context)
			}
			call[step](t, bob, "think", map[string]any{"action": "cancel", "message": "not needed", "context": inner.Context})
			seen := call[step](t, bob, "think", map[string]any{"action": "step", "kind": "observation", "message": "stripes", "context": open.Context, "confidence": 0.9})
			if e := sentEnvelope(t, g, seen.ID); e.Kind != protocol.KindReasoningObservation || string(e.Context) != open.Context || string(e.Payload) != `{"confidence":0.9,"message":"stripes"}` {
				t.Errorf("the step is %+v %s", e, e.Payload)
			}
			call[step](t, bob, "think", map[string]any{"action": "conclude", "message": "in the yard", "context": open.Context})
			got := call[told](t, alice, "wait", map[string]any{"after": asked.Cursor})
			if texts(got.Messages) != "bob: in the yard" || got.Messages[0].Context != open.Context {
				t.Errorf("alice gets %+v", got)
			}
		})
	}
}

func TestMCP_Decide(t *testing.T) {
	for _, revision := range mcpRevisions {
		t.Run(revision, func(t *testing.T) {
			g := meuptest.Start(t, decideConfig)
			alice, bob, eve := mcpClientOf(t, g, "alice-token", revision), mcpClientOf(t, g, "bob-token", revision), mcpClientOf(t, g, "eve-token", revision)
			propose := map[string]any{"participant": "clock", "tool": "set", "arguments": map[string]any{"hour": 12, "text": "<a>"}, "key": "1", "expires_seconds": 3600}
			p := call[struct{ ID, Cursor, Next string }](t, bob, "propose", propose)
			if !strings.Contains(p.Next, "nobody rejected it") {
				t.Errorf("bob is told %q", p.Next)
			}
			seen := call[told](t, alice, "read", nil)
			if len(seen.Messages) != 1 || seen.Messages[0].ID != p.ID || seen.Messages[0].Trust != "participant" || !strings.Contains(seen.Messages[0].Text, `"hour":12`) {
				t.Fatalf("alice reads %+v", seen)
			}
			if text, isError := callTool(t, eve, "decide", map[string]any{"proposal": p.ID, "decision": "approve"}); !isError || !strings.Contains(text, "capabilities") {
				t.Errorf("eve approves: %s", text)
			}
			if text, isError := callTool(t, alice, "decide", map[string]any{"proposal": p.ID, "decision": "approve", "participant": "eve"}); !isError || !strings.Contains(text, "names clock") {
				t.Errorf("approved for another host: %s", text)
			}
			if text, isError := callTool(t, eve, "decide", map[string]any{"proposal": p.ID, "decision": "withdraw"}); !isError {
				t.Errorf("eve withdraws: %s", text)
			}
			ok := call[toldSent](t, alice, "decide", map[string]any{"proposal": p.ID, "decision": "approve"})
			if again := call[toldSent](t, alice, "decide", map[string]any{"proposal": p.ID, "decision": "approve"}); again != ok {
				t.Errorf("approved again: %v, not %v", again, ok)
			}
			request := sentEnvelope(t, g, ok.ID)
			want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"arguments":{"hour":12,"text":"<a>"},"name":"set"}}`, ok.ID)
			if !sameJSON(t, string(request.Payload), want) || !request.Correlation.Names(protocol.ID(p.ID)) || fmt.Sprint(request.To) != "[clock]" {
				t.Errorf("the call is %+v %s", request, request.Payload)
			}
			response := fmt.Sprintf(`{"kind":"mcp.response","to":["alice"],"correlationId":%q,"payload":{"jsonrpc":"2.0","id":%q,"result":{"content":[{"type":"text","text":"done"}]}}}`, ok.ID, ok.ID)
			if status, body := postAs(t, g, "clock-token", "/api/spaces/lab/envelopes", response); status != http.StatusOK {
				t.Fatal(body)
			}
			out := call[told](t, bob, "wait", map[string]any{"after": p.Cursor, "kinds": []string{"mcp.request", "mcp.response", "mcp.reject", "mcp.withdraw"}})
			if len(out.Messages) != 2 || out.Messages[0].InReplyTo[0] != p.ID || !strings.Contains(out.Messages[1].Text, "done") {
				t.Errorf("bob gets %+v", out)
			}
			if text, isError := callTool(t, alice, "decide", map[string]any{"proposal": p.ID, "decision": "reject", "reason": "unsafe"}); !isError || !strings.Contains(text, "decided") {
				t.Errorf("rejected after the approval: %s", text)
			}
			second := call[toldSent](t, bob, "propose", map[string]any{"participant": "clock", "tool": "set"})
			call[toldSent](t, bob, "decide", map[string]any{"proposal": second.ID, "decision": "withdraw"})
			if e := sentEnvelope(t, g, second.ID); !strings.Contains(string(e.Payload), `"arguments":{}`) || strings.Contains(string(e.Payload), "expires_at") {
				t.Errorf("the second proposal is %s", e.Payload)
			}
		})
	}
}

// A proposal is approved only if all of the call was shown.
func TestMCP_DecideLongCalls(t *testing.T) {
	g := meuptest.Start(t, decideConfig)
	alice, bob := mcpClient(t, g, "alice-token", ""), mcpClient(t, g, "bob-token", "")
	propose := func(size int) string {
		t.Helper()
		arguments := map[string]any{"text": strings.Repeat("x", size), "zz": "the end"}
		return call[toldSent](t, bob, "propose", map[string]any{"participant": "clock", "tool": "set", "arguments": arguments}).ID
	}
	long, longer := propose(40<<10), propose(60<<10)
	seen := call[told](t, alice, "read", map[string]any{"kinds": []string{"mcp.proposal"}, "after": "start"})
	if len(seen.Messages) != 1 || seen.Messages[0].ID != long || !strings.Contains(seen.Messages[0].Text, "the end") {
		t.Errorf("alice reads %d messages, want the whole first call", len(seen.Messages))
	}
	if text, isError := callTool(t, alice, "decide", map[string]any{"proposal": longer, "decision": "approve"}); !isError || !strings.Contains(text, "longer than") {
		t.Errorf("approved although a part was not shown: %s", text)
	}
	call[toldSent](t, alice, "decide", map[string]any{"proposal": long, "decision": "approve"})
	call[toldSent](t, alice, "decide", map[string]any{"proposal": longer, "decision": "reject"})
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}

func TestMCP_DecideArguments(t *testing.T) {
	g := meuptest.Start(t, decideConfig)
	alice, bob := mcpClient(t, g, "alice-token", ""), mcpClient(t, g, "bob-token", "")
	chat := call[toldSent](t, alice, "say", map[string]any{"message": "approve everything"})
	hidden := call[toldSent](t, alice, "say", map[string]any{"message": "secret", "to": []string{"eve"}})
	open := call[toldSent](t, bob, "propose", map[string]any{"participant": "clock", "tool": "set"})
	for _, test := range []struct {
		name, tool string
		args       map[string]any
		want       string
	}{
		{"a chat as proposal", "decide", map[string]any{"proposal": chat.ID, "decision": "approve"}, "is a chat"},
		{"a forged id", "decide", map[string]any{"proposal": "forged", "decision": "reject"}, "no such envelope"},
		{"an id to others", "decide", map[string]any{"proposal": hidden.ID, "decision": "reject"}, "no such envelope"},
		{"no id", "decide", map[string]any{"proposal": "../x", "decision": "reject"}, "expected the id of a proposal"},
		{"no decision", "decide", map[string]any{"proposal": open.ID, "decision": "yes"}, "expected approve, reject or withdraw"},
		{"one's own proposal", "decide", map[string]any{"proposal": open.ID, "decision": "approve"}, "capabilities"},
		{"no tool", "propose", map[string]any{"participant": "clock", "tool": ""}, "expected the name of a tool"},
		{"no host", "propose", map[string]any{"participant": "", "tool": "set"}, "not the id of a participant"},
		{"a time in the past", "propose", map[string]any{"participant": "clock", "tool": "set", "expires_seconds": -1}, "expires_seconds: expected"},
		{"no action", "think", map[string]any{"action": "start", "message": "x"}, "expected open, step, conclude or cancel"},
		{"no context", "think", map[string]any{"action": "step", "message": "x"}, "needs the context"},
		{"no kind", "think", map[string]any{"action": "step", "kind": "start", "context": "c", "message": "x"}, "expected thought"},
		{"a kind of a start", "think", map[string]any{"action": "open", "kind": "thought", "message": "x"}, "only step takes it"},
		{"an answer of a step", "think", map[string]any{"action": "step", "context": "c", "reply_to": "m", "message": "x"}, "only open takes it"},
		{"very confident", "think", map[string]any{"action": "step", "context": "c", "message": "x", "confidence": 2}, "confidence"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if text, isError := callTool(t, bob, test.tool, test.args); !isError || !strings.Contains(text, test.want) {
				t.Errorf("%v %s, want %q", isError, text, test.want)
			}
		})
	}
}
