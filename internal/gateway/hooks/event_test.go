package hooks

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/kit/recent"
	"github.com/meup-protocol/meup/protocol"
)

func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("../testdata/hooks/*/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"tool_response":{"content":[{"text":1},"x",[]]}}`))
	f.Add([]byte(`{"tool_response":[{"text":"a"},{}]}`))
	f.Add([]byte(`{"hook_event_name":"beforeMCPExecution","tool_input":"{\"a\":1,\"a\":2}"}`))
	f.Add([]byte(`{"hook_event_name":"postToolUse","tool_output":"[[[\"a\"]]]","tool_input":"[]"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for name, p := range programs {
			e, err := decode(p, body)
			if err != nil {
				return
			}
			if len(e.session) > maxName || len(e.toolUse) > maxName || len(e.agent) > maxName || len(e.agentType) > maxName {
				t.Errorf("%s: long ids: %+v", name, e)
			}
			if in := e.input(); e.unread == nil && (len(in) > 6*len(body)+2 || in[0] != '{' || !json.Valid(in)) {
				t.Errorf("%s: the input is %s", name, in)
			}
			if text := e.summary(); len(text) > 2*maxName+2 {
				t.Errorf("%s: a summary of %d bytes", name, len(text))
			}
			if again, err := decode(p, body); err != nil || again.sum() != e.sum() {
				t.Errorf("%s: another sum, %v", name, err)
			}
			_ = e.result()
			text, err := json.Marshal(p.encode(&e, answer{Specific: &specific{Event: e.name, Decision: "ask"}}))
			if err != nil || name == "codex" && string(text) != "{}" {
				t.Errorf("%s: %s %v", name, text, err)
			}
		}
	})
}

func TestEvent_Result(t *testing.T) {
	for _, test := range []struct{ name, response, want string }{
		{"a text", `"done"`, "done"},
		{"of a shell", `{"stdout":"a","stderr":"b"}`, "a\nb"},
		{"of a silent shell", `{"stdout":"","stderr":""}`, ""},
		{"of an MCP tool", `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, "a\nb"},
		{"of a subagent", `{"status":"completed","content":[{"type":"text","text":"a"}]}`, "a"},
		{"of a file", `{"filePath":"/a","success":true}`, `{"filePath":"/a","success":true}`},
		{"an image", `[{"type":"image"}]`, `[{"type":"image"}]`},
		{"none", `null`, "null"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, err := decode(programs["claude"], []byte(`{"tool_response":`+test.response+`}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(e.result()); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// A chat that begins with a mention of another name is not delivered to the agent.
func TestHook_IsForAgent(t *testing.T) {
	h := &hook{caller: Caller{ID: "claude"}, session: &session{delivered: recent.New[protocol.ID, struct{}](1)}}
	for text, want := range map[string]bool{
		"look": true, "@claude, look": true, "@Claude look": true, "@bob and @claude, look": true, "ask @bob": true,
		"@bob, look": false, "@claud look": false, "@jürgen look": false, "@claude2 look": false,
	} {
		t.Run(text, func(t *testing.T) {
			payload, err := json.Marshal(map[string]string{"message": text})
			if err != nil {
				t.Fatal(err)
			}
			got, err := h.isForAgent(t.Context(), &protocol.Envelope{ID: "q", From: "alice", Kind: protocol.KindChat, Payload: payload})
			if err != nil || got != want {
				t.Errorf("delivered: %t, %v; want %t", got, err, want)
			}
		})
	}
}

// A request for permission that cannot wait is answered without a decision, and
// nothing is proposed.
func TestServer_HeldBound(t *testing.T) {
	s := New(Options{})
	for range maxHeld {
		s.held <- struct{}{}
	}
	h := &hook{server: s}
	if out, why, err := h.propose("x", &call{}, time.Second); out != nil || err != nil || !strings.Contains(why, "too many calls wait for a decision") {
		t.Error(out, why, err)
	}
	if chats := h.awaitChats(); chats != nil {
		t.Error(chats)
	}
}

func TestSessions_Bounds(t *testing.T) {
	list := &New(Options{}).sessions
	for i := range 3 * maxSessions {
		s := list.get(sessionKey{"lab", protocol.ParticipantID(fmt.Sprint("p", i%100)), strings.Repeat("x", i)})
		for range 2 * maxCalls {
			s.add(strings.Repeat("y", len(s.calls)), &call{})
		}
		for range 10 {
			s.display(strings.Repeat("m", len(s.texts)), strings.Repeat("z", 20<<10), "", false)
		}
		s.turn = &turn{}
		for use := range maxUses + 2 {
			s.count(&call{use: fmt.Sprint(use), n: 1, turn: s.turn})
		}
		if len(s.uses) > maxUses {
			t.Fatalf("%d uses of calls are remembered, want at most %d", len(s.uses), maxUses)
		}
		if len(s.calls) > maxCalls || len(s.texts) > maxMessages {
			t.Fatal(len(s.calls), len(s.texts))
		}
	}
	if n := len(list.list); n != maxSessions {
		t.Errorf("%d sessions", n)
	}
	one := list.get(sessionKey{"lab", "claude", "one"})
	for range 100 {
		one.display("m", strings.Repeat("z", 10<<10), "", false)
	}
	if n := len(one.texts["m"]); n > 2*maxMessage {
		t.Errorf("a message of %d bytes", n)
	}
	list.drop(one)
	if again := list.get(one.key); again == one {
		t.Error("a session that ended is kept")
	}
}

// A participant with many sessions takes no sessions from others, and keeps its
// youngest ones.
func TestSessions_Share(t *testing.T) {
	list := &New(Options{}).sessions
	other := list.get(sessionKey{"lab", "alice", "s"})
	same := list.get(sessionKey{"attic", "claude", "s"})
	of := func(i int) sessionKey { return sessionKey{"lab", "claude", fmt.Sprint(i)} }
	first := list.get(of(0))
	for i := range 2 * maxSessions {
		list.get(of(i))
		if list.get(of(0)) != first {
			t.Fatalf("after %d sessions, the one in use was forgotten", i)
		}
	}
	if list.get(other.key) != other || list.get(same.key) != same {
		t.Error("sessions of other participants were forgotten")
	}
	if n := len(list.list); n != maxOwn+2 {
		t.Errorf("%d sessions", n)
	}
}

// Events that are not known, and those without a session, take no memory.
func TestServer_UnknownEvents(t *testing.T) {
	s := New(Options{})
	for _, body := range []string{`{"hook_event_name":"Tomorrow"}`, `{"session_id":"a","hook_event_name":"Tomorrow"}`, `{"hook_event_name":"Stop"}`} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.SetPathValue("program", "claude")
		r.Header.Set("Authorization", "Bearer t")
		w := httptest.NewRecorder()
		s.Serve(w, r, Caller{ID: "claude"}, []byte(body))
		if w.Code != http.StatusOK || w.Body.String() != "{}" || len(s.sessions.list) != 0 {
			t.Errorf("%s: %d %s, %d sessions", body, w.Code, w.Body, len(s.sessions.list))
		}
	}
}

// heldBody posts an event that waits to a gateway in which another participant
// rejects the proposed call, and reports whether the body was kept meanwhile.
func heldBody(t *testing.T, body []byte) (kept bool, answer string) {
	t.Helper()
	text := weak.Make(&body[0])
	var proposed protocol.ID
	seq := 0
	s := New(Options{Logger: slog.New(slog.DiscardHandler), API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			draft, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			doc, err := protocol.ParseJSON(draft, protocol.MaxDepth)
			if err != nil {
				t.Error(err)
			}
			if doc.Root().Get("kind").EqualText(string(protocol.KindMCPProposal)) {
				proposed = protocol.ID(doc.Root().Get("id").Text())
			}
			seq++
			fmt.Fprintf(w, `{"id":"e","seq":%d}`, seq)
			return
		}
		if strings.Contains(r.URL.Path, "/envelopes/") { // an id that nobody has used
			access.WriteError(w, protocol.Errorf(protocol.CodeNotFound, "There is no such envelope."))
			return
		}
		runtime.GC()
		runtime.GC()
		kept = text.Value() != nil
		w.Header().Set("Meup-Next", "9")
		fmt.Fprintf(w, `{"protocol":"meup/v0.1","id":"r","seq":9,"ts":"2026-03-01T12:00:00Z","from":"alice","kind":"mcp.reject","correlationId":%q,"payload":{"reason":"unsafe"}}`+"\n", proposed)
	})})
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.SetPathValue("program", "claude")
	r.SetPathValue("space", "lab")
	r.Header.Set("Authorization", "Bearer t")
	w := httptest.NewRecorder()
	s.Serve(w, r, Caller{ID: "claude", Space: openSpace{}, Release: func() {}}, body)
	return kept, w.Body.String()
}

// openSpace is a space in which nobody is paused.
type openSpace struct{}

func (openSpace) Rights(protocol.ParticipantID, *protocol.Envelope) (allowed, named bool) {
	return true, true
}
func (openSpace) RejectsProposal(protocol.ParticipantID, *protocol.Envelope) string { return "" }
func (openSpace) NeedsClaims(protocol.ParticipantID, *protocol.Envelope) []string   { return nil }
func (openSpace) MaySend(protocol.ParticipantID, protocol.Kind) bool                { return true }
func (openSpace) MaySendTo(protocol.ParticipantID, protocol.Kind, protocol.ParticipantID) (named, other bool) {
	return true, true
}
func (openSpace) Paused() []protocol.ParticipantID { return nil }

// While an event waits, its body is not in memory.
func TestServer_HeldBody(t *testing.T) {
	kept, answer := heldBody(t, []byte(`{"hook_event_name":"PermissionRequest","session_id":"s","tool_name":"Bash","tool_input":{"command":"`+strings.Repeat("x", 64<<10)+`"}}`))
	if kept || !strings.Contains(answer, `"behavior":"deny"`) {
		t.Errorf("kept %t, answer %s", kept, answer)
	}
}
