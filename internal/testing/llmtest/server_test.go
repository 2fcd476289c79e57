package llmtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/llm/openai"
	"github.com/meup-protocol/meup/internal/testing/llmtest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func openaiModel(t *testing.T, base string) *openai.Model {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return openai.New(openai.Options{
		BaseURL: base + "/v1", Key: "sk-test", Model: "m", HTTP: &http.Client{Transport: transport},
		Retry: llm.Retry{Sleep: func(context.Context, time.Duration) error { return nil }},
	})
}

func ask(text string) llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.User, Text: text}}}
}

// heard records the deltas that a client received.
type heard struct{ text, thinking []string }

func (h *heard) on(d llm.Delta) {
	if d.Kind == llm.TextDelta {
		h.text = append(h.text, d.Text)
	} else {
		h.thinking = append(h.thinking, d.Text)
	}
}

func TestCompletions(t *testing.T) {
	turn := llmtest.Turn{
		Thinking: "It is <late>, I think.", Text: "I will look at the clock.",
		Calls: []llm.ToolCall{{ID: "c1", Name: "get_time", Arguments: json.RawMessage(`{"zone":"Europe/Oslo"}`)}, {Name: "get_time"}},
		Usage: llm.Usage{Input: 100, Output: 50, Cached: 60, Reasoning: 20},
	}
	for _, field := range []string{"", "reasoning", "reasoning_details", "content"} {
		for _, document := range []bool{false, true} {
			if document && (field == "reasoning_details" || field == "content") {
				continue // these fields need a stream
			}
			turn.Document = document
			s := llmtest.Start(t, llmtest.Turns(turn), func(s *llmtest.Server) { s.Key, s.ThinkingField = "sk-test", field })
			var h heard
			resp, err := llm.Ask(t.Context(), openaiModel(t, s.URL()), ask("Time?"), h.on)
			if err != nil {
				t.Fatalf("%q: %v", field, err)
			}
			if resp.Message.Text != turn.Text || resp.Thinking != turn.Thinking || resp.Usage != turn.Usage || resp.Stop != llm.StopTools || resp.Model != "m" {
				t.Errorf("%q: %+v", field, resp)
			}
			c := resp.Message.Calls
			if len(c) != 2 || c[0].ID != "c1" || string(c[0].Arguments) != `{"zone":"Europe/Oslo"}` || c[1].ID != "call_1_2" || string(c[1].Arguments) != "{}" {
				t.Errorf("%q: calls %+v", field, c)
			}
			if !document && (len(h.text) < 3 || len(h.thinking) < 3) {
				t.Errorf("%q: not in pieces: %q", field, h)
			}
		}
	}
}

// Requests are recorded as the client sent them.
func TestServer_RecordsRequests(t *testing.T) {
	s := llmtest.Start(t, llmtest.Turns(llmtest.Turn{Text: "One."}))
	req := llm.Request{
		Messages: []llm.Message{
			{Role: llm.System, Text: "Be brief."}, {Role: llm.User, Text: "List a."},
			{Role: llm.Assistant, Calls: []llm.ToolCall{{ID: "c1", Name: "list", Arguments: json.RawMessage(`{"path":"a"}`)}}},
			{Role: llm.ToolResult, CallID: "c1", Text: "x.txt"},
		},
		Tools:  []llm.Tool{{Name: "list", Description: "Lists.", InputSchema: json.RawMessage(`{"type":"object"}`)}},
		Choice: llm.Required, MaxTokens: 70, Effort: "high",
	}
	if _, err := llm.Ask(t.Context(), openaiModel(t, s.URL()), req, nil); err != nil {
		t.Fatal(err)
	}
	got := s.Requests()
	if len(got) != 1 {
		t.Fatalf("%d requests", len(got))
	}
	want, _ := json.Marshal(req)
	if have, _ := json.Marshal(got[0].Request); !bytes.Equal(have, want) {
		t.Errorf("got %s, want %s", have, want)
	}
	r := got[0]
	if r.N != 1 || r.Model != "m" || r.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer sk-test" || !json.Valid(r.Body) {
		t.Errorf("%+v", r)
	}
	if r.LastUser() != "List a." || r.LastResult() != "x.txt" {
		t.Errorf("%q %q", r.LastUser(), r.LastResult())
	}
}

// A script may answer by content, also for concurrent requests.
func TestScript_ByContent(t *testing.T) {
	srv := httptest.NewServer(llmtest.New(func(r llmtest.Request) llmtest.Turn {
		return llmtest.Turn{Text: "You said " + r.LastUser()}
	}))
	defer srv.Close()
	m := openaiModel(t, srv.URL)
	var wg sync.WaitGroup
	for _, word := range []string{"a", "b", "c", "d"} {
		wg.Go(func() {
			resp, err := llm.Ask(t.Context(), m, ask(word), nil)
			if err != nil || resp.Message.Text != "You said "+word {
				t.Errorf("%q %v", resp.Message.Text, err)
			}
			if resp.Usage.Input == 0 || resp.Usage.Output == 0 {
				t.Error("no estimate of the usage")
			}
		})
	}
	wg.Wait()
}

func TestRefusals(t *testing.T) {
	s := llmtest.Start(t, llmtest.Turns(
		llmtest.Turn{Status: 429, RetryAfter: 1500 * time.Millisecond}, llmtest.Turn{Text: "Now."},
		llmtest.Turn{Status: 400, Code: "context_length_exceeded", Message: "too long"},
	))
	m := openaiModel(t, s.URL())
	if resp, err := llm.Ask(t.Context(), m, ask("q"), nil); err != nil || resp.Message.Text != "Now." || len(s.Requests()) != 2 {
		t.Fatalf("%+v %v", resp, err)
	}
	for _, want := range []llm.Error{
		{Status: 400, Code: "context_length_exceeded", Message: "too long"},
		{Status: 400, Code: "script_over", Message: "the script has 3 turns, this is request 4"},
	} {
		_, err := llm.Ask(t.Context(), m, ask("q"), nil)
		var e *llm.Error
		if !errors.As(err, &e) || e.Status != want.Status || e.Code != want.Code || e.Message != want.Message {
			t.Errorf("%v, want %v", err, &want)
		}
	}
	busy := llmtest.Start(t, llmtest.Turns(llmtest.Turn{Status: 503, RetryAfter: 90 * time.Second}))
	_, err := llm.Ask(t.Context(), openaiModel(t, busy.URL()), ask("q"), nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.RetryAfter != 90*time.Second {
		t.Errorf("%v", err)
	}
}

func TestServer_InvalidRequests(t *testing.T) {
	s := llmtest.Start(t, llmtest.Turns(), func(s *llmtest.Server) { s.Key = "sk-right" })
	post := func(method, path, key, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	user := `{"role":"user","content":"q"}`
	called := `{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]}`
	result := `{"role":"tool","tool_call_id":"c","content":"r"}`
	for name, tc := range map[string]struct {
		method, path, key, body string
		status                  int
		want                    string
	}{
		"another path":     {"POST", "/v1/completions", "sk-right", "", 404, "nothing at"},
		"another method":   {"GET", "/v1/chat/completions", "sk-right", "", 404, "nothing at"},
		"a wrong key":      {"POST", "/v1/chat/completions", "sk-wrong", "", 401, "key is not right"},
		"no JSON":          {"POST", "/v1/chat/completions", "sk-right", "{", 400, "unexpected end"},
		"no messages":      {"POST", "/v1/chat/completions", "sk-right", `{"model":"m"}`, 400, "required"},
		"odd content":      {"POST", "/v1/chat/completions", "sk-right", `{"model":"m","messages":[{"role":"user","content":7}]}`, 400, "messages[0]"},
		"no result":        {"POST", "/v1/chat/completions", "sk-right", `{"model":"m","messages":[` + user + `,` + called + `]}`, 400, "without a result"},
		"a late result":    {"POST", "/v1/chat/completions", "sk-right", `{"model":"m","messages":[` + user + `,` + called + `,` + user + `,` + result + `]}`, 400, "have no result"},
		"a result alone":   {"POST", "/v1/chat/completions", "sk-right", `{"model":"m","messages":[` + user + `,` + result + `]}`, 400, "no call"},
		"broken arguments": {"POST", "/v1/chat/completions", "sk-right", `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{"}}]},` + result + `]}`, 400, "no JSON"},
		"parts and a name": {"POST", "/v1/chat/completions", "sk-right", `{"model":"m","messages":[{"role":"developer","content":[{"type":"text","text":"a"}]}],"tool_choice":{"type":"function","function":{"name":"f"}}}`, 400, "script"},
	} {
		status, body := post(tc.method, tc.path, tc.key, tc.body)
		if status != tc.status || !strings.Contains(body, tc.want) || strings.Contains(body, "sk-") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if r := s.Requests(); len(r) != 1 || r[0].Choice != "f" || r[0].Messages[0].Role != llm.System || r[0].Messages[0].Text != "a" {
		t.Errorf("%+v", r)
	}
}

func TestCut(t *testing.T) {
	s := llmtest.Start(t, llmtest.Turns(llmtest.Turn{Text: "one two three four five", CutAfter: 3}))
	var h heard
	_, err := llm.Ask(t.Context(), openaiModel(t, s.URL()), ask("q"), h.on)
	if !errors.Is(err, llm.ErrTruncated) || strings.Join(h.text, "") != "one two " {
		t.Errorf("%v, heard %q", err, h.text)
	}
}

func TestGate(t *testing.T) {
	gate := make(chan struct{})
	s := llmtest.Start(t, llmtest.Turns(llmtest.Turn{Text: "one two three", Gate: gate}))
	words := make(chan string)
	done := make(chan error, 1)
	go func() {
		_, err := llm.Ask(t.Context(), openaiModel(t, s.URL()), ask("q"), func(d llm.Delta) { words <- d.Text })
		done <- err
	}()
	gate <- struct{}{} // the role
	for _, want := range []string{"one ", "two "} {
		gate <- struct{}{}
		if got := <-words; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	select {
	case w := <-words:
		t.Errorf("%q came through a closed gate", w)
	default:
	}
	close(gate)
	if got := <-words; got != "three" {
		t.Errorf("%q", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestHang(t *testing.T) {
	hang := make(chan struct{})
	s := llmtest.Start(t, llmtest.Turns(llmtest.Turn{Hang: hang, Text: "a"}, llmtest.Turn{Hang: hang, Text: "b"}))
	m := openaiModel(t, s.URL())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := llm.Ask(ctx, m, ask("q"), nil); done <- err }()
	if _, err := s.Asked(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	cancel() // a waiting client may disconnect
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	go func() { _, err := llm.Ask(t.Context(), m, ask("again"), nil); done <- err }()
	if r, err := s.Asked(t.Context(), 2); err != nil || r.LastUser() != "again" {
		t.Fatal(r, err)
	}
	close(hang)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := s.Asked(ctx, 3); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Close ends hanging answers, so that a failing test ends too.
func TestServer_CloseEndsHang(t *testing.T) {
	s := llmtest.Start(t, llmtest.Turns(llmtest.Turn{Hang: make(chan struct{})}))
	done := make(chan error, 1)
	go func() { _, err := llm.Ask(t.Context(), openaiModel(t, s.URL()), ask("q"), nil); done <- err }()
	if _, err := s.Asked(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close()
	if err := <-done; err == nil {
		t.Error("no error")
	}
}

func TestServer_RequestsBound(t *testing.T) {
	s := llmtest.New(func(llmtest.Request) llmtest.Turn { return llmtest.Turn{Text: "ü"} })
	for range 1002 {
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"q"}]}`))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "ü") {
			t.Fatal(w.Code, w.Body)
		}
	}
	if r := s.Requests(); len(r) != 1000 || r[0].N != 3 {
		t.Errorf("%d requests, the first is %d", len(r), r[0].N)
	}
}
