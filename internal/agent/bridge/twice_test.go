package bridge_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/protocol"
)

// Two bridges with one token: the log gets one response for each request, and
// the second bridge logs a warning.
func TestTwice_OneResponse(t *testing.T) {
	g := meuptest.Start(t, config)
	n, server := counting()
	var bridges [2]*employed
	for i := range bridges {
		bridges[i] = employ(t, g, server, catchingUp(t, g))
		bridges[i].log.Wait(t, "bridge ready")
	}
	alice := join(t, g, "alice", nil)
	requests := make(map[protocol.ID]int)
	for i := range 20 {
		requests[begin(t, alice, callOf(i, "count"))] = 0
	}
	for range len(requests) {
		env := await(t, alice, func(env *protocol.Envelope) bool { return env.Kind == protocol.KindMCPResponse })
		requests[env.Correlation.First()]++
	}
	for _, b := range bridges {
		b.stop() // after its last response
	}
	page, err := g.API(t, "alice").Envelopes(t.Context(), "lab", api.EnvelopeQuery{Kinds: []string{"mcp.response"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Envelopes) != len(requests) || n.Load() < int64(len(requests)) {
		t.Errorf("%d responses to %d requests, carried out %d times", len(page.Envelopes), len(requests), n.Load())
	}
	for id, responses := range requests {
		if responses != 1 {
			t.Errorf("%s has %d responses", id, responses)
		}
	}
	const warning = "another process with this token"
	if strings.Contains(bridges[0].log.String(), warning) || !strings.Contains(bridges[1].log.String(), warning) {
		t.Error("the second bridge alone has to warn")
	}
}

// A bridge that starts beside a running one leaves it the calls that it works on.
func TestTwice_CallsInProgress(t *testing.T) {
	g := meuptest.Start(t, config)
	m := newMoody()
	running, release := make(chan struct{}), make(chan struct{})
	m.tool("slow", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(running)
		<-release
		return text("done"), nil
	})
	first := employ(t, g, mcptools.Server{InProcess: m.Server}, catchingUp(t, g))
	alice := join(t, g, "alice", nil)
	call := begin(t, alice, callOf(1, "slow"))
	<-running
	_, server := counting()
	with := catchingUp(t, g)
	with.bridge.After = func(time.Duration) <-chan time.Time { return nil } // waits for the first however long it takes
	second := employ(t, g, server, with)
	second.log.Wait(t, "calls from before the start are left to it")
	close(release)
	if env := await(t, alice, responseTo(call)); !strings.Contains(string(env.Payload), "done") {
		t.Errorf("%s", env.Payload)
	}
	second.stop()
	first.stop()
}
