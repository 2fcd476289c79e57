package hooks

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/protocol"
)

// serve sends an event to a server, and returns its answer.
func serve(t *testing.T, s *Server, program string, c Caller, body string) (int, string) {
	t.Helper()
	return serveAt(t, s, "/", program, c, body)
}

func serveAt(t *testing.T, s *Server, address, program string, c Caller, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, address, nil)
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
	for _, gate := range api.HookGates {
		if p.events[gate] != nil {
			text, err := json.Marshal(map[string]any{
				"hook_event_name": gate, p.fields.session: "s", "tool_name": "Bash", "tool_use_id": "1",
				"tool_input": map[string]string{"command": "x"}, "command": "x",
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

// An agent that disconnects while its proposal is published leaves none that waits for a decision.
func TestServer_AgentGoneAtProposal(t *testing.T) {
	ctx, hangUp := context.WithCancel(t.Context())
	var kinds []protocol.Kind
	s := New(Options{Logger: slog.New(slog.DiscardHandler), API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Meup-Next", "0") // a page without envelopes
			if !strings.HasSuffix(r.URL.Path, "/envelopes") {
				access.WriteError(w, protocol.Errorf(protocol.CodeNotFound, "There is no such envelope."))
			}
			return
		}
		var e protocol.Envelope
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			t.Error(err)
		}
		kinds = append(kinds, e.Kind)
		if e.Kind == protocol.KindMCPProposal {
			hangUp()
		}
		_ = json.NewEncoder(w).Encode(api.Receipt{ID: e.ID, Seq: protocol.Seq(len(kinds))})
	})})
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
	r.SetPathValue("program", "claude")
	r.SetPathValue("space", "lab")
	r.Header.Set("Authorization", "Bearer t")
	s.Serve(httptest.NewRecorder(), r, Caller{ID: "claude", Space: openSpace{}, Release: func() {}}, []byte(`{"hook_event_name":"PermissionRequest","session_id":"s","tool_name":"Bash","tool_input":{"command":"x"}}`))
	if !slices.Contains(kinds, protocol.KindMCPProposal) || kinds[len(kinds)-1] != protocol.KindMCPWithdraw {
		t.Errorf("it published %v, want a proposal and its withdrawal", kinds)
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

// A call whose event, name or arguments cannot be read is denied, by an answer that says why: the
// space would decide about something else.
func TestServer_UnreadableCall(t *testing.T) {
	s := New(Options{Logger: slog.New(slog.DiscardHandler), API: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a request to the space, want none")
	})})
	deep := `{"path":"/etc/passwd","z":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`
	quoted := func(text string) string { return string(object("tool_input", text)) }
	for _, test := range []struct{ name, program, event, members, reason string }{
		{"a text", "claude", "PreToolUse", `{"tool_name":"Bash","tool_input":"rm -rf x"}`, "tool_input: expected a JSON object"},
		{"JSON in a text", "claude", "PreToolUse", `{"tool_name":"Bash","tool_input":"{\"command\":\"rm\"}"}`, "tool_input: expected a JSON object"},
		{"a list", "claude", "PreToolUse", `{"tool_name":"Bash","tool_input":["rm -rf x"]}`, "tool_input: expected a JSON object"},
		{"a number", "claude", "PermissionRequest", `{"tool_name":"Bash","tool_input":1}`, "tool_input: expected a JSON object"},
		{"a text", "codex", "PreToolUse", `{"tool_name":"Bash","tool_input":"rm -rf x"}`, "tool_input: expected a JSON object"},
		{"a list", "codex", "PermissionRequest", `{"tool_name":"Bash","tool_input":[{"command":"x"}]}`, "tool_input: expected a JSON object"},
		{"a text", "cursor", "preToolUse", `{"tool_name":"Shell","tool_input":"rm -rf x"}`, "tool_input: expected a JSON object"},
		{"a list in a text", "cursor", "beforeMCPExecution", `{"tool_name":"read",` + quoted(`[{"path":"/etc/passwd"}]`)[1:], "tool_input: expected a JSON object"},
		{"a list", "cursor", "beforeMCPExecution", `{"tool_name":"read","tool_input":[]}`, "tool_input: expected a JSON object"},
		{"deep in a text", "cursor", "beforeMCPExecution", `{"tool_name":"read",` + quoted(deep)[1:], "tool_input: "},
		{"a comma at the end", "cursor", "beforeMCPExecution", `{"tool_name":"read",` + quoted(`{"path":"/etc/passwd",}`)[1:], "tool_input: "},
		{"a control character", "cursor", "beforeMCPExecution", `{"tool_name":"read",` + quoted("{\"path\":\"\x01\"}")[1:], "tool_input: "},
		{"a list of commands", "cursor", "beforeShellExecution", `{"command":["rm -rf x"]}`, "command: expected a text"},
		{"no command", "cursor", "beforeShellExecution", `{}`, "command: expected a text"},
		{"no tool", "claude", "PreToolUse", `{"tool_input":{"command":"x"}}`, "the event has no tool_name"},
		{"a tool of another type", "cursor", "beforeMCPExecution", `{"tool_name":["read"],"tool_input":"{}"}`, "the event has no tool_name"},
		{"no name", "claude", "", `{"tool_name":"Bash","tool_input":{"command":"x"}}`, "the event has no hook_event_name"},
		{"a name of another type", "codex", "", `{"hook_event_name":["PreToolUse"],"tool_name":"Bash"}`, "the event has no hook_event_name"},
		{"a name that is null", "cursor", "", `{"hook_event_name":null,"tool_name":"Bash"}`, "the event has no hook_event_name"},
	} {
		t.Run(test.program+" "+test.event+", "+test.name, func(t *testing.T) {
			members := map[string]json.RawMessage{}
			if err := json.Unmarshal([]byte(test.members), &members); err != nil {
				t.Fatal(err)
			}
			members[programs[test.program].fields.session] = []byte(`"s"`)
			if test.event != "" {
				members["hook_event_name"] = []byte(strconv.Quote(test.event))
			}
			text, err := json.Marshal(members)
			if err != nil {
				t.Fatal(err)
			}
			status, answer := serve(t, s, test.program, Caller{}, string(text))
			wantDenied(t, test.program, string(text), status, answer, test.reason)
		})
	}
	for _, program := range Programs {
		if status, answer := serve(t, s, program, Caller{}, `{"hook_event_name":"Tomorrow","tool_input":"x"}`); status != http.StatusOK || strings.Contains(answer, "deny") {
			t.Errorf("%s: an event that is not known: %d %s, want no decision", program, status, answer)
		}
	}
}

// A call is denied if the address of the hook cannot be read: without a misspelt setting the space
// would be asked in another way than its user expects. Other events are refused.
func TestServer_UnreadableAddress(t *testing.T) {
	s := New(Options{Logger: slog.New(slog.DiscardHandler), API: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a request to the space, want none")
	})})
	for query, reason := range map[string]string{
		"headles=true":              `\"headles\" of the address is not known; it has approval, claims, fail, headless, prompts, wait`,
		"Approval=60":               `\"Approval\" of the address is not known`,
		"fial=open":                 `\"fial\" of the address is not known`,
		"approval=60&approval=3600": "the parameter approval of the address is given more than once",
		"approval=1h":               "approval: expected seconds",
		"headless=maybe":            "headless: expected true or false",
		"fail=opne":                 "fail: expected open",
		"prompts=all":               "prompts: expected chat",
		"wait=-1":                   "wait: expected seconds",
		"approval=60;headless=true": "the parameters of the address",
		"approval=%zz":              "the parameters of the address",
	} {
		t.Run(query, func(t *testing.T) {
			for _, program := range Programs {
				for _, event := range gatesOf(program) {
					status, answer := serveAt(t, s, "/?"+query, program, Caller{}, event)
					wantDenied(t, program, event, status, answer, reason)
				}
				if status, answer := serveAt(t, s, "/?"+query, program, Caller{}, `{"hook_event_name":"Stop"}`); status != http.StatusBadRequest {
					t.Errorf("%s: %d %s, want 400 for an event that gates nothing", program, status, answer)
				}
			}
		})
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
