package hooks

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/hookconfig"
	"github.com/meup-protocol/meup/protocol"
)

// serve sends an event to a server, and returns its answer.
func serve(t *testing.T, s *Server, program string, c Caller, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	r.SetPathValue("program", program)
	r.SetPathValue("space", "lab")
	r.Header.Set("Authorization", "Bearer t")
	w := httptest.NewRecorder()
	c.ID, c.Release = "claude", func() {}
	s.Serve(w, r, c, []byte(body))
	return w.Code, w.Body.String()
}

// gatesOf returns an event of each sort that the answers of a program allow or deny.
func gatesOf(name string) (events []string) {
	p := programs[name]
	for _, gate := range hookconfig.Gates {
		if p.events[gate] != nil {
			text, err := json.Marshal(map[string]any{
				"hook_event_name": gate, p.fields.session: "s", "tool_name": "Bash", "tool_use_id": "1", "tool_input": map[string]string{"command": "x"},
			})
			if err != nil {
				panic(err) // of texts
			}
			events = append(events, string(text))
		}
	}
	return events
}

// wantDenied fails unless an answer has the form in which its program is told that a call is not
// made, with the reason.
func wantDenied(t *testing.T, program, event string, status int, answer, reason string) {
	t.Helper()
	forms := []string{`"permissionDecision":"deny"`, `"behavior":"deny"`, `"permission":"deny"`}
	denied := slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(answer, form) })
	if status != http.StatusOK || !denied || !strings.Contains(answer, reason) {
		t.Errorf("%s, %s: %d %s, want a denial because of %q", program, event, status, answer, reason)
	}
}

// A call is denied if the gateway fails while it serves the event.
func TestServer_FailsClosed(t *testing.T) {
	for _, failure := range []struct {
		name, reason string
		api          http.HandlerFunc
	}{
		{"an internal error", "could not be published", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }},
		{"too many messages", "slow down", func(w http.ResponseWriter, _ *http.Request) {
			access.WriteError(w, protocol.Errorf(protocol.CodeRateLimited, "slow down"))
		}},
		{"no answer", "could not finish the request", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	} {
		t.Run(failure.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Options{Logger: slog.New(slog.DiscardHandler), API: failure.api})
				for _, program := range Programs {
					for _, event := range gatesOf(program) {
						began := time.Now()
						status, answer := serve(t, s, program, Caller{}, event)
						wantDenied(t, program, event, status, answer, failure.reason)
						if took := time.Since(began); took > hookTimeout {
							t.Errorf("%s, %s: denied after %s, want before the agent ends the hook", program, event, took)
						}
					}
				}
			})
		})
	}
}

// A request that the gateway refuses before it reaches the adapter is no other case.
func TestServer_Refused(t *testing.T) {
	s := New(Options{})
	for _, program := range Programs {
		for _, event := range gatesOf(program) {
			status, answer := serve(t, s, program, Caller{Refused: protocol.Errorf(protocol.CodeTooMany, "The gateway is busy.")}, event)
			wantDenied(t, program, event, status, answer, "The gateway is busy.")
			status, answer = serve(t, s, program, Caller{Refused: protocol.Errorf(protocol.CodeKicked, "You were removed.")}, event)
			wantDenied(t, program, event, status, answer, "The participant was removed from the space lab.")
		}
	}
	if status, answer := serve(t, s, "claude", Caller{Refused: protocol.Errorf(protocol.CodeTooMany, "The gateway is busy.")}, `{"hook_event_name":"Stop"}`); status != http.StatusTooManyRequests {
		t.Errorf("%d %s, want the error of an event that gates nothing", status, answer)
	}
}

func TestEventName(t *testing.T) {
	for _, test := range []struct {
		name, body, want string
		known            bool
	}{
		{"cut after it", `{"hook_event_name":"Stop","x":"`, "Stop", true},
		{"cut before it", `{"x":"`, "", false},
		{"none", `{"x":1}`, "", true},
		{"in the arguments", `{"tool_input":{"hook_event_name":"Stop"},"x`, "", false},
		{"after the arguments", `{"tool_input":{"hook_event_name":"Stop"},"hook_event_name":"PreToolUse"}`, "PreToolUse", true},
		{"after a lone surrogate", `{"x":"\ud83d","hook_event_name":"PreToolUse"}`, "PreToolUse", true},
		{"of another type", `{"hook_event_name":["Stop"]}`, "", false},
		{"no object", `["hook_event_name"]`, "", false},
		{"nothing", "", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, known := eventName([]byte(test.body)); got != test.want || known != test.known {
				t.Errorf("%q, known %t; want %q, %t", got, known, test.want, test.known)
			}
		})
	}
}
