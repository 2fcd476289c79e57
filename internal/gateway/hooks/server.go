// Package hooks lets coding agents take part in a space by their hooks: HTTP
// requests that an agent sends while it works. It publishes the prompt, the
// visible text and the calls of tools as reasoning of the agent's participant,
// and answers with the decisions of the space.
//
// Everything is published through the gateway's own HTTP API with the token of
// the request, so the participant's capabilities, limits and redaction apply.
package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/protocol"
)

// Bounds of the adapter.
const (
	maxHeld     = 256              // requests that wait for a decision or a chat; a participant has no more than connections
	hookTimeout = 30 * time.Second // of a request that does not wait
	gateTimeout = 20 * time.Second // before the agent ends the hook before a call

	defaultApproval = 590 * time.Second // agents end a hook after 10 minutes by default
	userApproval    = time.Minute       // while the user waits for the question
	maxApproval     = 24 * time.Hour
	maxWait         = time.Hour
)

// Caller is the participant whose agent sent a request.
type Caller struct {
	ID protocol.ParticipantID
	// Space is the space of the request.
	Space interface {
		Rights(id protocol.ParticipantID, e *protocol.Envelope) (allowed, named bool)
		RejectsProposal(id protocol.ParticipantID, p *protocol.Envelope) (why string)
		NeedsClaims(id protocol.ParticipantID, e *protocol.Envelope) []string
		MaySend(id protocol.ParticipantID, kind protocol.Kind) bool
		MaySendTo(id protocol.ParticipantID, kind protocol.Kind, to protocol.ParticipantID) (named, other bool)
		Paused() []protocol.ParticipantID
	}
	// Release returns the memory that is reserved for the request, before it waits.
	Release func()
	// Refused is why the request is not served; nil: it is.
	Refused error
}

// Options configures a Server.
type Options struct {
	API    http.Handler // the HTTP API of the gateway
	Logger *slog.Logger
}

// Server answers the hooks of agents.
type Server struct {
	options  Options
	held     chan struct{} // taken by requests that wait
	sessions sessions
}

// New returns a Server.
func New(o Options) *Server {
	return &Server{options: o, held: make(chan struct{}, maxHeld), sessions: sessions{list: make(map[sessionKey]*session)}}
}

// Serve answers one hook of the program in the path, whose body was read. The
// token must be in the header.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, c Caller, body []byte) {
	agent := programs[r.PathValue("program")]
	if agent == nil {
		access.WriteError(w, protocol.Errorf(protocol.CodeNotFound, "There are hooks for %s.", strings.Join(Programs, ", ")))
		return
	}
	refuse := func(err error) { refuse(w, r, agent, body, err) }
	if c.Refused != nil {
		refuse(c.Refused)
		return
	}
	token, source, err := access.TokenFromRequest(r)
	if err != nil || source != access.SourceHeader {
		refuse(protocol.Errorf(protocol.CodeUnauthorized, "Send a token: Authorization: Bearer TOKEN."))
		return
	}
	settings, err := readSettings(r, agent)
	if err != nil {
		refuse(access.BadRequest(err.Error()))
		return
	}
	e, err := decode(agent, body)
	if err != nil {
		refuse(access.BadRequest(err.Error()))
		return
	}
	handle, gate := agent.events[e.name], slices.Contains(api.HookGates, e.name)
	switch {
	case e.name == "":
		refuse(access.BadRequest(errNoName.Error()))
		return
	case gate && e.session == "":
		refuse(access.BadRequest("the event has no " + agent.fields.session))
		return
	case gate && e.unread != nil:
		refuse(access.BadRequest(e.unread.Error()))
		return
	case gate && e.tool == "":
		refuse(access.BadRequest(errNoTool.Error()))
		return
	case e.name == api.HookStatusEvent:
		writeJSON(w, c.status(settings.claims))
		return
	case handle == nil || e.session == "": // an agent may have events that are not known here
		writeAnswer(w, &e, answer{})
		return
	}
	client, err := adapter.NewClient(s.options.API, r, token, s.options.Logger)
	if err != nil {
		refuse(protocol.Errorf(protocol.CodeUnauthorized, "The token cannot be one of this gateway."))
		return
	}
	h := &hook{
		event: e, settings: settings, server: s, client: client, caller: c, space: r.PathValue("space"),
		session: s.sessions.get(sessionKey{r.PathValue("space"), c.ID, e.session}), ctx: r.Context(),
	}
	out, err := handle(h)
	if gate && (refused(err, protocol.CodePaused) || err == nil && slices.Contains(c.Space.Paused(), c.ID)) {
		out, err = h.denied(fmt.Sprintf("%s is paused in the space %s.", c.ID, h.space)), nil
	}
	if err != nil {
		if !errors.Is(err, context.Canceled) || r.Context().Err() == nil { // else the agent disconnected, or the gateway ends
			s.options.Logger.Warn("hook failed", "space", h.space, "participant", c.ID, "event", h.name, "error", err)
		}
		refuseEvent(w, r, agent, h.name, failure(err))
		return
	}
	writeAnswer(w, &h.event, out)
}

// failure returns the error of a hook as the response of the API.
func failure(err error) *protocol.Error {
	var refused *protocol.Error
	if errors.As(err, &refused) {
		return refused
	}
	return protocol.Errorf(protocol.CodeUnavailable, "The event could not be published; try again in a moment.")
}

// settings are the parameters of the address.
type settings struct {
	claims   bool          // claim the paths of calls that need it
	prompts  bool          // publish prompts as chats
	headless bool          // PreToolUse waits for the decision about a call, since the agent asks no user
	wait     time.Duration // how long Stop waits for a chat
	approval time.Duration // how long a call waits for a decision
	// permission is approval for PermissionRequest.
	permission time.Duration
}

var (
	errPrompts  = errors.New("prompts: expected chat")
	errClaims   = errors.New("claims: expected auto")
	errFail     = errors.New("fail: expected open")
	errHeadless = errors.New("headless: expected true or false")
)

// parameters are the names of the settings.
var parameters = []string{"approval", "claims", "fail", "headless", "prompts", "wait"}

func readSettings(r *http.Request, p *program) (settings, error) {
	out := settings{headless: !p.asks}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return out, fmt.Errorf("the parameters of the address: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if !slices.Contains(parameters, name) {
			return out, fmt.Errorf("the parameter %q of the address is not known; it has %s", name, strings.Join(parameters, ", "))
		}
		if len(q[name]) > 1 {
			return out, fmt.Errorf("the parameter %s of the address is given more than once", name)
		}
	}
	switch q.Get("prompts") {
	case "":
	case "chat":
		out.prompts = true
	default:
		return out, errPrompts
	}
	switch q.Get("claims") {
	case "":
	case "auto":
		out.claims = true
	default:
		return out, errClaims
	}
	if text := q.Get("fail"); text != "" && text != "open" {
		return out, errFail
	}
	if text := q.Get("headless"); text != "" {
		headless, ok := access.Boolean(text)
		if !ok {
			return out, errHeadless
		}
		out.headless = headless || !p.asks
	}
	out.wait, err = seconds(q.Get("wait"), 0, maxWait)
	if err != nil {
		return out, errors.New("wait: " + err.Error())
	}
	out.approval, err = seconds(q.Get("approval"), defaultApproval, maxApproval)
	if err != nil {
		return out, errors.New("approval: " + err.Error())
	}
	out.permission = out.approval
	if p.userWaits && q.Get("approval") == "" {
		out.permission = userApproval
	}
	return out, nil
}

func seconds(text string, absent, most time.Duration) (time.Duration, error) {
	if text == "" {
		return absent, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > int(most/time.Second) {
		return 0, errors.New("expected seconds, at most " + strconv.Itoa(int(most/time.Second)))
	}
	return time.Duration(n) * time.Second, nil
}

// answer is the response to a hook; empty: no decision.
type answer struct {
	Decision string    `json:"decision,omitempty"` // block: the agent goes on
	Reason   string    `json:"reason,omitempty"`
	Warning  string    `json:"systemMessage,omitempty"` // for the user
	Specific *specific `json:"hookSpecificOutput,omitempty"`
}

type specific struct {
	Event    string          `json:"hookEventName"`
	Decision string          `json:"permissionDecision,omitempty"` // of PreToolUse: allow, deny or ask
	Reason   string          `json:"permissionDecisionReason,omitempty"`
	Input    json.RawMessage `json:"updatedInput,omitempty"`
	Granted  *decision       `json:"decision,omitempty"` // of PermissionRequest
}

type decision struct {
	Behavior string          `json:"behavior"` // allow or deny
	Message  string          `json:"message,omitempty"`
	Input    json.RawMessage `json:"updatedInput,omitempty"`
}

func writeAnswer(w http.ResponseWriter, e *event, out answer) {
	writeJSON(w, e.program.encode(e, out))
}

func writeJSON(w http.ResponseWriter, answer any) {
	body, err := json.Marshal(answer)
	if err != nil {
		access.WriteError(w, protocol.Errorf(protocol.CodeInternal, "The answer could not be written."))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body) // the peer may have disconnected
}

// hook is one request.
type hook struct {
	event
	settings
	server  *Server
	client  *api.Client
	caller  Caller
	space   string
	session *session
	ctx     context.Context //nolint:containedctx // of the request
}

// release drops the body of the event and returns its memory, before a wait. Only
// the fields of the event that are texts may be used afterwards.
func (h *hook) release() {
	h.body, h.args, h.response = protocol.Value{}, protocol.Value{}, protocol.Value{}
	h.caller.Release()
}

// handler handles an event.
type handler func(*hook) (answer, error)

// withoutAnswer makes a handler of an event that is only published.
func withoutAnswer(f func(*hook, context.Context) error) handler {
	return func(h *hook) (answer, error) {
		ctx, cancel := context.WithTimeout(h.ctx, hookTimeout)
		defer cancel()
		return answer{}, f(h, ctx)
	}
}
