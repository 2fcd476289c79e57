package reasoner

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/llm/models"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// hostileService returns a service whose model is served by h.
func hostileService(t *testing.T, h http.HandlerFunc) *Service {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client is gone
		h(w, r)
	}))
	t.Cleanup(server.Close)
	return New(Options{ModelTimeout: testkit.Patience, Open: func(name, key string) (llm.Model, error) {
		return models.Open(name, models.Options{
			BaseURL: server.URL, Key: key, API: "chat", Retry: llm.Retry{Attempts: 1},
			HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		})
	}})
}

// delta is one event of a stream of the chat API.
func delta(text string) string {
	return `data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"` + text + `"},"finish_reason":null}]}` + "\n\n"
}

const streamEnd = `data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

// TestHostileProvider: with any response of a provider, there is a decision in time and
// of a bounded size.
func TestHostileProvider(t *testing.T) {
	stream := func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") }
	endless := func(chunk string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			stream(w)
			for r.Context().Err() == nil {
				if _, err := fmt.Fprint(w, chunk); err != nil {
					return
				}
			}
		}
	}
	for name, test := range map[string]struct {
		serve   http.HandlerFunc
		step    string
		endless bool // only the timeout ends it
	}{
		"endless text":     {endless(delta("more and more ")), "fallback", true},
		"endless comments": {endless(": wait\n\n"), "fallback", true},
		"endless line":     {endless("data: xxxxxxxxxxxxxxxx"), "fallback", true},
		"endless thinking": {endless(`data: {"choices":[{"index":0,"delta":{"reasoning_content":"hm "}}]}` + "\n\n"), "fallback", true},
		"endless calls":    {endless(`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"context_fts_search","arguments":"[[[["}}]}}]}` + "\n\n"), "fallback", true},
		"never answers":    {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "fallback", true},
		"silent stream": {func(w http.ResponseWriter, r *http.Request) {
			stream(w)
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "fallback", true},
		"document of 100 MB": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"choices":[{"message":{"role":"assistant","content":"`)
			for chunk, n := strings.Repeat("x", 1<<20), 0; n < 100; n++ {
				if _, err := fmt.Fprint(w, chunk); err != nil {
					return
				}
			}
			fmt.Fprint(w, `"},"finish_reason":"stop"}]}`)
		}, "fallback", false},
		"text of 6 MB": {func(w http.ResponseWriter, _ *http.Request) {
			stream(w)
			for chunk, n := delta(strings.Repeat("word ", 20_000)), 0; n < 60; n++ {
				fmt.Fprint(w, chunk)
			}
			fmt.Fprint(w, streamEnd)
		}, "llm", false},
		"NaN in arguments": {func(w http.ResponseWriter, _ *http.Request) {
			stream(w)
			fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"context_fts_search","arguments":"{\"query\":NaN}"}}]}}]}`+"\n\n"+streamEnd)
		}, "fallback", false},
		"NaN in the answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"choices":[{"message":{"role":"assistant","content":"x"}}],"usage":{"prompt_tokens":NaN}}`)
		}, "fallback", false},
		"negative usage": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"So."},"finish_reason":"stop"}],"usage":{"prompt_tokens":-9,"completion_tokens":-9}}`)
		}, "llm", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := hostileService(t, test.serve)
			if test.endless {
				s.o.ModelTimeout = 200 * time.Millisecond
			}
			out, err := decide(t, s, withModel+`}`)
			if err != nil {
				t.Fatal(err)
			}
			if out.Trace[0].Step != test.step {
				t.Errorf("%+v", out.Trace)
			}
			if size := len(out.FinalText) + len(out.Reasoning) + len(out.ToolArgs); size > maxFinal+10_000 {
				t.Errorf("%d bytes: %.100s", size, out.FinalText)
			}
		})
	}
}

// TestHostileRequest: NaN and Infinity are not JSON.
func TestHostileRequest(t *testing.T) {
	for _, value := range []string{"NaN", "Infinity", "-Infinity", "1e999", "01"} {
		for _, field := range []string{"max_steps", "context_tokens", "persona"} {
			t.Run(field+" "+value, func(t *testing.T) {
				if _, err := DecodeAgentIntent([]byte(`{"session_id":"s","goal_text":"g","` + field + `":` + value + `}`)); err == nil {
					t.Error("it was accepted")
				}
			})
		}
	}
}
