// Package otlpreceiver serves OTLP over HTTP for traces: the GenAI spans of any
// instrumented program become contexts, thoughts and calls of the token's participant,
// after the fact.
//
// Spans are published when they arrive, children before their parents: a request is answered
// when its spans are in the log, and a trace may never get its root. Each trace is a context
// whose id follows from it, so a span has a place without any other one.
package otlpreceiver

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the memory of decoded requests, in bytes.
const (
	budgetBytes = 128 << 20
	shareBytes  = 32 << 20 // of the requests of one token
	copies      = 4        // of a body: inflated, decoded, published
	elementSize = 384      // of an element that is decoded, in addition
)

// receiver is the state of the handler.
type receiver struct {
	gate   *adapter.Gate
	budget *limit.Budget
	memory *memory
}

// New returns the handler of POST /v1/traces.
func New(o adapter.Options) http.Handler {
	return &receiver{gate: adapter.NewGate(o), budget: limit.NewBudget(budgetBytes, shareBytes), memory: newMemory()}
}

// ServeHTTP answers an export.
func (s *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, err := mediaType(r.Header)
	if err != nil {
		kind = jsonType
	}
	var x *export
	if err == nil {
		x, err = s.receive(w, r, kind)
	}
	if err != nil {
		fail(w, kind, err)
		return
	}
	respond(w, kind, http.StatusOK, success(kind, x.invalid+len(x.rejected), x.reason))
}

// receive publishes the spans of a request.
func (s *receiver) receive(w http.ResponseWriter, r *http.Request, kind string) (*export, error) {
	name := cmp.Or(r.URL.Query().Get("space"), r.Header.Get("Meup-Space"))
	if name != "" && !protocol.ValidSpaceName(name) {
		return nil, access.BadRequest("space: expected the name of a space.")
	}
	q, err := s.gate.Open(w, r, name, maxBody)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	space, you, err := q.Space(r.Context(), name)
	if err != nil {
		return nil, err
	}
	hold, ok := s.budget.Take(q.Token, 0)
	defer func() { hold.Release() }()
	body, err := inflate(q.Body, strings.ToLower(r.Header.Get("Content-Encoding")), func(n int64) error {
		if !ok || !hold.Grow(copies*n) {
			return access.Busy()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	n, err := elements(body, kind)
	if err != nil {
		return nil, err
	}
	if !hold.Grow(int64(n) * elementSize) {
		return nil, access.Busy()
	}
	data, err := traces(body, kind)
	if err != nil {
		return nil, err
	}
	list, invalid, err := spans(data, kind)
	if err != nil {
		return nil, err
	}
	x := &export{client: q.Client, memory: s.memory, space: space, you: you, invalid: invalid, rejected: make(map[string]bool)}
	if invalid > 0 {
		x.reason = "The ids of a span or of its trace are invalid."
	}
	err = x.all(r.Context(), list)
	return x, err
}

// success encodes an ExportTraceServiceResponse.
func success(kind string, rejected int, reason string) []byte {
	if rejected == 0 {
		if kind == jsonType {
			return []byte("{}")
		}
		return nil
	}
	if kind == jsonType {
		return object("partialSuccess", map[string]any{"rejectedSpans": strconv.Itoa(rejected), "errorMessage": reason})
	}
	partial := protowire.AppendTag(nil, 1, protowire.VarintType)
	partial = protowire.AppendVarint(partial, uint64(rejected))
	partial = protowire.AppendTag(partial, 2, protowire.BytesType)
	partial = protowire.AppendString(partial, reason)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial)
}

// Codes of google.rpc.Status.
const (
	rpcInvalid         = 3
	rpcNotFound        = 5
	rpcDenied          = 7
	rpcExhausted       = 8
	rpcUnavailable     = 14
	rpcUnauthenticated = 16
)

// fail responds with an error: a google.rpc.Status. Exporters repeat a request after
// 429 and 503.
func fail(w http.ResponseWriter, kind string, err error) {
	status, message, ok := statusOf(err)
	if !ok {
		refused := protocol.AsError(err)
		status, message = refused.Code.HTTPStatus(), refused.Message
		if status == http.StatusInternalServerError { // for example, a response of the API was cut
			refused = protocol.Errorf(protocol.CodeUnavailable, "%s", message)
			status = http.StatusServiceUnavailable
		}
		access.SetRetryAfter(w.Header(), refused)
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="meup"`)
		}
	}
	code := rpcInvalid
	switch status {
	case http.StatusUnauthorized:
		code = rpcUnauthenticated
	case http.StatusForbidden:
		code = rpcDenied
	case http.StatusNotFound:
		code = rpcNotFound
	case http.StatusTooManyRequests:
		code = rpcExhausted
	case http.StatusServiceUnavailable:
		code = rpcUnavailable
	}
	body := []byte(object("code", code, "message", message))
	if kind == protobufType {
		body = protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(code))
		body = protowire.AppendString(protowire.AppendTag(body, 2, protowire.BytesType), message)
	}
	respond(w, kind, status, body)
}

func respond(w http.ResponseWriter, kind string, status int, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the peer may have disconnected
}
