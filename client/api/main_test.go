package api_test

import (
	"net/http"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// newClient returns a client of a test gateway.
func newClient(t *testing.T, g *meuptest.Gateway, who string) *api.Client {
	t.Helper()
	hc := &http.Client{Transport: &http.Transport{}}
	c, err := api.New(api.Options{URL: "http://" + g.Addr(), Token: who + "-token", HTTPClient: hc})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// publish publishes envelopes as a participant.
func publish(t *testing.T, g *meuptest.Gateway, who string, list ...protocol.Envelope) {
	t.Helper()
	c, err := client.Dial(testkit.Deadline(t), client.Options{URL: g.URL("lab"), Token: who + "-token", Discard: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for _, e := range list {
		if _, err := c.Send(testkit.Deadline(t), e); err != nil {
			t.Fatal(err)
		}
	}
}

func envelope(id, kind, context, correlation, payload string) protocol.Envelope {
	e := protocol.Envelope{
		ID: protocol.ID(id), Kind: protocol.Kind(kind), Context: protocol.ContextPath(context), Payload: []byte(payload),
	}
	if correlation != "" {
		e.Correlation = protocol.CorrelateTo(protocol.ID(correlation))
	}
	return e
}

// conversation publishes a question of alice that bob answers with a tool.
func conversation(t *testing.T, g *meuptest.Gateway) {
	t.Helper()
	publish(t, g, "alice", envelope("q1", "chat", "", "", `{"message":"what time is it?"}`))
	publish(t, g, "bob",
		envelope("c1", "reasoning.start", "", "q1", `{"message":"looking"}`),
		envelope("t0", "reasoning.thought", "c1", "", `{"message":"I will look at the clock."}`),
		envelope("t1", "reasoning.thought", "c1", "", `{"message":"the clock knows","tool_name":"time"}`),
		envelope("r1", "mcp.request", "c1", "t1", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"time","arguments":{"zone":"UTC"}}}`),
		envelope("a1", "mcp.response", "c1", "r1", `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"10:35"}]}}`),
		envelope("x1", "reasoning.conclusion", "c1", "", `{"message":"known"}`),
		envelope("w1", "chat", "", "q1", `{"message":"It is 10:35."}`),
	)
}
