package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// A call takes no answer but the one of its recipient, under the id that the gateway
// gave it; others can neither answer it nor have their own call take its id.
func TestMCP_ForgedAnswer(t *testing.T) {
	g := meuptest.Start(t, strings.Replace(foreignConfig, "lamp.2: {token: lamp2-token, capabilities: [", "lamp.2: {token: lamp2-token, capabilities: [chat, ", 1))
	defer watch(t, g, "lamp-token")()
	awaitPresent(t, g, "lamp")
	alice := mcpClientOf(t, g, "alice-token", "2026-07-28")
	pending := call[toldAnswer](t, alice, "call", map[string]any{"participant": "lamp", "tool": "slow", "seconds": 1, "key": "k"})
	if pending.State != "pending" {
		t.Fatalf("%+v", pending)
	}
	forged := fmt.Sprintf(`{"kind":"mcp.response","to":["alice"],"correlationId":%q,"payload":{"jsonrpc":"2.0","id":%q,"result":{"forged":true}}}`, pending.ID, pending.ID)
	status, body := postAs(t, g, "lamp2-token", "/api/spaces/lab/envelopes", forged)
	t.Log(status, body)
	again := call[toldAnswer](t, alice, "call", map[string]any{"participant": "lamp", "tool": "slow", "seconds": 1, "key": "k"})
	if again.ID != pending.ID || again.State != "pending" {
		t.Errorf("the forged answer counts: %+v", again)
	}
	taken := fmt.Sprintf(`{"id":%q,"kind":"chat","payload":{"message":"x"}}`, pending.ID)
	if status, body := postAs(t, g, "lamp2-token", "/api/spaces/lab/envelopes", taken); status == http.StatusOK {
		t.Errorf("another participant's request id: %s", body)
	}
	answer := strings.Replace(forged, "forged", "real", 1)
	if status, body := postAs(t, g, "lamp-token", "/api/spaces/lab/envelopes", answer); status != http.StatusOK {
		t.Fatal(body)
	}
	if got := call[toldAnswer](t, alice, "call", map[string]any{"participant": "lamp", "tool": "slow", "seconds": 50, "key": "k"}); got.State != "answered" || !strings.Contains(got.Answer.Text, "real") || got.Answer.From != "lamp" {
		t.Errorf("%+v", got)
	}
}

// An approval counts once, for exactly the proposed call: not repeated under another id,
// not for other arguments, not for another proposal.
func TestMCP_ReplayedApproval(t *testing.T) {
	g := meuptest.Start(t, decideConfig)
	serveClock(t, g)
	alice, bob := mcpClient(t, g, "alice-token", ""), mcpClient(t, g, "bob-token", "")
	propose := func(hour int) toldSent {
		t.Helper()
		return call[toldSent](t, bob, "propose", map[string]any{"participant": "clock", "tool": "set", "arguments": map[string]any{"hour": hour}})
	}
	first, second := propose(1), propose(2)
	ok := call[toldSent](t, alice, "decide", map[string]any{"proposal": first.ID, "decision": "approve"})
	if text, isError := callTool(t, alice, "decide", map[string]any{"proposal": first.ID, "decision": "approve", "participant": "clock"}); !isError || !strings.Contains(text, "decided") {
		t.Errorf("approved twice: %s", text)
	}
	request := sentEnvelope(t, g, ok.ID)
	for name, change := range map[string][2]string{
		"again":            {},
		"for another one":  {first.ID, second.ID},
		"of another value": {`"hour":1`, `"hour":3`},
	} {
		envelope := fmt.Sprintf(`{"id":"replayed-%s","kind":"mcp.request","to":["clock"],"correlationId":%q,"payload":%s}`, strings.ReplaceAll(name, " ", "-"), first.ID, request.Payload)
		if change[0] != "" {
			envelope = strings.Replace(envelope, change[0], change[1], 1)
		}
		if status, body := postAs(t, g, "alice-token", "/api/spaces/lab/envelopes", envelope); status == http.StatusOK {
			t.Errorf("%s: %s", name, body)
		}
	}
	_, log := story(t, g, "alice")
	calls := 0
	for _, e := range log {
		if e.Kind == protocol.KindMCPRequest {
			calls++
		}
	}
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
}
