// Package httpapi serves the HTTP API of section 8 of the contract: sending,
// history, contexts, participants, events, proposals, decisions, deciders, turns and search, signing in, hooks,
// and the endpoints for operators.
package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/apidoc"
	"github.com/meup-protocol/meup/internal/gateway/derived"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// Journal is the part of the log that the API uses directly.
type Journal interface {
	Spaces(ctx context.Context) ([]string, error)
	Bounds(ctx context.Context, space string) (oldest, newest protocol.Seq, err error)
}

// Version is the response of /version.
type Version struct {
	Version  string   `json:"version"`
	Commit   string   `json:"commit,omitempty"`
	Go       string   `json:"go"`
	Dialects []string `json:"dialects"`
}

// Options configures the API.
type Options struct {
	Admission *access.Admission
	Journal   Journal
	Origins   []string
	// Ready returns why the gateway cannot do its work; nil: it can.
	Ready   func() error
	Metrics http.Handler // nil: not on this listener
	WS      http.Handler
	Page    Page // nil: no page
	Version Version
	// Turns stores the turns of the spaces.
	Turns *derived.TurnStore
	// Administration describes the spaces; nil: there is no administrative space.
	Administration Administration
	// Policy returns the policy in force of a space; nil: there is none.
	Policy func(space string) *api.Policy
	// Analysis derives suggestions and runs backtests.
	Analysis Analysis
	// Search is the full-text index.
	Search *derived.SearchStore
	// Adapters makes the routes of other protocols from this API; nil: there are none.
	// Their responses may take longer than others.
	Adapters func(api *Server) []Route
	// Hooks makes the handler of the hooks of coding agents from this API; nil:
	// there is none.
	Hooks func(api http.Handler) HookHandler
	// Has reports whether the log of a space has an envelope with this id.
	Has func(ctx context.Context, space string, id protocol.ID) (bool, error)

	KeepAlive   time.Duration // of event streams; 0: 15 s
	IdleTimeout time.Duration // of an event stream whose reader stops
	Heavy       chan struct{} // slots for decoding and admitting long bodies
	Logger      *slog.Logger
}

// Route is a route of another protocol.
type Route struct {
	Pattern string // of an http.ServeMux
	Handler http.Handler
}

// Server serves the API.
type Server struct {
	options  Options
	mux      *http.ServeMux
	patterns []string // of the routes, which apidoc describes
	budget   *limit.Budget
	// analyzing has the place for the analysis that runs.
	analyzing chan struct{}
}

// New returns the handler of the API.
func New(o Options) *Server {
	if o.KeepAlive == 0 {
		o.KeepAlive = 15 * time.Second
	}
	s := &Server{options: o, mux: http.NewServeMux(), budget: limit.NewBudget(budgetBytes, shareBytes), analyzing: make(chan struct{}, 1)}
	s.routes()
	return s
}

func (s *Server) routes() {
	handle := func(pattern string, h http.HandlerFunc) {
		s.patterns = append(s.patterns, pattern)
		s.mux.HandleFunc(pattern, h)
	}
	handle("POST /api/spaces/{space}/envelopes", s.inSpace(s.send))
	handle("GET /api/spaces/{space}/envelopes", s.inSpace(s.history))
	handle("GET /api/spaces/{space}/contexts", s.inSpace(s.contexts))
	handle("GET /api/spaces/{space}/contexts/{path...}", s.inSpace(s.contexts))
	handle("GET /api/spaces/{space}/participants", s.inSpace(s.participants))
	handle("GET /api/spaces/{space}/claims", s.inSpace(s.claims))
	handle("GET /api/spaces/{space}/policy", s.inSpace(ofPolicy(s.policy)))
	handle("GET /api/spaces/{space}/suggestions", s.inSpace(ofPolicy(s.suggestions)))
	handle("POST /api/spaces/{space}/backtest", s.inSpace(ofPolicy(s.backtest)))
	handle("GET /api/spaces/{space}/budgets", s.inSpace(s.budgets))
	handle("GET /api/spaces/{space}/events", s.inSpace(s.events))
	handle("GET /api/spaces/{space}/proposals", s.inSpace(s.proposals))
	handle("GET /api/spaces/{space}/proposals/{id}/scopes", s.inSpace(s.scopes))
	handle("GET /api/spaces/{space}/decisions", s.inSpace(s.decisions))
	handle("GET /api/spaces/{space}/deciders", s.inSpace(s.deciders))
	handle("GET /api/spaces/{space}/search", s.inSpace(s.search))
	handle("GET /api/spaces/{space}/threads", s.inSpace(s.threads))
	handle("GET /api/spaces/{space}/threads/{thread}", s.inSpace(s.thread))
	handle("GET /api/spaces/{space}/threads/{thread}/events", s.inSpace(s.threadEvents))
	handle("GET /api/spaces/{space}/jobs", s.inSpace(s.jobs))
	handle("GET /api/spaces/{space}/jobs/{job}", s.inSpace(s.job))
	handle("GET /api/spaces/{space}/sessions/{session}", s.inSpace(s.session))
	handle("GET /api/spaces/{space}/envelopes/{id}", s.inSpace(s.envelope))
	handle("GET /api/spaces/{space}/envelopes/{id}/turn", s.inSpace(s.turnOf))
	handle("GET /api/chat/history", s.chatHistory)
	handle("GET /api/spaces", s.spaces)
	handle("GET /api/admin/spaces", s.directory)
	handle("POST /api/session", s.signIn)
	handle("GET /api/session", s.whoAmI)
	handle("DELETE /api/session", s.signOut)
	handle("GET /healthz", s.health)
	handle("GET /readyz", s.ready)
	handle("GET /version", s.ownHosts(http.HandlerFunc(s.version)))
	if s.options.Adapters != nil {
		for _, r := range s.options.Adapters(s) {
			handle(r.Pattern, access.Patient(r.Handler.ServeHTTP))
		}
	}
	if s.options.Hooks != nil {
		hooks := s.options.Hooks(s)
		handle("POST /api/spaces/{space}/hooks/{program}", access.Patient(s.hooks(hooks)))
	}
	if s.options.Metrics != nil {
		handle("GET /metrics", s.ownHosts(s.options.Metrics))
	}
	if s.options.Page != nil {
		handle("GET /{$}", s.page)
		handle("GET /assets/{file}", s.page)
	}
	s.patterns = append(s.patterns, apidoc.Patterns...)
	descriptions := s.ownHosts(apidoc.New(s.options.Version.Version, s.patterns))
	for _, pattern := range apidoc.Patterns {
		s.mux.HandleFunc(pattern, descriptions)
	}
	s.mux.HandleFunc("/", s.other)
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin") // pages of other sites cannot embed our resources
	if origin := r.Header.Get("Origin"); origin != "" && !s.allowOrigin(w, r, origin) {
		return
	}
	// Clients of the MEW protocol open a WebSocket connection on any path, also on paths of the API.
	upgrade := access.HasToken(r.Header["Upgrade"], "websocket") && r.Header.Get("Sec-WebSocket-Key") != ""
	if r.URL.Path == "/ws" || upgrade {
		s.options.WS.ServeHTTP(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// allowOrigin sets the CORS headers and answers preflight requests. It reports
// whether to continue with the request.
func (s *Server) allowOrigin(w http.ResponseWriter, r *http.Request, origin string) bool {
	if !access.OriginAllowed(r, s.options.Origins) {
		access.WriteError(w, protocol.Errorf(protocol.CodeForbidden, "The origin %s is not allowed; the operator can add it to the configuration.", origin))
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", "Meup-Next, Meup-Has-More, Retry-After")
	if r.Method != http.MethodOptions {
		return true
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Last-Event-ID, A2A-Version, A2A-Extensions")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return false
}

// other rejects requests that match no route.
func (s *Server) other(w http.ResponseWriter, r *http.Request) {
	var methods []string // that the path supports
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		other := *r
		other.Method = m
		if _, pattern := s.mux.Handler(&other); pattern != "/" && pattern != "" {
			methods = append(methods, m)
		}
	}
	if len(methods) > 0 {
		allow := strings.Join(methods, ", ")
		w.Header().Set("Allow", allow)
		access.WriteError(w, protocol.Errorf(protocol.CodeNotAllowed, "%s accepts %s.", r.URL.Path, allow))
		return
	}
	notFound(w, r)
}

func notFound(w http.ResponseWriter, r *http.Request) {
	access.WriteError(w, protocol.Errorf(protocol.CodeNotFound, "Not found: %s %s.", r.Method, r.URL.Path))
}

// caller is an authenticated participant and the space that its request names.
type caller struct {
	space    *space.Space
	id       protocol.ParticipantID
	identity access.Identity
	hold     *limit.Hold // the memory reserved for the request
}

func (v caller) viewer() ring.Viewer {
	return ring.Viewer{ID: v.id, VisibleAfter: v.identity.InvitedAt}
}

type spaceHandler func(w http.ResponseWriter, r *http.Request, v caller)

// inSpace authorizes the sender of a request for the space in its path.
func (s *Server) inSpace(next spaceHandler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		sp, identity, err := s.options.Admission.AuthorizeRequest(r, r.PathValue("space"))
		if err != nil {
			access.WriteError(w, err)
			return
		}
		s.serve(w, r, caller{space: sp, id: identity.Participant, identity: identity}, next, access.WriteError)
	}
}

// serve charges a request to its participant before it does any work. refuse responds
// to a request that is not within the limits.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, v caller, next spaceHandler, refuse func(http.ResponseWriter, error)) {
	err := s.charge(&v, r.Method != http.MethodPost)
	defer v.hold.Release()
	if err != nil {
		refuse(w, err)
		return
	}
	next(w, r, v)
}

// charge charges a request to its participant: its memory, which v.hold.Release
// returns, and a read. Envelopes have limits of their own.
func (s *Server) charge(v *caller, reads bool) error {
	hold, ok := s.budget.Take(v.identity.Holder(), requestBytes)
	v.hold = &hold
	switch {
	case !ok:
		return access.Busy()
	case reads:
		return v.space.ChargeRead(v.id)
	}
	return nil
}

// beginWork reserves memory for a request that reads the log, and returns the function that
// charges its work, in bytes.
func (v caller) beginWork(memory int64) (charge func(bytes int), err error) {
	if !v.hold.Grow(memory) {
		return nil, access.Busy()
	}
	return v.space.BeginWork(v.id)
}

// Bounds on the memory of requests, in bytes.
const (
	budgetBytes  = 96 << 20 // of all requests
	shareBytes   = 16 << 20 // of the requests of one token
	requestBytes = 64 << 10 // of each request: goroutine, buffers, headers
)

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if err := s.options.Ready(); err != nil {
		writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "unavailable", "reason": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// ownHosts protects a handler without authentication from pages that reach a
// loopback address by their own host name.
func (s *Server) ownHosts(h http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if refused := access.CheckHost(r, s.options.Origins); refused != nil {
			access.WriteError(w, refused)
			return
		}
		h.ServeHTTP(w, r)
	}
}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.options.Version)
}

// writeJSON responds with a value as JSON, which may be long.
func (v caller) writeJSON(w http.ResponseWriter, x any) {
	body, err := encode(x)
	if err != nil {
		access.WriteError(w, err)
		return
	}
	v.write(w, body)
}

// write responds with a JSON text, and reserves its memory until the client has
// read it.
func (v caller) write(w http.ResponseWriter, body []byte) {
	if !v.hold.Grow(int64(len(body))) {
		access.WriteError(w, access.Busy())
		return
	}
	writeBody(w, http.StatusOK, body)
}

func writeJSON(w http.ResponseWriter, status int, x any) {
	body, err := encode(x)
	if err != nil {
		access.WriteError(w, err)
		return
	}
	writeBody(w, status, body)
}

func encode(x any) ([]byte, *protocol.Error) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false) // the response is not HTML, as its type states
	if err := e.Encode(x); err != nil {
		return nil, protocol.Errorf(protocol.CodeInternal, "The answer could not be written.")
	}
	return body.Bytes(), nil
}

// writeBody responds with a JSON text.
func writeBody(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // JSON, and said to be; the peer may be gone
}

// Page serves the files of the web page.
type Page interface {
	http.Handler
	// Has reports whether the page has a file at a path.
	Has(path string) bool
}

// page serves a file of the page.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	if !s.options.Page.Has(r.URL.Path) {
		notFound(w, r)
		return
	}
	s.options.Page.ServeHTTP(w, r)
}

// Administration describes the spaces of the gateway to administrators.
type Administration interface {
	// AdministrativeSpace returns the name of the administrative space; "": there is
	// none.
	AdministrativeSpace() string
	// Directory returns the space of this name, or all spaces for "".
	Directory(space string) *api.Directory
}

// directory lists spaces and participants for the participants of the
// administrative space.
func (s *Server) directory(w http.ResponseWriter, r *http.Request) {
	admin := s.options.Administration
	if admin == nil || admin.AdministrativeSpace() == "" {
		access.WriteError(w, protocol.Errorf(protocol.CodeNotFound, "This gateway has no administrative space; its operator can set administration: {space: NAME}."))
		return
	}
	sp, identity, err := s.options.Admission.AuthorizeRequest(r, admin.AdministrativeSpace())
	if err != nil {
		access.WriteError(w, err)
		return
	}
	s.serve(w, r, caller{space: sp, id: identity.Participant, identity: identity}, func(w http.ResponseWriter, r *http.Request, v caller) {
		v.writeJSON(w, admin.Directory(r.URL.Query().Get("space")))
	}, access.WriteError)
}
