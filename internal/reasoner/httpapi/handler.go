// Package httpapi serves the Reasoning API over HTTP. A [Poster] sends the results of
// asynchronous decisions to the callback URLs of requests.
package httpapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"github.com/meup-protocol/meup/client/reasoner/wire"

	"github.com/meup-protocol/meup/internal/reasoner"
)

// Defaults of Options.
const (
	DefaultMaxBody       = 4 << 20
	DefaultMaxConcurrent = 256
)

// Jobs makes asynchronous decisions.
type Jobs interface {
	// Submit accepts a request, whose result is posted to its callback URL, and
	// returns the job's id. The error is an *reasoner.Fault with status 503 when
	// there are too many jobs.
	Submit(ctx context.Context, r *wire.AgentIntentRequest) (jobID string, err error)
	// Cancel cancels the jobs of a correlation id that are queued, being
	// decided, or have an undelivered callback, and posts no more results for
	// them. It reports whether there was such a job, or one canceled earlier.
	Cancel(ctx context.Context, correlationID string) (bool, error)
}

// Options configures the HTTP service.
type Options struct {
	// Service decides; nil: only the endpoints with GET exist.
	Service interface {
		// Check returns the error of Decide for a request that no decision can
		// answer.
		Check(r *wire.AgentIntentRequest) error
		Decide(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error)
		Workflow(ctx context.Context, r *wire.WorkflowIntentRequest) (*wire.WorkflowIntentResponse, error)
	}
	// Jobs makes asynchronous decisions; nil: such requests are rejected.
	Jobs Jobs
	// CheckCallback validates a callback URL when a request is accepted; see
	// Guard. Required with Jobs.
	CheckCallback func(ctx context.Context, address string) error
	// Tokens are the bearer tokens that the service accepts. Without tokens,
	// the service accepts only requests to a loopback host and rejects requests
	// from pages of other sites.
	Tokens []string
	// MaxBody bounds a request, in bytes; 0: DefaultMaxBody.
	MaxBody int64
	// MaxConcurrent bounds concurrent decisions; 0: DefaultMaxConcurrent. At
	// most four times as many bodies are read at once, and together they hold
	// at most sixteen times MaxBody. Further requests wait up to 250 ms or are
	// rejected with 503 immediately; clients of the API retry after 503.
	MaxConcurrent int
	Version       string       // for /version
	Metrics       http.Handler // for /metrics; nil: no such endpoint
	// Logs is for /reasoning_logs and /reasoning_diagnostics; nil: no such
	// endpoints.
	Logs        *reasoner.DecisionLog
	Diagnostics Diagnostics
	// Observe is called for every response with its endpoint, or "other", and
	// its status. It may be nil.
	Observe func(endpoint string, status int, took time.Duration)
	Logger  *slog.Logger // nil: none
}

// handler serves the API.
type handler struct {
	o       Options
	tokens  [][sha256.Size]byte // hashes, so that a comparison takes the same time for any input
	metrics http.Handler
	readers *semaphore.Weighted // one slot per body being read
	bytes   *semaphore.Weighted // bytes of bodies, held until the response
	slots   *semaphore.Weighted // one slot per running decision
	routes  map[string]route
}

// New returns the HTTP service:
//
//	POST /agent_intent         decide an agent's next action
//	POST /agent_intent_async   the same, its result is posted: 202
//	POST /agent_intent_cancel  cancel asynchronous decisions
//	POST /workflow_intent      decide a workflow's next node
//	GET  /healthz, /health     {"status":"ok"}, without a token
//	GET  /version              without a token
//	GET  /reasoning_logs       records of decisions
//	GET  /reasoning_diagnostics  a summary of them
//	GET  /metrics              for Prometheus, without a token
//
//	GET  /schema, /openapi.json  the schemas and a description, without a token
//
// Error responses have a wire.ErrorResponse.
func New(o Options) http.Handler {
	o.MaxBody = cmp.Or(o.MaxBody, DefaultMaxBody)
	o.MaxConcurrent = cmp.Or(o.MaxConcurrent, DefaultMaxConcurrent)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = func(string, int, time.Duration) {}
	}
	slots := int64(o.MaxConcurrent)
	h := &handler{
		o: o, metrics: o.Metrics, slots: semaphore.NewWeighted(slots),
		readers: semaphore.NewWeighted(readersPerSlot * slots), bytes: semaphore.NewWeighted(bodiesInFlight * o.MaxBody),
	}
	for _, token := range o.Tokens {
		h.tokens = append(h.tokens, sha256.Sum256([]byte(token)))
	}
	if len(h.tokens) == 0 && o.Metrics != nil {
		h.metrics = Local(o.Metrics)
	}
	h.routes = h.newRoutes()
	return h
}

// ServeHTTP handles one request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	if r.URL.Path == "/metrics" && h.o.Metrics != nil && r.Method == http.MethodGet {
		closeUnread(w, r)
		h.metrics.ServeHTTP(w, r)
		return
	}
	endpoint := r.URL.Path
	if _, known := h.routes[endpoint]; !known {
		endpoint = "other"
	}
	status := h.answer(w, r)
	took := time.Since(began)
	h.o.Observe(endpoint, status, took)
	h.o.Logger.LogAttrs(r.Context(), slog.LevelDebug, "request",
		slog.String("endpoint", endpoint), slog.Int("status", status), slog.Duration("took", took))
}

// answer writes the response, also after a panic, and returns its status.
func (h *handler) answer(w http.ResponseWriter, r *http.Request) (status int) {
	defer func() {
		if p := recover(); p != nil {
			h.o.Logger.LogAttrs(r.Context(), slog.LevelError, "a request made the service panic",
				slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			status = h.refuse(w, r, errors.New("panic"))
		}
	}()
	status, body, err := h.serve(w, r)
	if err != nil {
		return h.refuse(w, r, err)
	}
	return write(w, status, body)
}

// serve finds the endpoint and calls it if the request is admitted.
func (h *handler) serve(w http.ResponseWriter, r *http.Request) (int, any, error) {
	raw, route, err := h.accept(w, r)
	if err != nil {
		closeUnread(w, r)
		return 0, nil, err
	}
	if route.open {
		closeUnread(w, r)
		return route.serve(r, nil)
	}
	if route.query {
		closeUnread(w, r)
	}
	defer h.bytes.Release(int64(len(raw)))
	if err := acquire(r.Context(), h.slots); err != nil {
		return 0, nil, err
	}
	defer h.slots.Release(1)
	return route.serve(r, raw)
}

// accept finds the endpoint, checks the request and reads its body. The caller
// must return the bytes of the body to the budget.
func (h *handler) accept(w http.ResponseWriter, r *http.Request) ([]byte, route, error) {
	route, ok := h.routes[r.URL.Path]
	if !ok {
		return nil, route, &reasoner.Fault{Status: http.StatusNotFound, Code: reasoner.CodeNotFound, Message: "There is no such path: the API is at /agent_intent, /agent_intent_async, /agent_intent_cancel and /workflow_intent."}
	}
	if r.Method != route.method && (r.Method != http.MethodHead || route.method != http.MethodGet) {
		w.Header().Set("Allow", route.method)
		return nil, route, &reasoner.Fault{Status: http.StatusMethodNotAllowed, Code: reasoner.CodeMethod, Message: "This path accepts only " + route.method + "."}
	}
	if len(h.tokens) == 0 && !route.health {
		if err := checkLocal(r); err != nil {
			return nil, route, err
		}
	}
	if route.open {
		return nil, route, nil
	}
	if len(h.tokens) > 0 {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") || !h.hasToken(strings.TrimSpace(token)) {
			return nil, route, &reasoner.Fault{Status: http.StatusUnauthorized, Code: reasoner.CodeUnauthorized, Message: "The request has no valid token: send one as Authorization: Bearer TOKEN."}
		}
	}
	if v := r.Header.Get("Accept-Version"); v != "" && !names(v, wire.Version) && !names(v, "*") {
		return nil, route, &reasoner.Fault{Status: http.StatusNotAcceptable, Code: reasoner.CodeVersion, Message: "The service supports only " + wire.Version + ": send Accept-Version: " + wire.Version + ", or no such header."}
	}
	w.Header().Set("Content-Version", wire.Version)
	if route.query {
		return nil, route, nil
	}
	// A browser sends a form or plain text to another site without a preflight request, but
	// not JSON. Requiring the type keeps pages of other sites out.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, route, &reasoner.Fault{Status: http.StatusUnsupportedMediaType, Code: reasoner.CodeMediaType, Message: "The body must be JSON: send Content-Type: application/json."}
	}
	raw, err := h.body(w, r)
	return raw, route, err
}

// decision returns the handler of an endpoint that responds with a decision.
func decision[R, D any](decode func(raw []byte) (*R, error), decide func(context.Context, *R) (*D, error)) func(*http.Request, []byte) (int, any, error) {
	return func(r *http.Request, raw []byte) (int, any, error) {
		req, err := decode(raw)
		if err != nil {
			return 0, nil, err
		}
		out, err := decide(r.Context(), req)
		return http.StatusOK, out, err
	}
}

// agentIntentAsync accepts with 202. Published clients of the API accept any
// 2xx.
func (h *handler) agentIntentAsync(r *http.Request, raw []byte) (int, any, error) {
	req, err := reasoner.DecodeAgentIntent(raw)
	if err != nil {
		return 0, nil, err
	}
	if h.o.Jobs == nil || h.o.CheckCallback == nil {
		return 0, nil, &reasoner.Fault{Status: http.StatusBadRequest, Code: reasoner.CodeCallback, Message: "This service posts no results: use /agent_intent."}
	}
	const path = "/callback_url"
	if req.CallbackURL == "" {
		return 0, nil, reasoner.Invalid(path, "An asynchronous request needs a callback_url: add the http or https address to post its result to.")
	}
	if err := h.o.CheckCallback(r.Context(), req.CallbackURL); err != nil {
		return 0, nil, &reasoner.Fault{Status: http.StatusBadRequest, Code: reasoner.CodeCallback, Path: path, Message: "The callback_url is refused: " + err.Error() + "."}
	}
	if err := h.o.Service.Check(req); err != nil { // reject an invalid request now instead of in its callback
		return 0, nil, err
	}
	id, err := h.o.Jobs.Submit(r.Context(), req)
	return http.StatusAccepted, wire.Accepted{Status: "accepted", JobID: id}, err
}

func (h *handler) agentIntentCancel(r *http.Request, raw []byte) (int, any, error) {
	req, err := reasoner.DecodeCancel(raw)
	if err != nil {
		return 0, nil, err
	}
	found := false
	if h.o.Jobs != nil {
		found, err = h.o.Jobs.Cancel(r.Context(), req.CorrelationID)
		if err != nil {
			return 0, nil, err
		}
	}
	if !found {
		return http.StatusOK, wire.CancelResponse{Error: "No job of that correlation_id is queued or running."}, nil
	}
	return http.StatusOK, wire.CancelResponse{OK: true}, nil
}

// refuse writes an error, and logs an internal one.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) int {
	f := reasoner.FaultOf(err)
	if f.Code == reasoner.CodeInternal {
		h.o.Logger.LogAttrs(r.Context(), slog.LevelError, "request failed", slog.String("path", r.URL.Path), slog.String("error", err.Error()))
	}
	switch f.Status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="meup-reasoner"`)
	}
	w.Header().Set("Content-Version", wire.Version)
	return write(w, f.Status, errorResponse(r, f, err))
}

// errorResponse returns the body of an error: an intent with the status error, and
// a cancellation that is not ok.
func errorResponse(r *http.Request, f *reasoner.Fault, err error) wire.ErrorResponse {
	out := wire.ErrorResponse{Status: wire.StatusError, Trace: []wire.TraceItem{}, ErrorBody: f.Body()}
	out.Usage = reasoner.UsageOf(err)
	if r.URL.Path == "/agent_intent_cancel" {
		out.OK = new(bool)
	}
	var intent *reasoner.IntentError
	if errors.As(err, &intent) {
		out.IntentID, out.DurationMS = intent.ID, intent.Took.Milliseconds()
	} else {
		out.IntentID = "error-" + uuid.NewString() // there was no decision
	}
	return out
}

// write sends a JSON response and returns the status.
func write(w http.ResponseWriter, status int, body any) int {
	raw, err := json.Marshal(body)
	if err != nil { // a planner's arguments are not JSON
		status, raw = http.StatusInternalServerError, []byte(`{"status":"error","error":"internal","message":"The answer could not be written."}`)
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(raw)))
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(raw) // the client has disconnected
	return status
}
