// Package a2a serves a space to agents that speak A2A 1.0: a message asks the space a
// question, which is a task; its reasoning is the status, and the answers are the
// artifacts. All state is in the log of the space: a task is read from it, and a stream
// of events continues after any of them.
//
// Of the SDK, a2a-go, only the types are used. Its server keeps tasks, events and a queue
// for each in memory: a restart would lose them, and other gateways would not know them.
package a2a

import (
	"encoding/json"
	"net/http"
	"strings"

	wire "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/protocol"
)

// Patterns are the routes of the handler, of an http.ServeMux.
var Patterns = []string{
	"POST /a2a", "POST /a2a/{space}", "GET /a2a/{space}/{rest...}", "POST /a2a/{space}/{rest...}", "DELETE /a2a/{space}/{rest...}",
}

// Options configures the handler.
type Options struct {
	adapter.Options
	Version string // of the gateway, for the cards
}

// New returns the handler of Patterns.
func New(o Options) http.Handler {
	s := &server{gate: adapter.NewGate(o.Options), options: o}
	return http.HandlerFunc(s.serve)
}

type server struct {
	gate    *adapter.Gate
	options Options
}

// call is a request to one operation.
type call struct {
	*adapter.Request
	server *server
	w      http.ResponseWriter
	r      *http.Request

	space  string
	you    protocol.ParticipantID
	agent  protocol.ParticipantID // the recipient; "": all
	params protocol.Value
	rpc    bool            // JSON-RPC, otherwise HTTP+JSON
	id     json.RawMessage // of the request of JSON-RPC
}

// The operations that respond at once, and the ones that respond with a stream.
var (
	operations = map[string]func(*call) (any, error){
		"SendMessage": (*call).sendMessage, "GetTask": (*call).getTask, "ListTasks": (*call).listTasks, "CancelTask": (*call).cancelTask,
		"GetExtendedAgentCard":             (*call).extendedCard,
		"CreateTaskPushNotificationConfig": noPush, "GetTaskPushNotificationConfig": noPush,
		"ListTaskPushNotificationConfigs": noPush, "DeleteTaskPushNotificationConfig": noPush,
	}
	streams = map[string]func(*call) error{"SendStreamingMessage": (*call).sendStreaming, "SubscribeToTask": (*call).subscribe}
)

func noPush(*call) (any, error) {
	return nil, fail(wire.ErrPushNotificationNotSupported, "The space sends no push notifications; subscribe to the task.")
}

// cardPath is the well-known path of a card below its address.
const cardPath = ".well-known/agent-card.json"

// serve answers a request to a space, or to an agent of it: /agents/{participant}
// below the space.
func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	c := &call{server: s, w: w, r: r, space: r.PathValue("space")}
	rest := r.PathValue("rest")
	if below, ok := strings.CutPrefix(rest, "agents/"); ok {
		var agent string
		agent, rest, _ = strings.Cut(below, "/")
		c.agent = protocol.ParticipantID(agent)
		if !protocol.ValidParticipantID(agent) {
			c.respond(nil, protocol.Errorf(protocol.CodeNotFound, "There is no such agent."))
			return
		}
	}
	c.rpc = rest == "" && r.Method == http.MethodPost
	if rest == cardPath && r.Method == http.MethodGet && r.Header.Get("Authorization") == "" {
		// The card for clients without a token depends on nothing but the address: it is the same for a space
		// that exists and for one that does not.
		err := access.CheckHost(r, s.options.Origins)
		switch {
		case err != nil:
			c.respond(nil, err)
		case !protocol.ValidSpaceName(c.space):
			c.respond(nil, protocol.Errorf(protocol.CodeNotFound, "There is no such space."))
		default:
			c.respond(c.card(), nil)
		}
		return
	}
	q, err := s.gate.Open(w, r, c.space, maxBody)
	if err != nil {
		c.respond(nil, err)
		return
	}
	defer q.Close()
	c.Request = q
	if err := c.dispatch(rest); err != nil {
		c.respond(nil, err)
	}
}

// dispatch reads the operation of a request, checks its version and its space, and calls it.
// An error was not sent yet.
func (c *call) dispatch(rest string) (err error) {
	var operation string
	if c.rpc {
		operation, err = c.readRPC()
	} else {
		operation, err = c.readREST(rest)
	}
	if err != nil {
		return err
	}
	version := c.r.Header.Get("A2A-Version")
	if version == "" {
		version = c.r.URL.Query().Get("A2A-Version")
	}
	// Without a version it is 0.3; the well-known card is for clients that have not chosen one.
	if version != "1.0" && !strings.HasPrefix(version, "1.0.") && rest != cardPath {
		return fail(wire.ErrVersionNotSupported, "The gateway speaks A2A 1.0; send the header A2A-Version: 1.0.")
	}
	tenant := c.params.Get("tenant").Text()
	if c.space != "" && tenant != "" && tenant != c.space {
		return fail(wire.ErrInvalidParams, "tenant: expected the space of the address.")
	}
	if c.space == "" {
		c.space = tenant
	}
	c.space, c.you, err = c.Space(c.r.Context(), c.space)
	if err != nil {
		return err
	}
	if stream := streams[operation]; stream != nil {
		return stream(c)
	}
	result, err := operations[operation](c)
	if err == nil {
		c.respond(result, nil)
	}
	return err
}

// readRPC reads a request of JSON-RPC.
func (c *call) readRPC() (operation string, err error) {
	doc, err := protocol.ParseForeignJSON(c.Body, protocol.MaxDepth)
	if err != nil {
		return "", fail(wire.ErrParseError, "The body must be JSON: "+err.Error()+".")
	}
	root := doc.Root()
	id := root.Get("id")
	switch {
	case root.Type() != protocol.TypeObject || !root.Get("jsonrpc").EqualText("2.0"):
		return "", fail(wire.ErrInvalidRequest, "The body must be one request of JSON-RPC 2.0.")
	case id.Exists() && (len(id.Raw()) > maxID || id.Type() != protocol.TypeString && id.Type() != protocol.TypeNumber && id.Type() != protocol.TypeNull):
		return "", fail(wire.ErrInvalidRequest, "id: expected a text or a number.")
	}
	c.id, c.params = append(json.RawMessage{}, id.Raw()...), root.Get("params")
	operation = root.Get("method").Text()
	switch {
	case c.params.Exists() && c.params.Type() != protocol.TypeObject:
		return "", fail(wire.ErrInvalidParams, "params: expected an object.")
	case operations[operation] != nil || streams[operation] != nil:
		return operation, nil
	case strings.Contains(operation, "/"):
		return "", fail(wire.ErrVersionNotSupported, "This is a method of an earlier version; the gateway speaks A2A 1.0.")
	}
	return "", fail(wire.ErrMethodNotFound, "method: expected an operation of A2A such as SendMessage.")
}

// readREST reads a request over HTTP+JSON: the fields of the body or of the query, and
// the id of the path.
func (c *call) readREST(rest string) (operation string, err error) {
	operation, id := route(c.r.Method, rest)
	if operation == "" {
		return "", fail(wire.ErrMethodNotFound, "There is no operation at this path; the card has the address.")
	}
	text := c.Body
	if !strings.HasPrefix(operation, "Send") {
		var fields []any
		for name, values := range c.r.URL.Query() {
			fields = append(fields, name, values[0])
		}
		text = adapter.Object(append(fields, "id", id)...)
	}
	doc, err := protocol.ParseForeignJSON(text, protocol.MaxDepth)
	if err != nil {
		return "", fail(wire.ErrParseError, "The body must be JSON: "+err.Error()+".")
	}
	c.params = doc.Root()
	if c.params.Type() != protocol.TypeObject {
		return "", fail(wire.ErrInvalidParams, "The body must be an object.")
	}
	return operation, nil
}

// route returns the operation at a path, and the id of the task in it.
func route(method, path string) (operation, id string) {
	switch method + " " + path {
	case "POST message:send":
		return "SendMessage", ""
	case "POST message:stream":
		return "SendStreamingMessage", ""
	case "GET tasks":
		return "ListTasks", ""
	case "GET extendedAgentCard", "GET " + cardPath:
		return "GetExtendedAgentCard", ""
	}
	below, ok := strings.CutPrefix(path, "tasks/")
	if !ok || below == "" {
		return "", ""
	}
	id, below, nested := strings.Cut(below, "/")
	if collection, _, _ := strings.Cut(below, "/"); nested && collection == "pushNotificationConfigs" {
		return "GetTaskPushNotificationConfig", id // all of them have the same response
	}
	task, action := id, ""
	colon := strings.LastIndexByte(id, ':')
	if colon >= 0 {
		task, action = id[:colon], id[colon+1:]
	}
	switch {
	case nested:
		return "", ""
	case method == http.MethodPost && action == "cancel":
		return "CancelTask", task
	case method != http.MethodDelete && action == "subscribe":
		return "SubscribeToTask", task
	case method == http.MethodGet:
		return "GetTask", id
	}
	return "", ""
}

// respond sends the result of an operation, or its error.
func (c *call) respond(result any, err error) {
	status, body := http.StatusOK, result
	if err != nil {
		f := faultOf(err)
		body = f.rest()
		if c.rpc {
			body = c.rpcError(f)
		}
		if !c.rpc || f.transport {
			status = f.status
		}
		h := c.w.Header()
		h.Set("Cache-Control", "no-store")
		if f.status == http.StatusUnauthorized {
			h.Set("WWW-Authenticate", `Bearer realm="meup"`)
		}
		if f.cause != nil {
			access.SetRetryAfter(h, f.cause)
		}
	} else if c.rpc {
		body = c.rpcResult(result)
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // of texts and JSON that was read
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	_, _ = c.w.Write(append(text, '\n')) // the peer may have disconnected
}

func (c *call) rpcResult(result any) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": c.rpcID(), "result": result}
}

func (c *call) rpcError(f *fault) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": c.rpcID(), "error": f.rpc()}
}

func (c *call) rpcID() any {
	if len(c.id) == 0 {
		return nil
	}
	return c.id
}
