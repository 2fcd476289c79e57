package gateway_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// briefLists makes a gateway wait a second for participants that do not answer.
func briefLists(o *gateway.Options) { o.ListWait = time.Second }

// The tools of a host that is silent for long are added when it answers, and a client
// that listens is notified. Until then the tools of others are listed.
func TestMCP_SilentHost(t *testing.T) {
	g := meuptest.Start(t, foreignConfig, briefLists)
	bridgeTo(t, g, "lamp-token", lamp())
	silent, err := client.Dial(t.Context(), client.Options{URL: g.URL("lab"), Token: "lamp2-token", ServesTools: true})
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	alice, notices := listening(t, g, "")
	isLate := func(name string) bool { return len(name) > 12 && name[:12] == "lamp_2__slow" }
	testkit.Eventually(t, "the tools of the host that answers are listed", func() bool {
		return slices.Contains(foreignNames(toolsOf(t, alice)), "lamp__precise")
	})
	if names := foreignNames(toolsOf(t, alice)); slices.ContainsFunc(names, isLate) {
		t.Fatalf("listed %q before the host has answered", names)
	}
	for len(notices) > 0 {
		<-notices
	}
	answered := 0
	for answered == 0 { // the first request was sent long ago
		e, err := silent.Receive(testkit.Deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind != protocol.KindMCPRequest || !e.AddressedTo("lamp.2") || e.From != "alice" || e.ParsePayload().Get("method").Text() != "tools/list" {
			continue
		}
		answered++
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"tools":[{"name":"slow","inputSchema":{"type":"object"}}]}}`, e.ID)
		if _, err := silent.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindMCPResponse, To: []protocol.ParticipantID{"alice"}, Correlation: protocol.CorrelateTo(e.ID), Payload: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	awaitNotice(t, notices, "tools")
	if names := foreignNames(toolsOf(t, alice)); !slices.ContainsFunc(names, isLate) || !slices.Contains(names, "lamp__precise") {
		t.Errorf("listed %q after the host has answered", names)
	}
}
