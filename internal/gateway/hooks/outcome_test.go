package hooks

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/protocol"
)

// asksSpace lets a participant propose calls and make none.
type asksSpace struct{ openSpace }

func (asksSpace) Rights(_ protocol.ParticipantID, e *protocol.Envelope) (allowed, named bool) {
	return e.Kind == protocol.KindMCPProposal, false
}

// decidingAPI is the API of a space whose log gets one decision on each proposal.
type decidingAPI struct {
	t *testing.T

	refuses  *protocol.Error // the proposal
	decision string          // on the proposal %s; "": none
	hidden   bool            // until the hook withdraws the proposal
	unread   bool            // the log cannot be read after the proposal

	mu       sync.Mutex
	seq      int
	proposal string
	visible  bool
}

func (a *decidingAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case r.Method == http.MethodPost:
		a.admit(w, r)
	case strings.Contains(r.URL.Path, "/envelopes/"): // an id that nobody has used
		access.WriteError(w, protocol.Errorf(protocol.CodeNotFound, "There is no such envelope."))
	case r.Header.Get("Accept") == "text/event-stream":
		a.mu.Unlock()
		<-r.Context().Done()
		a.mu.Lock()
	case a.unread && a.proposal != "":
		access.WriteError(w, protocol.Errorf(protocol.CodeUnavailable, "The log of the space cannot be read now; try again."))
	default:
		w.Header().Set("Meup-Next", "99")
		if a.visible {
			fmt.Fprintf(w, a.decision+"\n", a.proposal)
		}
	}
}

func (a *decidingAPI) admit(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		a.t.Error(err)
	}
	doc, err := protocol.ParseJSON(body, protocol.MaxDepth)
	if err != nil {
		a.t.Error(err)
	}
	e := doc.Root()
	switch protocol.Kind(e.Get("kind").Text()) {
	case protocol.KindMCPProposal:
		if a.refuses != nil {
			access.WriteError(w, a.refuses)
			return
		}
		a.proposal, a.visible = e.Get("id").Text(), a.decision != "" && !a.hidden
	case protocol.KindMCPWithdraw:
		if a.decision != "" {
			a.visible = true
			refused := protocol.Errorf(protocol.CodeProposalSettled, "It was decided.")
			refused.Seq, refused.By = 98, "alice"
			access.WriteError(w, refused)
			return
		}
	}
	a.seq++
	fmt.Fprintf(w, `{"id":%s,"seq":%d}`, e.Get("id").Raw(), a.seq)
}

// Each outcome of a proposal has a text of its own, and none is told for another.
func TestServer_Outcomes(t *testing.T) {
	const (
		approves  = `{"protocol":"meup/v0.1","id":"d","seq":98,"from":"alice","to":["claude"],"kind":"mcp.request","correlationId":"%s","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Bash","arguments":{"command":"x"}}}}`
		rejects   = `{"protocol":"meup/v0.1","id":"d","seq":98,"from":"alice","kind":"mcp.reject","correlationId":"%s","payload":{"reason":"unsafe"}}`
		withdraws = `{"protocol":"meup/v0.1","id":"d","seq":98,"from":"claude","kind":"mcp.withdraw","correlationId":"%s","payload":{"reason":"no_longer_needed"}}`
	)
	for name, c := range map[string]struct {
		api  *decidingAPI
		want string
	}{
		"approved":                    {&decidingAPI{decision: approves}, `"allow"`},
		"rejected":                    {&decidingAPI{decision: rejects}, `"deny","permissionDecisionReason":"The participant alice of the space lab rejected the call.`},
		"expired":                     {&decidingAPI{}, `"deny","permissionDecisionReason":"No participant of the space lab decided on this call in time. Nobody rejected it."`},
		"approved at the last moment": {&decidingAPI{decision: approves, hidden: true}, `"allow"`},
		"rejected at the last moment": {&decidingAPI{decision: rejects, hidden: true}, `"deny","permissionDecisionReason":"The participant alice of the space lab rejected the call.`},
		"withdrawn":                   {&decidingAPI{decision: withdraws}, `"deny","permissionDecisionReason":"The proposal of this call in the space lab ended before a participant decided on it."`},
		"unavailable":                 {&decidingAPI{refuses: protocol.Errorf(protocol.CodeUnavailable, "The log of the space cannot take anything now.")}, `"deny","permissionDecisionReason":"The space lab could not be asked about this call, so it is not made: The log of the space cannot take anything now."`},
		"unavailable while it waits":  {&decidingAPI{unread: true}, `"deny","permissionDecisionReason":"The space lab cannot be read now: it is not known whether a participant decided on this call."`},
		"not allowed":                 {&decidingAPI{refuses: protocol.Errorf(protocol.CodeCapabilityViolation, "No.")}, `"deny","permissionDecisionReason":"The capabilities of claude in the space lab allow neither this call nor a proposal of it."`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.api.t = t
				s := New(Options{Logger: slog.New(slog.DiscardHandler), API: c.api})
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/?headless=true", nil)
				r.SetPathValue("program", "claude")
				r.SetPathValue("space", "lab")
				r.Header.Set("Authorization", "Bearer t")
				w := httptest.NewRecorder()
				s.Serve(w, r, Caller{ID: "claude", Space: asksSpace{}, Release: func() {}}, []byte(`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_use_id":"u","tool_input":{"command":"x"}}`))
				if !strings.Contains(w.Body.String(), `"permissionDecision":`+c.want) {
					t.Errorf("%d %s\nwant %s", w.Code, w.Body, c.want)
				}
			})
		})
	}
}
