package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/protocol"
)

// startNATS starts a NATS server as a separate process.
func startNATS(t *testing.T, port, dir string) *process {
	t.Helper()
	p := start(t, []string{natsEnv + "=" + port + "," + dir}, os.Args[0])
	eventually(t, "NATS listens", func() bool {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", "127.0.0.1:"+port)
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	})
	return p
}

// participants lists the connected participants according to a gateway; nil if it does not say.
func participants(t *testing.T, addr string) []protocol.ParticipantID {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/api/spaces/lab/participants", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer dave-token-for-tests")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil
	}
	var list struct {
		Participants []protocol.Participant `json:"participants"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	var ids []protocol.ParticipantID
	for _, p := range list.Participants {
		ids = append(ids, p.ID)
	}
	return ids
}

// Two gateways on one NATS are one space: one order, one set of ids, one
// presence, one state of rights. One of them is killed under load, then NATS.
func TestCluster_TwoGateways(t *testing.T) {
	t.Parallel()
	port, store := freePort(t), t.TempDir()
	nats := startNATS(t, port, store)
	url := "nats://127.0.0.1:" + port
	a, b := startGateway(t, labConfig, "--nats", url), startGateway(t, labConfig, "--nats", url)

	readA, readB := collect(t, a.dial(t, "dave", client.After(0))), collect(t, b.dial(t, "dave", client.After(0)))
	l := startLoad(t, a.dial(t, "alice", client.Position{}), b.dial(t, "bob", client.Position{}))
	l.refusedAfter(5 * time.Second) // on a busy machine, NATS may be slower than the append timeout at any time
	l.more(300)
	for _, g := range []*gatewayProc{a, b} {
		eventually(t, "everybody is present at both", func() bool {
			return slices.Equal(participants(t, g.addr), []protocol.ParticipantID{"alice", "bob", "dave"})
		})
	}

	// The same id through both gateways: a retry for its sender, refused for
	// another participant.
	if code := postWhenServed(t, a.addr, "carol", `{"id":"x-1","kind":"x.note"}`); code != "" {
		t.Fatalf("first: %s", code)
	}
	if code := postWhenServed(t, b.addr, "carol", `{"id":"x-1","kind":"x.note"}`); code != "" {
		t.Fatalf("retry at the other gateway: %s", code)
	}
	if code := postWhenServed(t, b.addr, "dave", `{"id":"x-1","kind":"x.note"}`); code != string(protocol.CodeDuplicateID) {
		t.Fatalf("another sender: %q", code)
	}

	// A revocation at one gateway is in force at the other as soon as it is
	// acknowledged.
	if code := postWhenServed(t, a.addr, "alice", `{"id":"x-2","kind":"capability.revoke","payload":{"recipient":"carol","capabilities":["x.note"]}}`); code != "" {
		t.Fatalf("revoke: %s", code)
	}
	if code := postWhenServed(t, b.addr, "carol", `{"kind":"x.note"}`); code != string(protocol.CodeCapabilityViolation) {
		t.Fatalf("after the revocation at the other gateway: %q", code)
	}

	// The same is true for a grant that the other gateway has not applied yet:
	// its revocation there is judged by the log that contains it.
	for i := range 40 {
		grant, at := fmt.Sprintf("grant-%d", i), []*gatewayProc{a, b}
		body := fmt.Sprintf(`{"id":%q,"kind":"capability.grant","payload":{"recipient":"carol","capabilities":["x.lent"]}}`, grant)
		if code := postWhenServed(t, at[i%2].addr, "alice", body); code != "" {
			t.Fatalf("grant %d: %s", i, code)
		}
		body = fmt.Sprintf(`{"id":"take-%d","kind":"capability.revoke","payload":{"recipient":"carol","grant_id":%q}}`, i, grant)
		if code := postWhenServed(t, at[1-i%2].addr, "alice", body); code != "" {
			t.Fatalf("revoke grant %d at the other gateway: %s", i, code)
		}
	}

	b.kill()
	l.t.Log("killed one gateway")
	eventually(t, "who was at the dead gateway has left", func() bool {
		there := participants(t, a.addr)
		return there != nil && !slices.Contains(there, "bob")
	})
	b.restart()
	l.more(100)

	l.outage()
	nats.kill()
	eventually(t, "the gateways say that they are not ready", func() bool {
		return get(a.addr, "/readyz", "") == http.StatusServiceUnavailable && get(b.addr, "/readyz", "") == http.StatusServiceUnavailable
	})
	startNATS(t, port, store)
	for _, g := range []*gatewayProc{a, b} {
		eventually(t, "the gateways are ready again", func() bool { return get(g.addr, "/readyz", "") == http.StatusOK })
	}
	l.more(300)
	l.finish()

	logA := history(t, a.addr, "dave")
	eventually(t, "both gateways have the same log", func() bool {
		return slices.Equal(logA, history(t, b.addr, "dave"))
	})
	readA.verify(logA)
	readB.verify(logA)
	l.verify(slices.DeleteFunc(logA, func(e line) bool { return e.Kind != "chat" }))
}

// limitedConfig has rates so low that only the bursts count.
const limitedConfig = `
spaces:
  lab:
    participants:
      alice: {token: alice-token-for-tests, capabilities: ["*"], limits: {rate: 0.001, burst: 300}}
      bob: {token: bob-token-for-tests, capabilities: ["*"], limits: {connections: 3}}
`

// A participant has one budget and one number of connections at all gateways of a
// cluster, soon after they were used.
func TestCluster_SharedLimits(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	startNATS(t, port, t.TempDir())
	url := "nats://127.0.0.1:" + port
	a, b := startGateway(t, limitedConfig, "--nats", url), startGateway(t, limitedConfig, "--nats", url)

	here := 0
	sendAtB := func() bool {
		code := postWhenServed(t, b.addr, "alice", `{"kind":"chat","payload":{"message":"b"}}`)
		if code != "" && code != string(protocol.CodeRateLimited) {
			t.Fatalf("at B: %s", code)
		}
		if code == "" {
			here++
		}
		return code != ""
	}
	sendAtB() // it has buckets there from now on
	for i := range 290 {
		if code := postWhenServed(t, a.addr, "alice", `{"kind":"chat","payload":{"message":"a"}}`); code != "" {
			t.Fatalf("at A, %d: %s", i, code)
		}
	}
	eventually(t, "the budget is spent at B", sendAtB)
	if here >= 300 { // its whole burst: it knew nothing of A
		t.Errorf("%d envelopes admitted at B after 290 of 300 at A", here)
	}

	a.dial(t, "bob", client.Position{})
	a.dial(t, "bob", client.Position{})
	b.dial(t, "bob", client.Position{})
	for _, g := range []*gatewayProc{a, b} {
		eventually(t, "a fourth connection is refused", func() bool {
			c, err := client.Dial(t.Context(), client.Options{URL: "ws://" + g.addr + "/ws", Space: "lab", Token: "bob-token-for-tests"})
			if err == nil {
				_ = c.Close()
				return false
			}
			refused := protocol.AsError(err)
			return refused != nil && refused.Code == protocol.CodeTooMany
		})
	}
}

// The store of NATS is replaced by an older copy. No gateway serves, one with a new data
// folder included, until one is started with --restore-log. Then everything that was
// acknowledged is in the log, and what was revoked or settled stays so.
func TestCluster_StoreReplaced(t *testing.T) {
	t.Parallel()
	port, store := freePort(t), filepath.Join(t.TempDir(), "store")
	nats := startNATS(t, port, store)
	url := "nats://127.0.0.1:" + port
	var gateways []*gatewayProc
	for range 3 {
		gateways = append(gateways, startGateway(t, labConfig, "--nats", url))
	}
	var acked []protocol.ID
	send := func(from, id, envelope string) {
		t.Helper()
		eventually(t, id+" is acknowledged", func() bool {
			code := post(t, gateways[len(acked)%3].addr, from, envelope)
			if code != "" && code != string(protocol.CodeUnavailable) && code != string(protocol.CodeOutcomeUnknown) {
				t.Fatalf("%s: %s", id, code)
			}
			return code == ""
		})
		acked = append(acked, protocol.ID(id))
	}
	chat := func(n int) {
		id := fmt.Sprintf("chat-%d", n)
		send("bob", id, fmt.Sprintf(`{"id":%q,"kind":"chat","payload":{"message":"x"}}`, id))
	}
	for n := range 20 {
		chat(n)
	}
	send("carol", "plan", proposalBody("plan", time.Now().Add(time.Hour)))
	send("carol", "note-0", `{"id":"note-0","kind":"x.note"}`)
	nats.kill()
	older := filepath.Join(t.TempDir(), "older")
	if err := os.CopyFS(older, os.DirFS(store)); err != nil {
		t.Fatal(err)
	}
	nats = startNATS(t, port, store)
	ready := func(list ...*gatewayProc) {
		t.Helper()
		for _, g := range list {
			eventually(t, "the gateway is ready", func() bool { return get(g.addr, "/readyz", "") == http.StatusOK })
		}
	}
	ready(gateways...)
	for n := range 20 {
		chat(100 + n)
	}
	send("alice", "revoke", `{"id":"revoke","kind":"capability.revoke","payload":{"recipient":"carol","capabilities":["x.note"]}}`)
	send("alice", "approve", requestBody("approve", "plan"))
	// kept returns the acknowledged envelopes that a gateway has.
	kept := func(g *gatewayProc) (ids []protocol.ID) {
		for _, e := range history(t, g.addr, "alice") { // others do not see her approval
			if slices.Contains(acked, e.ID) {
				ids = append(ids, e.ID)
			}
		}
		return ids
	}
	for _, g := range gateways {
		eventually(t, "the log is at each gateway", func() bool { return slices.Equal(kept(g), acked) })
	}

	nats.kill()
	startNATS(t, port, older)
	gateways = append(gateways, prepareGateway(t, labConfig, "--nats", url))
	gateways[3].start()
	for i, g := range gateways {
		eventually(t, fmt.Sprintf("gateway %d says why it is not ready", i), func() bool { return strings.Contains(g.log.String(), "NATS has lost a part of the log") })
	}
	for i, g := range gateways[:3] {
		if code := post(t, g.addr, "carol", `{"kind":"x.note"}`); code != string(protocol.CodeUnavailable) {
			t.Errorf("before the decision, gateway %d answers %q to a revoked kind", i, code)
		}
		if status := get(g.addr, "/readyz", ""); status != http.StatusServiceUnavailable {
			t.Errorf("before the decision, gateway %d is ready: %d", i, status)
		}
	}
	if status := get(gateways[3].addr, "/readyz", ""); status != http.StatusServiceUnavailable {
		t.Errorf("before the decision, the new gateway is ready: %d", status)
	}

	gateways[1].signal(syscall.SIGTERM)
	gateways[1].wait()
	gateways[1].args = append(gateways[1].args, "--restore-log")
	gateways[1].start()
	ready(gateways...)
	for i, g := range gateways {
		if code := postWhenServed(t, g.addr, "carol", `{"kind":"x.note"}`); code != string(protocol.CodeCapabilityViolation) {
			t.Errorf("gateway %d answers %q to a revoked kind", i, code)
		}
		again := fmt.Sprintf("approve-%d", i)
		if code := postWhenServed(t, g.addr, "alice", requestBody(again, "plan")); code != string(protocol.CodeProposalSettled) {
			t.Errorf("gateway %d answers %q to a second approval", i, code)
		}
		if ids := kept(g); !slices.Equal(ids, acked) {
			t.Errorf("gateway %d has %q, want %q", i, ids, acked)
		}
	}
	chat(200)
}
