package apidoc_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/meup-protocol/meup/internal/testing/meuptest"
)

// story is a conversation with a tool call, a proposal and reasoning that no chat asked
// for.
const story = `[
{"id":"q-1","kind":"chat","payload":{"message":"Is the invoice of March there?","session_id":"sprint-12"}},
{"id":"c-1","kind":"reasoning.start","correlationId":"q-1","payload":{"message":"Looking for the invoice"}},
{"id":"t-1","kind":"reasoning.thought","context":"c-1","payload":{"message":"I list the files.","tool_name":"list"}},
{"id":"r-1","kind":"mcp.request","context":"c-1","to":["bob"],"correlationId":"t-1","payload":{"id":1,"method":"tools/call","params":{"name":"list"}}},
{"id":"a-1","kind":"mcp.response","context":"c-1","correlationId":"r-1","payload":{"id":1,"result":{"content":[{"type":"text","text":"march.pdf"}]}}},
{"id":"p-1","kind":"mcp.proposal","context":"c-1","payload":{"method":"tools/call","params":{"name":"delete_file"}}},
{"id":"x-1","kind":"reasoning.conclusion","context":"c-1","payload":{"message":"It is there."}},
{"id":"b-1","kind":"chat","correlationId":"q-1","payload":{"message":"Yes."}},
{"id":"j-1","kind":"reasoning.start","payload":{"message":"nightly sweep"}},
{"id":"j-2","kind":"reasoning.conclusion","context":"j-1","payload":{"message":"Nothing to do."}}]`

// publishStory sends the story: alice asks and bob answers.
func (s *service) publishStory() {
	s.t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(story), &list); err != nil {
		s.t.Fatal(err)
	}
	for i, envelope := range list {
		who := "bob"
		if i == 0 {
			who = "alice"
		}
		resp, body := s.ask(http.MethodPost, "/api/spaces/lab/envelopes", who, string(envelope))
		if s.validate(http.MethodPost, "/api/spaces/{space}/envelopes", resp, body); resp.StatusCode != http.StatusOK {
			s.t.Fatalf("%s: %s", envelope, body)
		}
	}
}

// The responses of a gateway are the described ones, also the errors.
func TestOpenAPI_Responses(t *testing.T) {
	s := start(t, meuptest.Config)
	s.publishStory()
	const inSpace, envelopes = "/api/spaces/{space}", "/api/spaces/{space}/envelopes"
	for _, c := range []struct {
		method, template, path, who, body string
		status                            int
	}{
		{"GET", envelopes, "/api/spaces/lab/envelopes", "alice", "", 200},
		{"GET", envelopes, "/api/spaces/lab/envelopes?order=desc&limit=2", "alice", "", 200},
		{"GET", envelopes, "/api/spaces/lab/envelopes?limit=x", "alice", "", 400},
		{"GET", envelopes, "/api/spaces/lab/envelopes", "", "", 401},
		{"GET", envelopes, "/api/spaces/none/envelopes", "alice", "", 404},
		{"GET", envelopes, "/api/spaces/lab/envelopes?since=1&log=another", "alice", "", 410},
		{"GET", envelopes + "/{id}", "/api/spaces/lab/envelopes/q-1", "alice", "", 200},
		{"GET", envelopes + "/{id}", "/api/spaces/lab/envelopes/none", "alice", "", 404},
		{"GET", envelopes + "/{id}/turn", "/api/spaces/lab/envelopes/a-1/turn", "alice", "", 200},
		{"GET", envelopes + "/{id}/turn", "/api/spaces/lab/envelopes/j-1/turn", "alice", "", 200},
		{"POST", envelopes, "/api/spaces/lab/envelopes", "planner", `{"kind":"mcp.request","payload":{"method":"tools/list"}}`, 403},
		{"POST", envelopes, "/api/spaces/lab/envelopes", "alice", `{"kind":"chat"`, 400},
		{"POST", envelopes, "/api/spaces/lab/envelopes", "alice", `[{"kind":"x.a"},{"kind":"x.b"}]`, 200},
		{"POST", envelopes, "/api/spaces/lab/envelopes", "alice", `[{"kind":"x.a"},{"kind":"chat","payload":{}},{"kind":"system.ack"}]`, 207},
		{"POST", envelopes, "/api/spaces/lab/envelopes", "alice", `[{"kind":"system.ack"}]`, 403},
		{"POST", envelopes, "/api/spaces/lab/envelopes", "alice", `{"kind":"space.invite","payload":{"participant_id":"guest","ttl_seconds":60}}`, 200},
		{"GET", inSpace + "/search", "/api/spaces/lab/search?q=invoice", "alice", "", 200},
		{"GET", inSpace + "/search", "/api/spaces/lab/search", "alice", "", 400},
		{"GET", inSpace + "/proposals", "/api/spaces/lab/proposals?state=all", "alice", "", 200},
		{"GET", inSpace + "/proposals/{id}/scopes", "/api/spaces/lab/proposals/p-1/scopes?to=bob", "alice", "", 200},
		{"GET", inSpace + "/proposals/{id}/scopes", "/api/spaces/lab/proposals/q-1/scopes", "alice", "", 404},
		{"GET", inSpace + "/decisions", "/api/spaces/lab/decisions", "alice", "", 200},
		{"GET", inSpace + "/decisions", "/api/spaces/lab/decisions?since=x", "alice", "", 400},
		{"GET", inSpace + "/deciders", "/api/spaces/lab/deciders", "alice", "", 200},
		{"GET", inSpace + "/deciders", "/api/spaces/lab/deciders?since=x", "alice", "", 400},
		{"GET", inSpace + "/deciders", "/api/spaces/lab/deciders", "planner", "", 403},
		{"GET", inSpace + "/contexts", "/api/spaces/lab/contexts", "alice", "", 200},
		{"GET", inSpace + "/contexts/{path}", "/api/spaces/lab/contexts/c-1", "alice", "", 200},
		{"GET", inSpace + "/contexts/{path}", "/api/spaces/lab/contexts/none", "alice", "", 404},
		{"GET", inSpace + "/threads", "/api/spaces/lab/threads", "alice", "", 200},
		{"GET", inSpace + "/threads/{thread}", "/api/spaces/lab/threads/q-1", "alice", "", 200},
		{"GET", inSpace + "/threads/{thread}", "/api/spaces/lab/threads/q-1.md", "alice", "", 200},
		{"GET", inSpace + "/jobs", "/api/spaces/lab/jobs", "alice", "", 200},
		{"GET", inSpace + "/jobs/{job}", "/api/spaces/lab/jobs/j-1", "alice", "", 200},
		{"GET", inSpace + "/jobs/{job}", "/api/spaces/lab/jobs/j-1.md", "alice", "", 200},
		{"GET", inSpace + "/sessions/{session}", "/api/spaces/lab/sessions/sprint-12", "alice", "", 200},
		{"GET", "/api/chat/history", "/api/chat/history?thread_id=q-1", "alice", "", 200},
		{"GET", "/api/chat/history", "/api/chat/history?job_id=j-1", "alice", "", 200},
		{"GET", "/api/chat/history", "/api/chat/history?session_id=sprint-12", "alice", "", 200},
		{"GET", "/api/chat/history", "/api/chat/history", "alice", "", 400},
		{"GET", "/api/spaces", "/api/spaces", "alice", "", 200},
		{"GET", inSpace + "/participants", "/api/spaces/lab/participants", "alice", "", 200},
		{"GET", inSpace + "/claims", "/api/spaces/lab/claims", "planner", "", 200},
		{"GET", inSpace + "/policy", "/api/spaces/lab/policy", "alice", "", 200},
		{"GET", inSpace + "/policy", "/api/spaces/lab/policy", "planner", "", 403},
		{"GET", inSpace + "/suggestions", "/api/spaces/lab/suggestions?since=7d", "alice", "", 200},
		{"GET", inSpace + "/suggestions", "/api/spaces/lab/suggestions?since=soon", "alice", "", 400},
		{"GET", inSpace + "/suggestions", "/api/spaces/lab/suggestions", "planner", "", 403},
		{"POST", inSpace + "/backtest", "/api/spaces/lab/backtest", "alice", "spaces: {lab: {participants: {alice: {token_env: ALICE, capabilities: [chat]}}}}", 200},
		{"POST", inSpace + "/backtest", "/api/spaces/lab/backtest", "alice", "spaces: {lab: 1}", 400},
		{"POST", inSpace + "/backtest", "/api/spaces/lab/backtest", "planner", "spaces: {}", 403},
		{"GET", inSpace + "/budgets", "/api/spaces/lab/budgets", "alice", "", 200},
		{"GET", "/api/session", "/api/session", "alice", "", 200},
		{"POST", "/api/session", "/api/session", "", `{"token":"alice-token"}`, 200},
		{"POST", "/api/session", "/api/session", "", `{"token":"wrong"}`, 401},
		{"GET", "/healthz", "/healthz", "", "", 200},
		{"GET", "/readyz", "/readyz", "", "", 200},
		{"GET", "/version", "/version", "", "", 200},
		{"GET", "/metrics", "/metrics", "", "", 200},
		{"GET", inSpace + "/hooks/{program}", "/api/spaces/lab/hooks/claude", "", "", 405},
		{"POST", inSpace + "/hooks/{program}", "/api/spaces/lab/hooks/claude", "alice", `{"hook_event_name":"Unknown"}`, 200},
		{"GET", "/api/openapi.json", "/api/openapi.json", "", "", 200},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			s := &service{t: t, g: s.g, compiler: s.compiler, openapi: s.openapi}
			resp, body := s.ask(c.method, c.path, c.who, c.body)
			for resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "" { // the index is being built
				resp, body = s.ask(c.method, c.path, c.who, c.body)
			}
			if resp.StatusCode != c.status {
				t.Fatalf("%d %s", resp.StatusCode, body)
			}
			if c.status != http.StatusMethodNotAllowed {
				s.validate(c.method, c.template, resp, body)
			}
		})
	}
	for _, accept := range []string{"application/jsonl", "application/x-ndjson"} {
		resp, body := s.ask(http.MethodGet, "/api/spaces/lab/envelopes", "alice", "", "Accept: "+accept)
		s.validate(http.MethodGet, envelopes, resp, body)
	}
	if resp, _ := s.ask(http.MethodDelete, "/api/session", "", ""); at(s.openapi, "paths", "/api/session", "delete", "responses", "204") == nil || resp.StatusCode != http.StatusNoContent {
		t.Errorf("signing out: %s", resp.Status)
	}
}

// dial connects to the space lab as a participant.
func (s *service) dial(who, query string) *websocket.Conn {
	s.t.Helper()
	c, resp, err := websocket.Dial(s.t.Context(), strings.Replace(s.g.HTTP(), "http", "ws", 1)+"/ws?space=lab"+query,
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + who + "-token"}}})
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

// messageSchema returns the schema of a message of the AsyncAPI description.
func (s *service) messageSchema(name string) *jsonschema.Schema {
	s.t.Helper()
	return s.schema("asyncapi.json", "components", "messages", name, "payload", "schema")
}

// The frames of a connection are messages that the gateway sends there by the
// description, and have their schema.
func TestAsyncAPI_Frames(t *testing.T) {
	s := start(t, meuptest.Config)
	c := s.dial("alice", "&ack=true")
	bob := s.dial("bob", "")
	for _, frame := range []string{
		`{"id":"f-1","kind":"system.subscribe","payload":{"kinds":["*"],"depth":2}}`,
		`{"id":"f-2","kind":"system.subscribe","payload":{"unknown":true}}`,
		`{"kind":"space.invite","payload":{"participant_id":"guest","initial_capabilities":["chat"],"ttl_seconds":60}}`,
		`{"kind":"capability.grant","payload":{"recipient":"alice","capabilities":["x.a"]}}`,
		`{"id":"s-1","kind":"stream.open","payload":{"stream_id":"s"}}`,
		`{"kind":"stream.grant-write","payload":{"stream_id":"s","participant_id":"bob"}}`,
	} {
		if err := c.Write(t.Context(), websocket.MessageText, []byte(frame)); err != nil {
			t.Fatal(err)
		}
	}
	s.publishStory()
	if err := bob.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Fatal(err)
	}
	delivered := map[string]bool{}
	for _, ref := range at(s.asyncapi, "operations", "deliver", "messages").([]any) {
		delivered[strings.TrimPrefix(at(ref, "$ref").(string), "#/channels/space/messages/")] = true
	}
	missing := []string{
		"system.welcome", "system.presence", "system.subscribed", "system.error", "system.ack", "space.invite", "space.invite-ack", "capability.grant",
		"stream.open", "stream.grant-write", "stream.write-granted", "chat", "reasoning.start", "reasoning.thought", "mcp.request", "mcp.response", "mcp.proposal", "reasoning.conclusion",
	}
	for len(missing) > 0 {
		_, frame, err := c.Read(t.Context())
		if err != nil {
			t.Fatalf("without %v: %v", missing, err)
		}
		parsed := parse(t, string(frame))
		kind := at(parsed, "kind").(string)
		missing = slices.DeleteFunc(missing, func(k string) bool { return k == kind })
		if !delivered[kind] {
			t.Errorf("%s is not described", frame)
			continue
		}
		if err := s.messageSchema(kind).Validate(parsed); err != nil {
			t.Errorf("%s: %#v", frame, err)
		}
	}
}

// The events of a stream are messages of the channel events, and have their schema.
func TestAsyncAPI_Events(t *testing.T) {
	s := start(t, meuptest.Config)
	s.publishStory()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.g.HTTP()+"/api/spaces/lab/events?since=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice-token")
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	missing := []string{"system", "envelope", "reasoning_update"}
	name := ""
	for lines := bufio.NewScanner(resp.Body); len(missing) > 0 && lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = text
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		missing = slices.DeleteFunc(missing, func(n string) bool { return n == name })
		if at(s.asyncapi, "channels", "events", "messages", name) == nil {
			t.Fatalf("%s is not described: %s", name, data)
		}
		if err := s.messageSchema("event." + name).Validate(parse(t, data)); err != nil {
			t.Errorf("%s: %s: %#v", name, data, err)
		}
	}
	if len(missing) > 0 {
		t.Errorf("the stream ended without %v", missing)
	}
}
