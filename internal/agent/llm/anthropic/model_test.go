package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

const key = "sk-ant-api03-secret-of-the-test"

// reply is a response of the server.
type reply struct {
	status int
	body   []byte
	stream bool
	header map[string]string
}

func sse(t testing.TB, name string) reply {
	return reply{status: http.StatusOK, body: testdata(t, name), stream: true}
}

// server answers each request with the next reply and records the bodies.
type server struct {
	*httptest.Server
	bodies  [][]byte
	headers []http.Header
	paths   []string
}

func serve(t *testing.T, replies ...reply) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		n := len(s.bodies)
		s.bodies, s.headers, s.paths = append(s.bodies, body), append(s.headers, r.Header), append(s.paths, r.URL.Path)
		if n >= len(replies) {
			t.Errorf("request %d was not expected", n+1)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if replies[n].stream {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		}
		for k, v := range replies[n].header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(replies[n].status)
		_, _ = w.Write(replies[n].body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) model(name string, log io.Writer) *Model {
	return New(Options{
		BaseURL: s.URL, Key: key, Model: name, HTTP: s.Client(),
		Retry:  llm.Retry{Attempts: 2, Sleep: func(context.Context, time.Duration) error { return nil }},
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
}

func ask(text string) llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.User, Text: text}}}
}

// seen is the visible part of an answer.
type seen struct {
	Deltas   []llm.Delta
	Response llm.Response
}

// TestAnswers compares the results of all complete transcripts with golden
// files.
func TestAnswers(t *testing.T) {
	files, err := filepath.Glob("testdata/*.want.json")
	if err != nil || !*update && len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, name := range []string{
		"text.sse", "thinking.sse", "omitted.sse", "parallel_tools.sse", "redacted.sse", "unknown.sse",
		"refusal.sse", "max_tokens.sse", "thinking_cut_by_length.sse", "whole.json",
	} {
		t.Run(name, func(t *testing.T) {
			r := sse(t, name)
			r.stream = strings.HasSuffix(name, ".sse")
			s := serve(t, r)
			var got seen
			var text, thinking strings.Builder
			got.Response, err = llm.Ask(t.Context(), s.model("claude-sonnet-5-5", io.Discard), ask("?"), func(d llm.Delta) {
				got.Deltas = append(got.Deltas, d)
				if d.Kind == llm.TextDelta {
					text.WriteString(d.Text)
				} else {
					thinking.WriteString(d.Text)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(strings.TrimSuffix(name, ".sse"), ".json")+".want.json", got)
			if text.String() != got.Response.Message.Text || thinking.String() != got.Response.Thinking {
				t.Error("the pieces do not add up to the whole")
			}
		})
	}
}

// TestAnswers_RedactedNotShown checks that only the opaque turn contains redacted
// data.
func TestAnswers_RedactedNotShown(t *testing.T) {
	s := serve(t, sse(t, "redacted.sse"))
	var shown strings.Builder
	r, err := llm.Ask(t.Context(), s.model("claude-sonnet-4-6", &shown), ask("?"), func(d llm.Delta) { shown.WriteString(d.Text) })
	if err != nil {
		t.Fatal(err)
	}
	const redacted = "EmwKAhgBEgy3va3pzix"
	shown.WriteString(r.Thinking + r.Message.Text)
	if strings.Contains(shown.String(), redacted) {
		t.Error("redacted thinking is shown")
	}
	if !bytes.Contains(r.Message.Opaque.Data, []byte(redacted)) {
		t.Error("redacted thinking is lost")
	}
}

// TestBrokenAnswers checks that an incomplete answer is an error.
func TestBrokenAnswers(t *testing.T) {
	for name, want := range map[string]error{
		"cut.sse":             llm.ErrTruncated,
		"cut_before_stop.sse": llm.ErrTruncated,
		"malformed.sse":       nil,
		"wrong_index.sse":     errOrder,
		"no_start.sse":        errOrder,
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, sse(t, name))
			r, err := llm.Ask(t.Context(), s.model("claude-sonnet-5-5", io.Discard), ask("?"), nil)
			if err == nil || want != nil && !errors.Is(err, want) {
				t.Fatalf("got %v, want %v", err, want)
			}
			if want == nil && errors.Is(err, llm.ErrTruncated) {
				t.Errorf("malformed and cut are not the same: %v", err)
			}
			if r.Message.Text != "" || r.ID != "" {
				t.Errorf("an answer beside the error: %+v", r)
			}
		})
	}
}

// TestGenerate_BrokenConnection checks that a body shorter than its declared length is a
// cut, too.
func TestGenerate_BrokenConnection(t *testing.T) {
	r := sse(t, "cut.sse")
	r.header = map[string]string{"Content-Length": "100000"}
	s := serve(t, r)
	_, err := llm.Ask(t.Context(), s.model("claude-sonnet-5-5", io.Discard), ask("?"), nil)
	if !errors.Is(err, llm.ErrTruncated) {
		t.Errorf("got %v", err)
	}
}

func TestGenerate_ErrorInStream(t *testing.T) {
	s := serve(t, sse(t, "overloaded.sse")) // after the first words, which cannot be withdrawn
	_, err := llm.Ask(t.Context(), s.model("claude-sonnet-5-5", io.Discard), ask("?"), func(llm.Delta) {})
	var refusal *llm.Error
	if !errors.As(err, &refusal) {
		t.Fatalf("got %v", err)
	}
	want := llm.Error{Provider: "anthropic", Code: "overloaded_error", Message: "Overloaded"}
	if *refusal != want || !refusal.Temporary() {
		t.Errorf("got %+v, temporary %v", *refusal, refusal.Temporary())
	}
}

// TestGenerate_BusyInStream checks that the request is retried if no delta was
// passed on.
func TestGenerate_BusyInStream(t *testing.T) {
	const busy = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":\"Busy\"}}\n\n"
	inStream := func(code string) reply {
		return reply{status: http.StatusOK, stream: true, body: fmt.Appendf(nil, busy, code)}
	}
	numbered := func(code string) reply { // of a compatible server
		return reply{status: http.StatusOK, stream: true, body: fmt.Appendf(nil, "data: {\"error\":{\"code\":%s,\"message\":\"Busy\"}}\n\n", code)}
	}
	for name, tc := range map[string]struct {
		replies []reply
		code    string // "": none
	}{
		"overloaded":   {[]reply{inStream("overloaded_error"), sse(t, "text.sse")}, ""},
		"too many":     {[]reply{inStream("rate_limit_error"), sse(t, "text.sse")}, ""},
		"a number":     {[]reply{numbered("502"), sse(t, "text.sse")}, ""},
		"digits":       {[]reply{numbered(`"529"`), sse(t, "text.sse")}, ""},
		"one document": {[]reply{{status: http.StatusOK, body: testdata(t, "error_529.json")}, sse(t, "text.sse")}, ""},
		"twice":        {[]reply{inStream("overloaded_error"), inStream("overloaded_error")}, "overloaded_error"},
		"both ways":    {[]reply{{status: 529, body: testdata(t, "error_529.json")}, inStream("overloaded_error")}, "overloaded_error"},
		"for good":     {[]reply{inStream("invalid_request_error")}, "invalid_request_error"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, tc.replies...)
			deltas := ""
			resp, err := llm.Ask(t.Context(), s.model("claude-sonnet-5-5", io.Discard), ask("?"), func(d llm.Delta) { deltas += d.Text })
			var refusal *llm.Error
			if errors.As(err, &refusal); tc.code != "" && (refusal == nil || refusal.Code != tc.code) || tc.code == "" && err != nil {
				t.Errorf("got %v", err)
			}
			if len(s.bodies) != len(tc.replies) || deltas != resp.Message.Text || (deltas == "") != (tc.code != "") {
				t.Errorf("asked %d times, got %q", len(s.bodies), deltas)
			}
		})
	}
	s := serve(t, sse(t, "overloaded.sse"), sse(t, "text.sse")) // no delta was passed on
	if _, err := llm.Ask(t.Context(), s.model("claude-sonnet-5-5", io.Discard), ask("?"), nil); err != nil {
		t.Error(err)
	}
}

// TestOverloaded checks that a 529 is retried, then returned.
func TestOverloaded(t *testing.T) {
	busy := reply{status: 529, body: testdata(t, "error_529.json")}
	s := serve(t, busy, sse(t, "text.sse"))
	if _, err := llm.Ask(t.Context(), s.model("claude-sonnet-5-5", io.Discard), ask("?"), nil); err != nil {
		t.Error(err)
	}
	s = serve(t, busy, busy)
	_, err := llm.Ask(t.Context(), s.model("claude-sonnet-5-5", io.Discard), ask("?"), nil)
	var refusal *llm.Error
	if !errors.As(err, &refusal) || refusal.Status != 529 || refusal.Code != "overloaded_error" || refusal.Message != "Overloaded" {
		t.Errorf("got %#v", err)
	}
}

func TestHeaders(t *testing.T) {
	for _, base := range []string{"", "/", "/v1", "/v1/"} {
		s := serve(t, sse(t, "text.sse"))
		m := New(Options{BaseURL: s.URL + base, Key: key, Model: "claude-haiku-5-5", HTTP: s.Client()})
		if _, err := llm.Ask(t.Context(), m, ask("?"), nil); err != nil {
			t.Fatal(err)
		}
		h := s.headers[0]
		if h.Get("X-Api-Key") != key || h.Get("Anthropic-Version") != "2023-06-01" || h.Get("Authorization") != "" {
			t.Errorf("got %v", h)
		}
		if s.paths[0] != "/v1/messages" {
			t.Errorf("%q: asked %s", base, s.paths[0])
		}
		if m.Name() != "claude-haiku-5-5" || m.Provider() != "anthropic" {
			t.Error(m.Name(), m.Provider())
		}
	}
}

// TestNoSecrets checks that errors and logs contain neither the key nor the
// conversation.
func TestNoSecrets(t *testing.T) {
	echo := reply{status: http.StatusUnauthorized, body: []byte(
		`{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key ` + key + `"}}`)}
	inStream := reply{status: http.StatusOK, stream: true, body: []byte(
		"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"" + key + "\"}}\n\n")}
	bad := reply{status: http.StatusOK, stream: true, body: []byte("event: message_start\ndata: {\"type\":\"message_start\",\"message\":\"" + key + "\"}\n\n")}
	for i, r := range []reply{echo, inStream, bad} {
		var log bytes.Buffer
		s := serve(t, r, r)
		_, err := llm.Ask(t.Context(), s.model("claude-sonnet-5-5", &log), ask("the secret question"), nil)
		if err == nil {
			t.Fatal("no error")
		}
		if text := err.Error() + log.String(); strings.Contains(text, key) || strings.Contains(text, "secret question") {
			t.Errorf("%d: %s", i, text)
		}
	}
}

// TestTwoTurns checks that the blocks of a turn with calls are returned
// unchanged.
func TestTwoTurns(t *testing.T) {
	for _, name := range []string{"parallel_tools", "redacted", "max_tokens"} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, sse(t, name+".sse"), sse(t, "thinking.sse"))
			m := s.model("claude-opus-5-5", io.Discard)
			req := ask("What is the weather?")
			first, err := llm.Ask(t.Context(), m, req, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Messages = append(req.Messages, throughTheRecord(t, first.Message))
			for _, c := range first.Message.Calls {
				req.Messages = append(req.Messages, llm.Message{Role: llm.ToolResult, CallID: c.ID, Text: "It is <cold>.", IsError: c.Name == "get_time"})
			}
			if _, err := llm.Ask(t.Context(), m, req, nil); err != nil {
				t.Fatal(err)
			}
			var sent, before request
			unmarshal(t, s.bodies[1], &sent)
			unmarshal(t, s.bodies[0], &before)
			if len(sent.Messages) != 3 {
				t.Fatalf("sent %d messages", len(sent.Messages))
			}
			golden(t, name+".back.json", sent.Messages)
			sameBlocks(t, name+".sse", sent.Messages[1].Content)
		})
	}
}

// throughTheRecord encodes a message as JSON and decodes it.
func throughTheRecord(t *testing.T, m llm.Message) (out llm.Message) {
	t.Helper()
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	unmarshal(t, raw, &out)
	return out
}

// sameBlocks compares the sent blocks with the transcript: every signature and
// all redacted data must be identical.
func sameBlocks(t *testing.T, name string, sent []json.RawMessage) {
	t.Helper()
	var want, got []string
	var signature strings.Builder
	for line := range strings.Lines(string(testdata(t, name))) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var ev struct {
			Type  string
			Delta struct{ Signature string }
			Block struct{ Type, Data string } `json:"content_block"`
		}
		unmarshal(t, []byte(data), &ev)
		signature.WriteString(ev.Delta.Signature)
		switch {
		case ev.Block.Data != "":
			want = append(want, ev.Block.Data)
		case ev.Type == "content_block_stop" && signature.Len() > 0:
			want = append(want, signature.String())
			signature.Reset()
		}
	}
	for _, raw := range sent {
		var b struct{ Signature, Data string }
		unmarshal(t, raw, &b)
		if s := b.Signature + b.Data; s != "" {
			got = append(got, s)
		}
	}
	if len(want) == 0 || strings.Join(want, "\n") != strings.Join(got, "\n") {
		t.Errorf("sent\n%q\nwant\n%q", got, want)
	}
}

// TestRefusedThinking checks that a conversation is sent again without
// thinking, once, if the model rejects its thinking.
func TestRefusedThinking(t *testing.T) {
	bound := reply{status: http.StatusBadRequest, body: testdata(t, "error_400_binding.json")}
	s := serve(t, sse(t, "parallel_tools.sse"), bound, sse(t, "text.sse"))
	var log bytes.Buffer
	m := s.model("claude-opus-5-5", &log)
	req := ask("What is the weather?")
	first, err := llm.Ask(t.Context(), m, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, first.Message)
	for _, c := range first.Message.Calls {
		req.Messages = append(req.Messages, llm.Message{Role: llm.ToolResult, CallID: c.ID, Text: "cold"})
	}
	if _, err := llm.Ask(t.Context(), m, req, nil); err != nil {
		t.Fatal(err)
	}
	if body := string(s.bodies[2]); strings.Contains(body, "signature") || !strings.Contains(body, "toolu_01Rome") {
		t.Errorf("asked again with %s", body)
	}
	if !strings.Contains(log.String(), "asking without it") {
		t.Errorf("logged %q", log.String())
	}

	s = serve(t, bound) // without thinking there is another reason
	if _, err := llm.Ask(t.Context(), s.model("claude-opus-5-5", io.Discard), ask("?"), nil); err == nil {
		t.Error("no error")
	}
}

func TestCancelled(t *testing.T) {
	s := serve(t, sse(t, "parallel_tools.sse"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := llm.Ask(ctx, s.model("claude-sonnet-5-5", io.Discard), ask("?"), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func unmarshal(t testing.TB, raw []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
}

// TestGenerate_ModelWithoutThinking checks that a model that rejects the
// thinking parameters is asked once more without them, and never again with
// them.
func TestGenerate_ModelWithoutThinking(t *testing.T) {
	refusal := reply{status: http.StatusBadRequest, body: []byte(`{"type":"error","error":{"type":"invalid_request_error","message":"thinking: Extra inputs are not permitted"}}`)}
	s := serve(t, refusal, sse(t, "text.sse"), sse(t, "text.sse"))
	m := s.model("claude-3-5-haiku-20241022", io.Discard)
	req := ask("?")
	req.Effort = "low"
	for range 2 {
		if _, err := llm.Ask(t.Context(), m, req, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, body := range s.bodies {
		if got := bytes.Contains(body, []byte(`"thinking"`)); got != (i == 0) {
			t.Errorf("request %d has thinking: %v", i, got)
		}
	}
}

// TestGenerate_Counts checks that counts of any form fail no answer, and that Input
// includes cached tokens, which input_tokens of the API do not.
func TestGenerate_Counts(t *testing.T) {
	for usage, want := range map[string]llm.Usage{
		`{"input_tokens":5,"cache_read_input_tokens":70,"cache_creation_input_tokens":20,"output_tokens":3}`: {Input: 95, Cached: 70, Output: 3},
		`{"input_tokens":"5","output_tokens":3.0,"output_tokens_details":"none"}`:                            {Output: 3},
		`{"input_tokens":-5,"output_tokens":1e300,"cache_read_input_tokens":99999999999999999999}`:           {},
		`null`:   {},
		`"many"`: {},
		`[1,2]`:  {},
	} {
		s := serve(t, reply{status: http.StatusOK, body: []byte(`{"id":"m","type":"message","role":"assistant","model":"claude","content":[{"type":"text","text":"fine"}],"stop_reason":"end_turn","usage":` + usage + `}`)})
		resp, err := llm.Ask(t.Context(), s.model("claude", io.Discard), ask("well?"), nil)
		if err != nil || resp.Message.Text != "fine" || resp.Usage != want {
			t.Errorf("%s: %q with %+v, %v; want %+v", usage, resp.Message.Text, resp.Usage, err, want)
		}
	}
}
