package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// serveClock answers the requests to the participant clock, each once, with their
// method and a count; it does not answer the tool "slow".
func serveClock(t *testing.T, g *meuptest.Gateway) {
	t.Helper()
	c, err := client.Dial(t.Context(), client.Options{URL: g.URL("lab"), Token: "clock-token", ServesTools: true})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = c.Close(); <-done })
	go func() {
		defer close(done)
		count := 0
		for e, err := range c.All(t.Context()) {
			if err != nil {
				return
			}
			payload := e.ParsePayload()
			if e.Kind != protocol.KindMCPRequest || !e.AddressedTo("clock") || payload.Get("params").Get("name").Text() == "slow" {
				continue
			}
			count++
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"method":%q,"count":%d}}`, e.ID, payload.Get("method").Text(), count)
			_, _ = c.Send(t.Context(), protocol.Envelope{Kind: protocol.KindMCPResponse, To: []protocol.ParticipantID{e.From}, Correlation: protocol.CorrelateTo(e.ID), Payload: []byte(body)})
		}
	}()
}

type toldAnswer struct {
	State, ID, Cursor, Next string
	Answer                  *toldMessage
}

func TestMCP_Call(t *testing.T) {
	for _, revision := range mcpRevisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel() // it waits
			g := meuptest.Start(t, decideConfig)
			serveClock(t, g)
			alice, bob, eve := mcpClientOf(t, g, "alice-token", revision), mcpClientOf(t, g, "bob-token", revision), mcpClientOf(t, g, "eve-token", revision)
			list := call[toldAnswer](t, alice, "tools", map[string]any{"participant": "clock", "seconds": 50})
			if list.State != "answered" || !strings.Contains(list.Answer.Text, `"tools/list"`) || list.Answer.From != "clock" || list.Answer.Trust != "participant" {
				t.Errorf("tools: %+v", list)
			}
			set := map[string]any{"participant": "clock", "tool": "set", "arguments": map[string]any{"hour": 12}, "seconds": 50, "key": "1"}
			first := call[toldAnswer](t, alice, "call", set)
			set["seconds"] = 40
			again := call[toldAnswer](t, alice, "call", set)
			if first.State != "answered" || !strings.Contains(first.Answer.Text, `"count":2`) || again.ID != first.ID || again.Answer.Text != first.Answer.Text {
				t.Errorf("called: %+v, then %+v", first, again)
			}
			slow := call[toldAnswer](t, alice, "call", map[string]any{"participant": "clock", "tool": "slow", "seconds": 1})
			if slow.State != "pending" || slow.Answer != nil || !strings.Contains(slow.Next, "mcp.response") {
				t.Errorf("slow: %+v", slow)
			}
			late := fmt.Sprintf(`{"kind":"mcp.response","to":["alice"],"correlationId":%q,"payload":{"jsonrpc":"2.0","id":1,"result":{"late":true}}}`, slow.ID)
			if status, body := postAs(t, g, "clock-token", "/api/spaces/lab/envelopes", late); status != http.StatusOK {
				t.Fatal(body)
			}
			got := call[told](t, alice, "wait", map[string]any{"after": slow.Cursor, "kinds": []string{"mcp.response"}})
			if len(got.Messages) != 1 || got.Messages[0].InReplyTo[0] != slow.ID || !strings.Contains(got.Messages[0].Text, "late") {
				t.Errorf("the late answer: %+v", got)
			}
			proposed := call[toldAnswer](t, bob, "call", set)
			if again := call[toldAnswer](t, bob, "call", set); proposed.State != "proposed" || !strings.Contains(proposed.Next, "mcp.reject") || again.ID != proposed.ID {
				t.Errorf("bob's call: %+v, then %+v", proposed, again)
			}
			call[toldSent](t, alice, "decide", map[string]any{"proposal": proposed.ID, "decision": "approve"})
			out := call[told](t, bob, "wait", map[string]any{"after": proposed.Cursor, "kinds": []string{"mcp.response"}})
			if len(out.Messages) != 1 || !strings.Contains(out.Messages[0].Text, `"count":3`) {
				t.Errorf("bob gets %+v", out)
			}
			if text, isError := callTool(t, eve, "call", set); !isError || !strings.Contains(text, "mcp.request") {
				t.Errorf("eve calls: %s", text)
			}
		})
	}
}
