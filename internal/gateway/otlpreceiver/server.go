// Package otlpreceiver serves OTLP over HTTP. The GenAI spans of any instrumented program
// become contexts, thoughts and calls of the token's participant, after the fact; the metrics
// of coding agents about tokens and costs become its usage (metrics.go).
//
// Spans are published when they arrive, children before their parents: a request is answered
// when its spans are in the log, and a trace may never get its root. Each trace is a context
// whose id follows from it, so a span has a place without any other one.
package otlpreceiver

import (
	"cmp"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

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

// New returns the handlers of POST /v1/traces and POST /v1/metrics.
func New(o adapter.Options) (traces, metrics http.Handler) {
	s := &receiver{gate: adapter.NewGate(o), budget: limit.NewBudget(budgetBytes, shareBytes), memory: newMemory()}
	return answer("rejectedSpans", s.receive), answer("rejectedDataPoints", s.receiveMetrics)
}

// answer returns the handler of an export, which may reject parts of it and then says why.
func answer(field string, receive func(w http.ResponseWriter, r *http.Request, kind string) (rejected int, reason string, err error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || kind != protobufType && kind != jsonType {
			fail(w, jsonType, &refusal{http.StatusUnsupportedMediaType, "Content-Type: expected application/x-protobuf or application/json."})
			return
		}
		rejected, reason, err := receive(w, r, kind)
		if err != nil {
			fail(w, kind, err)
			return
		}
		respond(w, kind, http.StatusOK, success(kind, field, rejected, reason))
	})
}

// request is the body of a request, and who sent it.
type request struct {
	*adapter.Request
	space string
	you   protocol.ParticipantID
	hold  limit.Hold
}

func (q *request) close() {
	q.hold.Release()
	q.Request.Close()
}

// open reads a request, and its body into a message. The caller has to close it.
func (s *receiver) open(w http.ResponseWriter, r *http.Request, kind string, into proto.Message) (out *request, err error) {
	name := cmp.Or(r.URL.Query().Get("space"), r.Header.Get("Meup-Space"))
	if name != "" && !protocol.ValidSpaceName(name) {
		return nil, access.BadRequest("space: expected the name of a space.")
	}
	q, err := s.gate.Open(w, r, name, maxBody)
	if err != nil {
		return nil, err
	}
	out = &request{Request: q}
	taken := false
	out.hold, taken = s.budget.Take(q.Token, 0)
	defer func() {
		if err != nil {
			out.close()
			out = nil
		}
	}()
	out.space, out.you, err = q.Space(r.Context(), name)
	if err != nil {
		return out, err
	}
	body, err := inflate(q.Body, strings.ToLower(r.Header.Get("Content-Encoding")), func(n int64) error {
		if !taken || !out.hold.Grow(copies*n) {
			return access.Busy()
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	n, err := elements(body, kind, into.ProtoReflect().Descriptor())
	if err != nil {
		return out, err
	}
	if !out.hold.Grow(int64(n) * elementSize) {
		return out, access.Busy()
	}
	return out, decode(body, kind, into)
}

// receive publishes the spans of a request.
func (s *receiver) receive(w http.ResponseWriter, r *http.Request, kind string) (rejected int, reason string, err error) {
	data := new(tracepb.TracesData)
	q, err := s.open(w, r, kind, data)
	if err != nil {
		return 0, "", err
	}
	defer q.close()
	list, invalid, err := spans(data, kind)
	if err != nil {
		return 0, "", err
	}
	x := &export{client: q.Client, memory: s.memory, space: q.space, you: q.you, rejected: make(map[string]bool)}
	if invalid > 0 {
		x.reason = "The ids of a span or of its trace are invalid."
	}
	err = x.all(r.Context(), list)
	return invalid + len(x.rejected), x.reason, err
}

// success encodes an ExportTraceServiceResponse or an ExportMetricsServiceResponse.
func success(kind, field string, rejected int, reason string) []byte {
	if rejected == 0 {
		if kind == jsonType {
			return []byte("{}")
		}
		return nil
	}
	if kind == jsonType {
		return object("partialSuccess", map[string]any{field: strconv.Itoa(rejected), "errorMessage": reason})
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
	var status int
	var message string
	var own *refusal
	if errors.As(err, &own) {
		status, message = own.status, own.message
	} else {
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
