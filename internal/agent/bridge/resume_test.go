package bridge_test

import (
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// Requests sent while the bridge is not connected are answered when it returns,
// and earlier requests are not answered again.
func TestRequests_WhileDisconnected(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := inProcess()
	var line switchboard
	employ(t, g, server, setup{client: line.options})
	alice := join(t, g, "alice", nil)
	before := begin(t, alice, callOf(1, "pid"))
	await(t, alice, responseTo(before))
	line.set(true)
	meanwhile := begin(t, alice, callOf(2, "pid"))
	line.set(false)
	await(t, alice, responseTo(meanwhile))
	onceEach(t, g, before, meanwhile)
}

// The gateway restarts: requests in progress are answered, later ones too, and
// none twice. The same envelope sent again is the same request.
func TestGatewayRestarts(t *testing.T) {
	g := meuptest.Start(t, config)
	m, server := inProcess()
	employ(t, g, server, setup{})
	alice := join(t, g, "alice", nil)
	before := begin(t, alice, callOf(1, "pid"))
	underWay := begin(t, alice, callOf(2, "wait"))
	await(t, alice, responseTo(before))
	g.Restart()
	if _, err := alice.Send(testkit.Deadline(t), protocol.Envelope{ID: before, Kind: protocol.KindMCPRequest, To: theBridge, Payload: []byte(callOf(1, "pid"))}); err != nil {
		t.Fatal(err)
	}
	after := begin(t, alice, callOf(3, "pid"))
	await(t, alice, responseTo(after))
	g.Restart()
	close(m.release)
	env := await(t, alice, responseTo(underWay))
	if !strings.Contains(string(env.Payload), "released") {
		t.Errorf("response %s", env.Payload)
	}
	onceEach(t, g, before, underWay, after)
}

// onceEach reads the log from its start: each request has one response.
func onceEach(t *testing.T, g *meuptest.Gateway, requests ...protocol.ID) {
	t.Helper()
	alice := join(t, g, "alice", fromTheBeginning)
	last := begin(t, alice, `{"id":"last","method":"ping"}`)
	responses := make(map[protocol.ID]int)
	await(t, alice, func(env *protocol.Envelope) bool {
		if env.Kind == protocol.KindMCPResponse {
			responses[env.Correlation.First()]++
		}
		return responseTo(last)(env)
	})
	for _, id := range requests {
		if responses[id] != 1 {
			t.Errorf("%s has %d responses", id, responses[id])
		}
	}
	if len(responses) != len(requests)+1 {
		t.Errorf("responses %v", responses)
	}
}
