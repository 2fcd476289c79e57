package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

func useResponses(o *Options) { o.API = Responses }

const (
	keptItems = `[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAA<x>=="},` +
		`{"type":"function_call","id":"fc_1","call_id":"c1","name":"list","arguments":"{\"path\":\"a\"}"},` +
		`{"type":"function_call","id":"fc_2","call_id":"c2","name":"now","arguments":"{}"}]`
	keptText = `[{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gAAAAy=="},` +
		`{"type":"message","id":"msg_1","role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"One file."}]}]`
)

func TestResponsesRequests(t *testing.T) {
	with := func(calls, text string) []llm.Message {
		messages := conversation("openai", calls, keptText)
		messages[5].Opaque = opaque("openai", text)
		return messages
	}
	question := []llm.Message{{Role: llm.User, Text: "q"}}
	for name, tc := range map[string]struct {
		req   llm.Request
		items bool
		v     variant
	}{
		"plain":               {llm.Request{Messages: question}, true, 0},
		"tools":               {llm.Request{Messages: question, Tools: tools, Choice: "list", MaxTokens: 900, Effort: "low"}, true, 0},
		"few-tokens":          {llm.Request{Messages: question, MaxTokens: 5}, true, 0},
		"no-tools-no-choice":  {llm.Request{Messages: question, Choice: llm.Required}, true, 0},
		"schema":              {llm.Request{Messages: question, Schema: json.RawMessage(`{"type":"object","properties":{},"required":[],"additionalProperties":false}`)}, true, 0},
		"conversation":        {llm.Request{Messages: with(keptItems, keptText), Tools: tools}, true, 0},
		"rebuilt":             {llm.Request{Messages: with(keptItems, keptText), Tools: tools}, false, 0},
		"other-calls":         {llm.Request{Messages: with(strings.Replace(keptItems, "c2", "c3", 1), `{"reasoning":"of chat"}`)}, true, 0},
		"another-provider":    {llm.Request{Messages: conversation("anthropic", keptItems, `[]`)}, true, 0},
		"rejected-parameters": {llm.Request{Messages: question, Effort: "low"}, true, noEffort | noSummary | noEncrypted},
	} {
		t.Run(name, func(t *testing.T) {
			m := New(Options{Model: "gpt-6.1-terra"})
			compare(t, filepath.Join("testdata", "golden", "request-responses-"+name+".json"), m.responsesBody(tc.req, tc.v, tc.items))
		})
	}
}

func TestNew_API(t *testing.T) {
	for name, tc := range map[string]struct {
		o    Options
		want API
	}{
		"OpenAI":            {Options{}, Responses},
		"a region":          {Options{BaseURL: "https://eu.api.openai.com/v1"}, Responses},
		"chat at OpenAI":    {Options{API: Chat}, Chat},
		"another server":    {Options{BaseURL: "http://localhost:1234/v1"}, Chat},
		"responses at vLLM": {Options{BaseURL: "http://localhost:8000/v1", API: Responses}, Responses},
	} {
		t.Run(name, func(t *testing.T) {
			if m := New(tc.o); m.api != tc.want {
				t.Errorf("%s, want %s", m.api, tc.want)
			}
		})
	}
}

// TestResponses_RefusedParameters checks that a parameter that the server
// rejects is left out from then on.
func TestResponses_RefusedParameters(t *testing.T) {
	for name, tc := range map[string]struct {
		parameter, message string
		requests           int
	}{
		"summaries of an unverified organization": {"summary", "Your organization must be verified to generate reasoning summaries. Please go to: …", 2},
		"summaries of another model":              {"summary", "Unsupported parameter: 'reasoning.summary' is not supported with this model.", 2},
		"effort":                                  {"effort", "Unsupported parameter: 'reasoning.effort' is not supported with this model.", 2},
		"encrypted reasoning":                     {"include", "Encrypted content is not supported with this model.", 2},
		"another parameter":                       {"store", "Unsupported parameter: 'store'.", 1},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			m := serve(t, func(w http.ResponseWriter, r *http.Request) {
				requests++
				body, _ := io.ReadAll(r.Body)
				if strings.Contains(string(body), `"`+tc.parameter+`":`) {
					w.WriteHeader(http.StatusBadRequest)
					_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": tc.message, "type": "invalid_request_error"}})
					return
				}
				answers("application/json", []byte(`{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"fine"}]}]}`))(w, r)
			}, useResponses)
			req := question
			req.Effort = "low"
			for i, want := range []int{tc.requests, 1} {
				requests = 0
				resp, err := llm.Ask(t.Context(), m, req, nil)
				if requests != want || (err == nil) != (tc.requests == 2) || err == nil && resp.Message.Text != "fine" {
					t.Errorf("question %d took %d requests: %q, %v", i, requests, resp.Message.Text, err)
				}
			}
		})
	}
}

// TestResponses_RefusedConcurrently checks that requests that are rejected at
// the same time for the same parameter are all sent again.
func TestResponses_RefusedConcurrently(t *testing.T) {
	const n = 4
	var together sync.WaitGroup
	together.Add(n)
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), `"summary":`) {
			together.Done()
			together.Wait()
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"Unsupported parameter: 'reasoning.summary'"}}`)
			return
		}
		answers("application/json", []byte(`{"status":"completed"}`))(w, r)
	}, useResponses)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if _, err := llm.Ask(t.Context(), m, question, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestResponses_RefusedItems checks that rejected items are rebuilt, once.
func TestResponses_RefusedItems(t *testing.T) {
	for name, refusal := range map[string]struct {
		status        int
		code, message string
	}{
		"another key":       {400, "invalid_encrypted_content", "The encrypted content gAAA… could not be verified."},
		"removed reasoning": {400, "", "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."},
		"not stored":        {404, "", "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."},
		"unknown field":     {400, "unknown_parameter", "Unknown parameter: 'input[1].phase'."},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			m := serve(t, func(w http.ResponseWriter, r *http.Request) {
				requests++
				body, _ := io.ReadAll(r.Body)
				if strings.Contains(string(body), "encrypted_content\":\"gAAAA") {
					w.WriteHeader(refusal.status)
					_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": refusal.message, "code": refusal.code, "type": "invalid_request_error"}})
					return
				}
				answers("application/json", []byte(`{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"fine"}]}]}`))(w, r)
			}, useResponses)
			messages := conversation("acme", keptItems, `[]`)
			resp, err := llm.Ask(t.Context(), m, llm.Request{Messages: messages}, nil)
			if err != nil || resp.Message.Text != "fine" || requests != 2 {
				t.Errorf("%d requests, %q, %v", requests, resp.Message.Text, err)
			}
			if _, err := llm.Ask(t.Context(), m, question, nil); err != nil || requests != 3 {
				t.Errorf("%d requests, %v", requests, err)
			}
		})
	}
}

func TestResponses_RateLimit(t *testing.T) {
	requests, waits := 0, []time.Duration{}
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests++
		switch requests {
		case 1:
			w.Header().Set("Retry-After-Ms", "1500")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error":{"message":"Rate limit reached","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`)
		case 2:
			answers("text/event-stream", []byte("data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"slow down\"}}}\n\n"))(w, r)
		default:
			answers("text/event-stream", []byte("data: {\"type\":\"response.output_text.delta\",\"delta\":\"Hi\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{}}\n\n"))(w, r)
		}
	}, useResponses, func(o *Options) {
		o.Retry = llm.Retry{Sleep: func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }}
	})
	resp, err := llm.Ask(t.Context(), m, question, func(llm.Delta) {})
	if err != nil || resp.Message.Text != "Hi" || requests != 3 || len(waits) != 2 || waits[0] != 1500*time.Millisecond {
		t.Errorf("%q %v after %d requests and %v", resp.Message.Text, err, requests, waits)
	}
}

// TestResponses_HostileServer checks that a server cannot keep the client busy
// or fill its memory.
func TestResponses_HostileServer(t *testing.T) {
	repeat := func(w http.ResponseWriter, event func(i int) string) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := 0; ; i++ {
			if _, err := io.WriteString(w, "data: "+event(i)+"\n\n"); err != nil {
				return
			}
		}
	}
	for name, tc := range map[string]struct {
		serve func(http.ResponseWriter, *http.Request)
		want  error
		text  string
	}{
		"endless items": {func(w http.ResponseWriter, r *http.Request) {
			repeat(w, func(i int) string {
				return fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":{"type":"message","id":"m%d"}}`, -i*1_000_000, i)
			})
		}, nil, "more than 1000 items"},
		"endless items at one index": {func(w http.ResponseWriter, r *http.Request) {
			repeat(w, func(i int) string {
				return fmt.Sprintf(`{"type":"response.output_item.done","item":{"type":"message","id":"m%d"}}`, i)
			})
		}, nil, "more than 1000 items"},
		"a huge event": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			piece := strings.Repeat("x", 1<<20)
			for err := error(nil); err == nil; {
				_, err = io.WriteString(w, piece)
			}
		}, llm.ErrTooLarge, "an event of more than"},
		"silence": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"type\":\"response.created\",\"response\":{}}\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, llm.ErrStalled, ""},
		"a web page":        {answers("text/html", []byte("<html>")), nil, "is the base URL right?"},
		"text":              {answers("text/plain", []byte("hello")), llm.ErrTruncated, ""},
		"an answer of chat": {answers("application/json", []byte(`{"choices":[{"message":{"content":"hi"}}]}`)), llm.ErrTruncated, ""},
		"nothing":           {answers("application/json", nil), llm.ErrTruncated, "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			m := serve(t, tc.serve, useResponses, func(o *Options) {
				if tc.want == llm.ErrStalled { //nolint:errorlint // a test case
					o.Idle = 50 * time.Millisecond
				}
			})
			_, err := llm.Ask(t.Context(), m, question, func(llm.Delta) {})
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestResponses_Cancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answers("text/event-stream", []byte("data: {\"type\":\"response.output_text.delta\",\"delta\":\"Hi\"}\n\n"))(w, r)
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}, useResponses)
	if _, err := llm.Ask(ctx, m, question, func(llm.Delta) { cancel() }); !errors.Is(err, context.Canceled) || errors.Is(err, llm.ErrTruncated) {
		t.Fatalf("%v", err)
	}
}

// FuzzResponses decodes arbitrary events, one per line.
func FuzzResponses(f *testing.F) {
	for _, s := range seeds(f, "testdata/responses/*.sse") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		var text, thinking strings.Builder
		m := New(Options{Model: "m"})
		a := newResponsesAnswer(m, func(d llm.Delta) {
			if d.Text == "" && d.Kind != llm.CallDelta {
				t.Error("an empty delta")
			}
			if d.Kind == llm.TextDelta {
				text.WriteString(d.Text)
			} else {
				thinking.WriteString(d.Text)
			}
		})
		for line := range strings.SplitSeq(lines, "\n") {
			done, err := a.Event(llm.ServerEvent{Data: []byte(line)})
			if err != nil {
				return
			}
			if done {
				break
			}
		}
		resp := a.Response()
		if u := resp.Usage; u.Input < 0 || u.Output < 0 || u.Cached < 0 || u.Reasoning < 0 {
			t.Errorf("usage %+v", u)
		}
		if text.String() != resp.Message.Text || thinking.String() != resp.Thinking {
			t.Errorf("%q %q, the deltas say %q %q", resp.Message.Text, resp.Thinking, &text, &thinking)
		}
		ids := make([]string, len(resp.Message.Calls))
		for i, c := range resp.Message.Calls {
			if c.ID == "" || slices.Contains(ids, c.ID) || !json.Valid(c.Arguments) {
				t.Errorf("call %+v", c)
			}
			ids[i] = c.ID
		}
		// Every answer can be sent back, and its items with it.
		if resp.Message.Opaque.Data != nil && m.ownItems(&resp.Message) == nil {
			t.Errorf("the items of %s do not match %+v", resp.Message.Opaque.Data, resp.Message.Calls)
		}
		body, err := json.Marshal(m.responsesBody(llm.Request{Messages: []llm.Message{resp.Message}}, 0, true))
		if err != nil || !json.Valid(body) {
			t.Errorf("%s %v", body, err)
		}
	})
}
