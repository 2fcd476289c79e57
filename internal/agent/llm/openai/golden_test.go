package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { testkit.Main(m) }

// serve returns a model at a server with the handler. Its generated ids are
// numbered.
func serve(t testing.TB, h http.HandlerFunc, set ...func(*Options)) *Model {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	n := 0
	o := Options{BaseURL: srv.URL + "/v1", Key: "sk-secret-key", Model: "m", Provider: "acme", HTTP: srv.Client(),
		Retry: llm.Retry{Sleep: func(context.Context, time.Duration) error { return nil }},
		NewID: func() string { n++; return fmt.Sprintf("made_up_%d", n) }}
	for _, f := range set {
		f(&o)
	}
	return New(o)
}

// answers sends a transcript in small pieces.
func answers(kind string, transcript []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		for rest := transcript; len(rest) > 0; {
			n := min(100, len(rest))
			if _, err := w.Write(rest[:n]); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			rest = rest[n:]
		}
	}
}

// golden is the result of a transcript.
type golden struct {
	Deltas   []string        `json:"deltas"`
	Text     string          `json:"text,omitempty"`
	Thinking string          `json:"thinking,omitempty"`
	Calls    []llm.ToolCall  `json:"calls,omitempty"`
	Opaque   json.RawMessage `json:"opaque,omitempty"`
	Stop     llm.Stop        `json:"stop,omitempty"`
	Usage    *llm.Usage      `json:"usage,omitempty"`
	ID       string          `json:"id,omitempty"`
	Model    string          `json:"model,omitempty"`
	Error    string          `json:"error,omitempty"`
	Cut      bool            `json:"cut,omitempty"`
	Later    bool            `json:"may_succeed_later,omitempty"`
}

func generate(t *testing.T, m *Model) golden {
	t.Helper()
	var out golden
	resp, err := llm.Ask(t.Context(), m, llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "q"}}}, func(d llm.Delta) {
		out.Deltas = append(out.Deltas, [...]string{"text: ", "thinking: ", "call"}[d.Kind]+d.Text)
	})
	if err != nil {
		out.Error, out.Cut = err.Error(), errors.Is(err, llm.ErrTruncated)
		var refusal *llm.Error
		out.Later = errors.As(err, &refusal) && refusal.Temporary()
		return out
	}
	if resp.Message.Role != llm.Assistant {
		t.Errorf("role %q", resp.Message.Role)
	}
	if p := resp.Message.Opaque; (p.Provider == "acme") != (p.Data != nil) {
		t.Errorf("opaque %+v", p)
	}
	out.Text, out.Calls, out.Opaque = resp.Message.Text, resp.Message.Calls, resp.Message.Opaque.Data
	out.Thinking, out.Stop, out.ID, out.Model = resp.Thinking, resp.Stop, resp.ID, resp.Model
	if resp.Usage != (llm.Usage{}) {
		out.Usage = &resp.Usage
	}
	return out
}

func TestTranscripts(t *testing.T) {
	streams, _ := filepath.Glob("testdata/*.sse")
	documents, _ := filepath.Glob("testdata/not-streamed*.json")
	more, _ := filepath.Glob("testdata/responses/*")
	if len(streams) < 30 || len(documents) < 2 || len(more) < 30 {
		t.Fatal("transcripts are missing")
	}
	for _, file := range slices.Concat(streams, documents, more) {
		api := Chat
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if filepath.Base(filepath.Dir(file)) == "responses" {
			api, name = Responses, "responses-"+name
		}
		t.Run(name, func(t *testing.T) {
			transcript, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			kind := "text/event-stream"
			if filepath.Ext(file) == ".json" {
				kind = "application/json"
			}
			got := generate(t, serve(t, answers(kind, transcript), func(o *Options) { o.API = api }))
			compare(t, filepath.Join("testdata", "golden", name+".json"), got)
			if strings.Contains(got.Error, "sk-") {
				t.Errorf("the answer is in the error: %s", got.Error)
			}
			// The deltas add up to the answer, unless they are corrected at its
			// end.
			if text := deltas(got, "text: "); got.Error == "" && name != "think-unopened" &&
				(text != got.Text || deltas(got, "thinking: ") != got.Thinking) {
				t.Errorf("the deltas say %q", got.Deltas)
			}
		})
	}
}

func deltas(g golden, kind string) string {
	var b strings.Builder
	for _, d := range g.Deltas {
		if rest, ok := strings.CutPrefix(d, kind); ok {
			b.WriteString(rest)
		}
	}
	return b.String()
}

// compare compares v with a golden file, as indented JSON.
func compare(t *testing.T, file string, v any) {
	t.Helper()
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got %s\nwant %s", &got, want)
	}
}
