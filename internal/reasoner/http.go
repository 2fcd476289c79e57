package reasoner

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/meup-protocol/meup/client/reasoner/wire"
)

// Defaults of HandlerOptions.
const (
	DefaultMaxBody       = 4 << 20
	DefaultMaxConcurrent = 256
)

// HandlerOptions configures the HTTP service. Service is required.
type HandlerOptions struct {
	Service interface {
		Decide(ctx context.Context, r *wire.AgentIntentRequest) (*wire.AgentIntentResponse, error)
		Workflow(ctx context.Context, r *wire.WorkflowIntentRequest) (*wire.WorkflowIntentResponse, error)
	}
	// Jobs makes asynchronous decisions; nil: such requests are rejected.
	Jobs Jobs
	// CheckCallback validates a callback URL when a request is accepted; see
	// Callbacks.Check. Required with Jobs.
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
	// Observe is called for every response with its endpoint, or "other", and
	// its status. It may be nil.
	Observe func(endpoint string, status int, took time.Duration)
	Logger  *slog.Logger // nil: none
}

// handler serves the API.
type handler struct {
	o       HandlerOptions
	tokens  tokens
	metrics http.Handler
	readers chan struct{} // one slot per body being read
	bytes   *byteBudget   // budget for bodies, held until the response
	slots   chan struct{} // one slot per running decision
	routes  map[string]route
}

// route is one endpoint. serve returns a status and a body, or an error.
type route struct {
	method string
	open   bool // needs no token, version, body or slot
	health bool // accessible to every client, under any Host
	serve  func(r *http.Request, raw []byte) (status int, body any, err error)
}

// NewHandler returns the HTTP service:
//
//	POST /agent_intent         decide an agent's next action
//	POST /agent_intent_async   the same, its result is posted: 202
//	POST /agent_intent_cancel  cancel asynchronous decisions
//	POST /workflow_intent      decide a workflow's next node
//	GET  /healthz, /health     {"status":"ok"}, without a token
//	GET  /version              without a token
//	GET  /metrics              for Prometheus, without a token
//
// Error responses have a wire.ErrorBody.
func NewHandler(o HandlerOptions) http.Handler {
	orDefault(&o.MaxBody, DefaultMaxBody)
	orDefault(&o.MaxConcurrent, DefaultMaxConcurrent)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = func(string, int, time.Duration) {}
	}
	h := &handler{o: o, tokens: newTokens(o.Tokens), slots: make(chan struct{}, o.MaxConcurrent),
		readers: make(chan struct{}, readersPerSlot*o.MaxConcurrent), bytes: newByteBudget(bodiesInFlight * o.MaxBody), metrics: o.Metrics}
	if len(h.tokens) == 0 && o.Metrics != nil {
		h.metrics = Local(o.Metrics)
	}
	healthy := route{method: http.MethodGet, open: true, health: true, serve: h.health}
	h.routes = map[string]route{
		"/agent_intent":        {method: http.MethodPost, serve: h.agentIntent},
		"/agent_intent_async":  {method: http.MethodPost, serve: h.agentIntentAsync},
		"/agent_intent_cancel": {method: http.MethodPost, serve: h.agentIntentCancel},
		"/workflow_intent":     {method: http.MethodPost, serve: h.workflowIntent},
		"/healthz":             healthy,
		"/health":              healthy,
		"/version":             {method: http.MethodGet, open: true, serve: h.version},
	}
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
	defer h.bytes.release(int64(len(raw)))
	if !acquireWithTimeout(r.Context(), h.slots) {
		return 0, nil, overloaded("There are too many requests at the same time: ask again in a moment.")
	}
	defer func() { <-h.slots }()
	return route.serve(r, raw)
}

// accept finds the endpoint, checks the request and reads its body. The caller
// must return the bytes of the body to the budget.
func (h *handler) accept(w http.ResponseWriter, r *http.Request) ([]byte, route, error) {
	route, ok := h.routes[r.URL.Path]
	if !ok {
		return nil, route, &Fault{Status: http.StatusNotFound, Code: CodeNotFound, Message: "There is nothing at this path: the API is at /agent_intent, /agent_intent_async, /agent_intent_cancel and /workflow_intent."}
	}
	if r.Method != route.method && (r.Method != http.MethodHead || route.method != http.MethodGet) {
		w.Header().Set("Allow", route.method)
		return nil, route, &Fault{Status: http.StatusMethodNotAllowed, Code: CodeMethod, Message: "This path takes " + route.method + " alone."}
	}
	if len(h.tokens) == 0 && !route.health {
		if err := checkLocal(r); err != nil {
			return nil, route, err
		}
	}
	if route.open {
		return nil, route, nil
	}
	if err := h.admit(w, r); err != nil {
		return nil, route, err
	}
	raw, err := h.body(w, r)
	return raw, route, err
}

// refuse writes an error, and logs an internal one.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) int {
	f := FaultOf(err)
	if f.Code == CodeInternal {
		h.o.Logger.LogAttrs(r.Context(), slog.LevelError, "request failed", slog.String("path", r.URL.Path), slog.String("error", err.Error()))
	}
	switch f.Status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="meup-reasoner"`)
	}
	return write(w, f.Status, f.Body())
}

// write sends a JSON response and returns the status.
func write(w http.ResponseWriter, status int, body any) int {
	raw, err := json.Marshal(body)
	if err != nil { // a planner's arguments are not JSON
		status, raw = http.StatusInternalServerError, []byte(`{"error":"internal","message":"The answer could not be written."}`)
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
