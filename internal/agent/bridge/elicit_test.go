package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/bridge"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// askedBy is a tool that asks the user with its arguments as the question, and returns the
// answer.
func askedBy(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var p mcp.ElicitParams
	if err := json.Unmarshal(req.Params.Arguments, &p); err != nil {
		return nil, err
	}
	answer, err := req.Session.Elicit(ctx, &p)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(answer)
	return text(string(raw)), err
}

// curious is a server in this process with a tool that asks.
func curious() (*moody, mcptools.Server) {
	m, server := inProcess()
	m.tool("ask", askedBy)
	return m, server
}

// handshake is the newest revision in which a server sends requests.
const handshake = "2025-11-25"

// questioning is a setup with a bridge that passes questions on.
func questioning() setup {
	return setup{tools: mcptools.Options{OnElicit: bridge.Elicit, Protocol: handshake}}
}

const portForm = `{"message":"Which port?","requestedSchema":{"type":"object","required":["zone","port"],"properties":{"zone":{"type":"string"},"port":{"type":"integer","minimum":1},"alive":{"type":"boolean"}}}}`

// inquire calls the tool that asks, and returns the id of the call and the question.
func inquire(t *testing.T, c *client.Client, question string) (protocol.ID, protocol.Envelope) {
	t.Helper()
	id := begin(t, c, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":`+question+`}}`)
	q := await(t, c, saying("elicitation/create"))
	if !q.Correlation.Names(id) || !q.AddressedTo(c.Welcome().You.ID) {
		t.Errorf("the question is to %s about %s; expected the call %s", q.To, q.Correlation.IDs, id)
	}
	return id, q
}

// reply answers a question.
func reply(t *testing.T, c *client.Client, q *protocol.Envelope, result string) {
	t.Helper()
	_, err := c.Send(testkit.Deadline(t), protocol.Envelope{
		Kind: protocol.KindMCPResponse, To: theBridge, Correlation: protocol.CorrelateTo(q.ID),
		Payload: json.RawMessage(`{"jsonrpc":"2.0","id":"` + string(q.ID) + `",` + result + `}`),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// outcomeOf returns the text of the result of a call.
func outcomeOf(t *testing.T, c *client.Client, id protocol.ID) string {
	t.Helper()
	env := await(t, c, responseTo(id))
	if content := env.ParsePayload().Get("result").Get("content"); content.Len() == 1 {
		for item := range content.Elements {
			return item.Get("text").Text()
		}
	}
	return string(env.Payload)
}

func TestElicitation_AnswerOfTheCaller(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := curious()
	with := questioning()
	with.ahead = time.Hour // the question expires by the gateway's clock
	e := employ(t, g, server, with)
	alice, carol := join(t, g, "alice", nil), join(t, g, "carol", nil)
	for answer, want := range map[string]string{
		`"result":{"action":"accept","content":{"zone":"eu","port":4503599627370497,"alive":true}}`: `{"action":"accept","content":{"alive":true,"port":4503599627370497,"zone":"eu"}}`,
		`"result":{"action":"decline"}`:                                                       `{"action":"decline"}`,
		`"result":{"action":"cancel"}`:                                                        `{"action":"cancel"}`,
		`"result":{"action":"accept","content":{"zone":"eu","port":0}}`:                       `{"action":"cancel"}`,
		`"result":{"action":"accept","content":{"zone":"eu","port":1,"password":"x"}}`:        `{"action":"cancel"}`,
		`"result":{"action":"accept"}`:                                                        `{"action":"cancel"}`,
		`"result":{"action":"perhaps"}`:                                                       `{"action":"cancel"}`,
		`"result":{"action":"accept","content":{"zone":"eu","port":1}},"redacted":["a-rule"]`: `{"action":"cancel"}`,
		`"error":{"code":-32601,"message":"Method not found"}`:                                `{"action":"cancel"}`,
	} {
		id, q := inquire(t, alice, portForm)
		params := q.ParsePayload().Get("params")
		if schema := string(params.Get("requestedSchema").Raw()); strings.Index(schema, "zone") > strings.Index(schema, "port\"") && !strings.Contains(schema, `["zone","port"]`) {
			t.Errorf("the fields have another order: %s", schema)
		}
		if got := params.Get("_meta").Get("meup/server").Get("name").Text(); got != "moody" {
			t.Errorf("the question names the server %q", got)
		}
		if until, err := time.Parse(time.RFC3339, params.Get("_meta").Get("meup/expires_at").Text()); err != nil || time.Until(until) > 5*time.Minute {
			t.Errorf("the question expires at %v, %v", until, err)
		}
		reply(t, carol, &q, `"result":{"action":"accept","content":{"zone":"carol","port":1}}`) // was not asked
		reply(t, alice, &q, answer)
		if got := outcomeOf(t, alice, id); got != want {
			t.Errorf("%s reaches the server as %s; expected %s", answer, got, want)
		}
	}
	if !strings.Contains(e.log.String(), "does not answer questions: Method not found") || !strings.Contains(e.log.String(), "masked a secret") {
		t.Errorf("the log does not tell why: %s", e.log)
	}
}

func TestElicitation_Link(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := curious()
	employ(t, g, server, questioning())
	alice := join(t, g, "alice", nil)
	id, q := inquire(t, alice, `{"mode":"url","message":"Sign in","url":"https://example.org/in","elicitationId":"e1"}`)
	if got := q.ParsePayload().Get("params").Get("url").Text(); got != "https://example.org/in" {
		t.Errorf("the question has the address %q", got)
	}
	reply(t, alice, &q, `"result":{"action":"accept"}`)
	if got := outcomeOf(t, alice, id); got != `{"action":"accept"}` {
		t.Errorf("the server got %s", got)
	}
}

// A question that is no flat form, or too large, is not sent to the requester.
func TestElicitation_Refused(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := curious()
	employ(t, g, server, questioning())
	alice := join(t, g, "alice", nil)
	for _, question := range []string{
		`{"message":"` + strings.Repeat("x", 9<<10) + `"}`,
		`{"message":"` + strings.Repeat("x", 70<<10) + `"}`,
		`{"mode":"url","message":"m","url":"http://example.org/","elicitationId":"1"}`,
	} {
		id := begin(t, alice, `{"id":1,"method":"tools/call","params":{"name":"ask","arguments":`+question+`}}`)
		env := await(t, alice, func(env *protocol.Envelope) bool {
			return env.From == "files" && (env.Correlation.Names(id) || env.Kind == protocol.KindMCPRequest)
		})
		if env.Kind != protocol.KindMCPResponse || !strings.Contains(string(env.Payload), "question not passed on") {
			t.Errorf("%.100s: %s %.300s", question, env.Kind, env.Payload)
		}
	}
}

// unanswered makes a call that asks, and does not answer. It returns the call when the question
// is withdrawn. On a busy machine, AnswerTimeout may pass before the question is in the log.
func unanswered(t *testing.T, g *meuptest.Gateway, server mcptools.Server, s setup, c *client.Client, request string) protocol.ID {
	t.Helper()
	for s.bridge.AnswerTimeout = time.Second; ; s.bridge.AnswerTimeout *= 2 {
		e := employ(t, g, server, s)
		id := begin(t, c, request)
		var q protocol.Envelope
		withdrawn := await(t, c, func(env *protocol.Envelope) bool {
			if saying("elicitation/create")(env) && env.Correlation.Names(id) {
				q = *env
			}
			return saying("notifications/cancelled")(env)
		})
		if strings.Contains(string(withdrawn.Payload), "it may not have been sent") && s.bridge.AnswerTimeout < testkit.Patience {
			e.stop()
			continue
		}
		if !withdrawn.Correlation.Names(q.ID) || !strings.Contains(string(withdrawn.Payload), "nobody has answered in time") {
			t.Errorf("withdrawn: %s", withdrawn.Payload)
		}
		return id
	}
}

func TestElicitation_NoAnswer(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := curious()
	alice := join(t, g, "alice", nil)
	id := unanswered(t, g, server, questioning(), alice, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":`+portForm+`}}`)
	if got := outcomeOf(t, alice, id); got != `{"action":"cancel"}` {
		t.Errorf("the server got %s", got)
	}
}

func TestElicitation_CallCancelled(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := curious()
	s := questioning()
	s.bridge.MaxCalls = 1
	employ(t, g, server, s)
	alice := join(t, g, "alice", nil)
	id, q := inquire(t, alice, portForm)
	if got := ask(t, alice, "tools/call", tool("pid")); !strings.Contains(got, "content") { // the place is lent
		t.Errorf("another call: %s", got)
	}
	begin(t, alice, `{"method":"notifications/cancelled","params":{"requestId":"`+string(id)+`"}}`)
	seen := make(map[string]bool)
	for len(seen) < 2 {
		await(t, alice, func(env *protocol.Envelope) bool {
			switch {
			case saying("notifications/cancelled")(env) && env.Correlation.Names(q.ID):
				seen["question"] = true
			case responseTo(id)(env):
				seen["call"] = true
			default:
				return false
			}
			return true
		})
	}
}

// Two requesters: over pipes the server does not tell whose call it asks about, so nobody is
// asked; over HTTP it does.
func TestElicitation_TwoCallers(t *testing.T) {
	g := meuptest.Start(t, config)
	m, server := curious()
	employ(t, g, server, questioning())
	alice, carol := join(t, g, "alice", nil), join(t, g, "carol", nil)
	waits := begin(t, carol, `{"id":1,"method":"tools/call","params":{"name":"wait","_meta":{"progressToken":1}}}`)
	await(t, carol, saying("notifications/progress"))
	if got := ask(t, alice, "tools/call", map[string]any{"name": "ask", "arguments": json.RawMessage(portForm)}); !strings.Contains(got, `{\"action\":\"cancel\"}`) {
		t.Errorf("over pipes: %s", got)
	}
	close(m.release)
	outcomeOf(t, carol, waits)
	id, q := inquire(t, alice, portForm)
	reply(t, alice, &q, `"result":{"action":"decline"}`)
	if got := outcomeOf(t, alice, id); got != `{"action":"decline"}` {
		t.Errorf("alone: %s", got)
	}
}

func TestElicitation_TwoCallersOverHTTP(t *testing.T) {
	g := meuptest.Start(t, config)
	m, _ := curious()
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m.Server }, nil))
	t.Cleanup(web.Close)
	employ(t, g, mcptools.Server{URL: web.URL}, questioning())
	alice, carol := join(t, g, "alice", nil), join(t, g, "carol", nil)
	first, one := inquire(t, alice, portForm)
	second, two := inquire(t, carol, strings.Replace(portForm, "port?", "ports?", 1))
	for i, q := range []protocol.Envelope{one, two} {
		c, id := []*client.Client{alice, carol}[i], []protocol.ID{first, second}[i]
		if schema := string(q.ParsePayload().Get("params").Get("requestedSchema").Raw()); !strings.Contains(schema, `"zone"`) {
			t.Errorf("the schema is %s", schema)
		}
		reply(t, c, &q, fmt.Sprintf(`"result":{"action":"accept","content":{"zone":"z","port":%d}}`, i+1))
		if got := outcomeOf(t, c, id); !strings.Contains(got, fmt.Sprintf(`"port":%d`, i+1)) {
			t.Errorf("%s got %s", q.To, got)
		}
	}
}

// A server is told that it may ask only if somebody answers.
func TestElicitation_Declared(t *testing.T) {
	g := meuptest.Start(t, config)
	_, server := curious()
	employ(t, g, server, setup{tools: mcptools.Options{Protocol: handshake}})
	alice := join(t, g, "alice", nil)
	if e := refused(t, alice, "tools/call", map[string]any{"name": "ask", "arguments": json.RawMessage(portForm)}); !strings.Contains(e.Message, "does not support elicitation") {
		t.Errorf("without OnElicit: %+v", e)
	}
}

func TestElicitation_EverythingServerOfTheReferenceImplementation(t *testing.T) {
	program := testkit.EverythingServer(t)
	g := meuptest.Start(t, config)
	employ(t, g, mcptools.Server{Command: []string{program}}, setup{tools: mcptools.Options{OnElicit: bridge.Elicit}})
	alice := join(t, g, "alice", nil)
	id := begin(t, alice, callOf(1, "trigger-elicitation-request"))
	q := await(t, alice, saying("elicitation/create"))
	reply(t, alice, &q, `"result":{"action":"accept","content":{"name":"Ana","check":true,"integer":42}}`)
	env := await(t, alice, responseTo(id))
	if !strings.Contains(string(env.Payload), "Ana") {
		t.Errorf("the server answers %s", env.Payload)
	}
}
