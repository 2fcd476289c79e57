package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/mcp/elicit"
	"github.com/meup-protocol/meup/protocol"
)

// A question of a tool server about a call reaches the client that made the call.
//
// From revision 2026-07-28 on, the result of the call is input_required with the
// question, and the client calls again with the answer. Before, the question is a
// request in the stream of the response, and the client posts the answer. The modes that it
// declared in initialize are in the id of its session, so that nothing is stored.

const (
	sessionHeader = "Mcp-Session-Id"
	sessionPrefix = "meup-elicitation-"
	statePrefix   = "meup." // of requestState; the rest is the cursor and the id of the request
)

// modesOf returns the modes of elicitation that capabilities of a client declare.
func modesOf(capabilities protocol.Value) (modes []string) {
	declared := capabilities.Get("elicitation")
	if declared.Get("form").Exists() || declared.Exists() && declared.Len() == 0 {
		modes = append(modes, "form")
	}
	if declared.Get("url").Exists() {
		modes = append(modes, "url")
	}
	return modes
}

// events is a response whose events several goroutines may write.
type events struct {
	http.ResponseWriter
	mu sync.Mutex
}

// Write writes an event.
func (e *events) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ResponseWriter.Write(p)
}

// Flush implements http.Flusher.
func (e *events) Flush() {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = http.NewResponseController(e.ResponseWriter).Flush()
}

// Unwrap implements the interface of http.ResponseController.
func (e *events) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// errAsked is the cause of the end of a request whose client gets a question as the result.
var errAsked = errors.New("a question is asked")

// untilAsked waits for the response to a request, and passes on the notifications of the participant
// that arrive meanwhile. It ends early with a question that is the result for the client.
func (c *caller) untilAsked(ctx context.Context, r *relayed, id protocol.ID, wait func(context.Context, func(*protocol.Envelope)) (*protocol.Envelope, cursor, error)) (question, got *protocol.Envelope, at cursor, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	got, at, err = wait(ctx, func(n *protocol.Envelope) {
		if question == nil && c.asked(ctx, r.host, id, n, true) && c.asks.sessionless {
			question = n
			cancel(errAsked)
		}
		c.passOn(ctx, r, id, n)
	})
	return question, got, at, err
}

// asked reports whether an envelope is a question about a request that the client can
// answer. A client of an earlier revision gets it; a later one only asResult. If the client
// cannot answer, the participant is answered at once.
func (c *caller) asked(ctx context.Context, host protocol.ParticipantID, id protocol.ID, n *protocol.Envelope, asResult bool) bool {
	q := elicit.Asks(n, c.you)
	if q == nil || n.From != host || !n.Correlation.Names(id) {
		return false
	}
	mode := "form"
	if q.URL != "" {
		mode = "url"
	}
	passed := slices.Contains(c.asks.modes, mode) && (asResult || !c.asks.sessionless)
	if passed && !c.asks.sessionless {
		payload := object("jsonrpc", "2.0", "id", string(n.ID), "method", elicit.Method, "params", json.RawMessage(n.ParsePayload().Get("params").Raw()))
		_, err := c.events.Write(slices.Concat([]byte("event: message\ndata: "), payload, []byte("\n\n")))
		c.events.Flush()
		passed = err == nil
	}
	if !passed {
		if err := c.reply(ctx, n, elicit.Reply(n, elicit.Cancel, nil).Payload); err != nil {
			c.server.options.Logger.Debug("question not canceled", "space", c.space, "participant", c.you, "err", err)
		}
	}
	return passed
}

// reply sends the answer to a question. The id follows from both: a retry sends it once.
func (c *caller) reply(ctx context.Context, question *protocol.Envelope, payload json.RawMessage) error {
	e := elicit.Reply(question, elicit.Cancel, nil)
	e.Payload = payload
	id, err := c.id("answer", string(question.ID), []string{string(question.ID), string(payload)})
	if err != nil {
		return err
	}
	e.ID = id
	_, err = c.door.Send(ctx, c.space, e)
	return err
}

// answerOf returns the payload of the answer to a question, with a result of the client.
func answerOf(question *protocol.Envelope, answered protocol.Value) json.RawMessage {
	return elicit.Reply(question, answered.Get("action").Text(), answered.Get("content").Raw()).Payload
}

// question reads a question to the caller that the log has; nil: there is none with the id.
func (c *caller) question(ctx context.Context, id string) (*protocol.Envelope, error) {
	if !protocol.ValidID(id) {
		return nil, nil //nolint:nilnil // the id of something else
	}
	e, err := c.envelope(ctx, protocol.ID(id))
	if errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) {
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil || elicit.Asks(e, c.you) == nil {
		return nil, err
	}
	return e, nil
}

// takeAnswer sends the answer that a client has posted, and reports whether the body was one.
func (c *caller) takeAnswer(ctx context.Context) (bool, error) {
	if !c.asks.answer.Exists() {
		return false, nil
	}
	q, err := c.question(ctx, c.asks.answer.Get("id").Text())
	if q == nil || err != nil {
		return false, err
	}
	payload := elicit.Reply(q, elicit.Cancel, nil).Payload // the client reports an error
	if answered := c.asks.answer.Get("result"); answered.Exists() {
		payload = answerOf(q, answered)
	}
	return true, c.reply(ctx, q, payload)
}

// inputRequired is the result of a call that needs an answer.
func inputRequired(r *relayed, id protocol.ID, question *protocol.Envelope) mcp.Result {
	params := json.RawMessage(question.ParsePayload().Get("params").Raw())
	return rawResult(object(
		"resultType", "input_required",
		"inputRequests", map[string]any{string(question.ID): map[string]any{"method": elicit.Method, "params": params}},
		"requestState", statePrefix+cursor{question.Seq, ""}.String()+" "+string(id),
	), revisionOf(r.req))
}

// resumed returns the request that a call with answers goes on with; "": it is a new one.
func (r *relayed) resumed() (protocol.ID, cursor, error) {
	var state string
	if raw := r.params["requestState"]; raw == nil || json.Unmarshal(raw, &state) != nil {
		return "", cursor{}, nil
	}
	rest, ok := strings.CutPrefix(state, statePrefix)
	if !ok {
		return "", cursor{}, nil // of the participant
	}
	position, id, _ := strings.Cut(rest, " ")
	at, err := parseCursor(position)
	if err != nil || !protocol.ValidID(id) {
		return "", cursor{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState: expected the one of the result"}
	}
	return protocol.ID(id), at, nil
}

// answerResumed sends the answers of a call that goes on with a request. That must be the caller's own, of
// the same method, to the same participant, of the same name. The state needs no signature: what it names
// is in the log, and nothing is sent again. After the end of the request it returns the same result.
func (c *caller) answerResumed(ctx context.Context, r *relayed, id protocol.ID) error {
	refused := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState: expected the one of the result of this request"}
	e, err := c.envelope(ctx, id)
	if errors.Is(err, &protocol.Error{Code: protocol.CodeNotFound}) {
		return refused
	}
	if err != nil {
		return err
	}
	payload := e.ParsePayload()
	if e.Kind != protocol.KindMCPRequest || e.From != c.you || !e.AddressedTo(r.host) || !payload.Get("method").EqualText(r.method) {
		return refused
	}
	for _, name := range []string{"name", "uri"} {
		var given string
		_ = json.Unmarshal(r.params[name], &given) // "" if there is none
		if payload.Get("params").Get(name).Text() != given {
			return refused
		}
	}
	for id, answered := range c.asks.inputs.Members {
		q, err := c.question(ctx, id.Text())
		if err != nil {
			return err
		}
		if q == nil {
			return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "inputResponses: expected the ids of the inputRequests"}
		}
		if err := c.reply(ctx, q, answerOf(q, answered)); err != nil {
			return err
		}
	}
	return nil
}
