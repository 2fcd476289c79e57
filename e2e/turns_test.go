package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/protocol"
)

// read sends a GET request to a gateway, as a participant.
func read(t *testing.T, addr, who, path string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+who+"-token-for-tests")
	resp, err := patient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s %v", path, resp.Status, body, err)
	}
	return string(body)
}

// The turns of the real agent contain all its calls with their reasons, and are
// the same after the gateway was killed and restarted.
func TestTurns_Agent(t *testing.T) {
	t.Parallel()
	s := openAgentStage(t)
	first := s.ask("what is in networking.md?")
	s.answer(first)
	answered := s.seen[len(s.seen)-1].ID
	draft := client.Chat("what is the sum of 2 and 40?")
	draft.Correlation = protocol.CorrelateTo(answered)
	receipt, err := s.alice.Send(s.ctx, draft)
	if err != nil {
		t.Fatal(err)
	}
	s.answer(receipt.ID)

	gateway, err := api.New(api.Options{URL: "http://" + s.g.addr, Token: "alice-token-for-tests"})
	if err != nil {
		t.Fatal(err)
	}
	h, err := gateway.History(s.ctx, "lab", first, api.Page{})
	if err != nil || len(h.Turns) != 2 {
		t.Fatalf("%+v, %v\n%s", h, err, s.script())
	}
	for i, turn := range h.Turns {
		if turn.TurnNumber != i+1 || turn.State != "completed" || turn.Response == nil || turn.Reasoning == nil {
			t.Fatalf("turn %d: %+v\n%s", i+1, turn, s.script())
		}
		for _, d := range turn.Reasoning.ToolDecisions {
			if d.Rationale == planner.DefaultReason || d.Outcome != "success" || d.DurationMS == nil {
				t.Errorf("turn %d: %+v", i+1, d)
			}
		}
	}
	path := "/api/chat/history?thread_id=" + url.QueryEscape(string(first))
	before := read(t, s.g.addr, "alice", path)
	s.g.kill()
	s.g.restart()
	if after := read(t, s.g.addr, "alice", path); after != before {
		t.Errorf("after a restart\n%s\nand before\n%s", after, before)
	}
}

// Turns, jobs and sessions are the same at every gateway of a cluster, including
// one that reads the log again.
func TestTurns_Cluster(t *testing.T) {
	t.Parallel()
	port, store := freePort(t), t.TempDir()
	startNATS(t, port, store)
	nats := "nats://127.0.0.1:" + port
	a, b := startGateway(t, labConfig, "--nats", nats), startGateway(t, labConfig, "--nats", nats)
	say := func(g *gatewayProc, who, format string, args ...any) {
		t.Helper()
		if code := postWhenServed(t, g.addr, who, fmt.Sprintf(format, args...)); code != "" {
			t.Fatal(code)
		}
	}
	answers := "nothing"
	for n := range 10 {
		say(a, "alice", `{"id":"q%d","kind":"chat","correlationId":%q,"payload":{"message":"question %d"}}`, n, answers, n)
		say(b, "bob", `{"id":"c%d","kind":"reasoning.start","correlationId":"q%d","payload":{"message":"x"}}`, n, n)
		say(a, "bob", `{"id":"r%d","kind":"mcp.request","context":"c%d","payload":{"method":"tools/call","params":{"name":"look"}}}`, n, n)
		say(b, "carol", `{"id":"a%d","kind":"mcp.response","context":"c%d","correlationId":"r%d","payload":{"result":{}}}`, n, n, n)
		say(a, "bob", `{"id":"e%d","kind":"reasoning.conclusion","context":"c%d","payload":{"message":"x"}}`, n, n)
		say(b, "bob", `{"id":"m%d","kind":"chat","correlationId":"q%d","payload":{"message":"answer %d"}}`, n, n, n)
		answers = fmt.Sprint("m", n)
	}
	say(b, "carol", `{"id":"s0","kind":"chat","payload":{"message":"begins a thread","session_id":"sprint-12"}}`)
	say(a, "dave", `{"id":"j0","kind":"reasoning.start","payload":{"message":"nightly sweep","session_id":"sprint-12"}}`)
	say(b, "dave", `{"id":"jr","kind":"mcp.request","context":"j0","payload":{"method":"tools/call","params":{"name":"sweep"}}}`)
	say(a, "carol", `{"id":"ja","kind":"mcp.response","context":"j0","correlationId":"jr","payload":{"result":{}}}`)
	say(b, "dave", `{"id":"je","kind":"reasoning.conclusion","context":"j0","payload":{"message":"swept"}}`)
	var c *gatewayProc // starts when the first gateway has everything
	history := func(path string, ready func(h *api.History) bool) {
		t.Helper()
		want := ""
		eventually(t, "the first gateway has all of "+path, func() bool {
			want = read(t, a.addr, "alice", path)
			var h api.History
			return json.Unmarshal([]byte(want), &h) == nil && len(h.Turns) > 0 && h.Turns[len(h.Turns)-1].Response != nil && ready(&h)
		})
		if c == nil {
			c = startGateway(t, labConfig, "--nats", nats)
		}
		for _, g := range []*gatewayProc{b, c} {
			eventually(t, "another gateway returns the same of "+path, func() bool { return read(t, g.addr, "alice", path) == want })
		}
	}
	history("/api/chat/history?thread_id=q0", func(h *api.History) bool { return len(h.Turns) == 10 })
	history("/api/chat/history?job_id=j0&space=lab", func(h *api.History) bool { return h.JobID == "j0" && h.Turns[0].State == api.TurnCompleted })
	history("/api/chat/history?session_id=sprint-12&space=lab", func(h *api.History) bool { return len(h.Turns) == 2 && h.Turns[1].JobID == "j0" })
}

// TestSearch_Cluster: each gateway of a cluster finds what was sent to another one,
// and finds it again after it was killed.
func TestSearch_Cluster(t *testing.T) {
	t.Parallel()
	port, store := freePort(t), t.TempDir()
	startNATS(t, port, store)
	nats := "nats://127.0.0.1:" + port
	list := []*gatewayProc{startGateway(t, labConfig, "--nats", nats), startGateway(t, labConfig, "--nats", nats)}
	for n := range 40 {
		if code := postWhenServed(t, list[n%2].addr, "alice", fmt.Sprintf(`{"id":"n%[1]d","kind":"chat","payload":{"message":"needle number%[1]d"}}`, n)); code != "" {
			t.Fatal(code)
		}
	}
	found := func(g *gatewayProc) bool {
		var r api.SearchResult
		return json.Unmarshal([]byte(read(t, g.addr, "dave", "/api/spaces/lab/search?q=needle&limit=100")), &r) == nil && len(r.Hits) == 40
	}
	for _, g := range list {
		eventually(t, "a gateway finds the chats of both", func() bool { return found(g) })
	}
	list[0].kill()
	list[0].restart()
	eventually(t, "it finds them after a restart", func() bool { return found(list[0]) })
}
