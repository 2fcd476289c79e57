package models

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

var errNotSent = errors.New("kept back")

// wire records a request and sends nothing.
type wire struct {
	url    string
	header http.Header
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.url, w.header = r.URL.String(), r.Header
	_, _ = io.Copy(io.Discard, r.Body)
	r.Body.Close()
	return nil, errNotSent
}

// TestOpen checks the URL and the key of a request.
func TestOpen(t *testing.T) {
	all := env("OPENAI_API_KEY", "sk-openai", "ANTHROPIC_API_KEY", " sk-anthropic\n", "OPENROUTER_API_KEY", "sk-router", "DEEPSEEK_API_KEY", "sk-deep")
	any := env("MEUP_MODEL_KEY", "sk-any")
	for _, c := range []struct {
		name, base, key          string
		getenv                   func(string) string
		wantURL, wantKey, wantBy string
	}{
		{"openai:gpt-6.1-terra", "", "", all, "https://api.openai.com/v1/responses", "sk-openai", "openai"},
		{"openai:gpt-6.1-terra", "", "sk-given", all, "https://api.openai.com/v1/responses", "sk-given", "openai"},
		{"openai:gpt-6.1-terra", "", "", any, "https://api.openai.com/v1/responses", "sk-any", "openai"},
		{"openai:gpt-6.1-terra", "https://API.openai.com/v1/", "", all, "https://api.openai.com/v1/responses", "sk-openai", "openai"},
		{"openai:gpt-6.1-terra", "http://api.openai.com/v1", "", all, "http://api.openai.com/v1/responses", "", "openai"},
		{"openai:local", "http://127.0.0.1:9000", "", all, "http://127.0.0.1:9000/v1/chat/completions", "", "openai-compatible"},
		{"openai:local", "http://127.0.0.1:9000/api/v2/", "", any, "http://127.0.0.1:9000/api/v2/chat/completions", "sk-any", "openai-compatible"},
		{"openai:local", "http://127.0.0.1:9000", "sk-given", nil, "http://127.0.0.1:9000/v1/chat/completions", "sk-given", "openai-compatible"},
		{"anthropic:claude-sonnet-5-5", "", "", all, "https://api.anthropic.com/v1/messages", "sk-anthropic", "anthropic"},
		{"anthropic:claude-sonnet-5-5", "http://localhost:9000", "", all, "http://localhost:9000/v1/messages", "", "anthropic"},
		{"anthropic:deepseek-v4-pro", "https://api.deepseek.com/anthropic", "", any, "https://api.deepseek.com/anthropic/v1/messages", "sk-any", "anthropic"},
		{"openrouter:anthropic/claude-sonnet-5.5", "", "", all, "https://openrouter.ai/api/v1/chat/completions", "sk-router", "openrouter"},
		{"deepseek:deepseek-v4-pro", "", "", all, "https://api.deepseek.com/v1/chat/completions", "sk-deep", "deepseek"},
		{"ollama:qwen3:8b", "", "", all, "http://localhost:11434/v1/chat/completions", "", "ollama"},
		{"ollama:qwen3:8b", "http://gpu:11434", "", nil, "http://gpu:11434/v1/chat/completions", "", "ollama"},
		{"lmstudio:qwen3", "", "", nil, "http://localhost:1234/v1/chat/completions", "", "lmstudio"},
		{"vllm:qwen3", "http://localhost:8000/v1", "", any, "http://localhost:8000/v1/chat/completions", "sk-any", "vllm"},
	} {
		w := &wire{}
		m, err := Open(c.name, Options{BaseURL: c.base, Key: c.key, Getenv: c.getenv, HTTP: &http.Client{Transport: w}})
		if err != nil {
			t.Errorf("%s %s: %v", c.name, c.base, err)
			continue
		}
		if _, err := llm.Ask(t.Context(), m, llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "?"}}}, nil); !errors.Is(err, errNotSent) {
			t.Fatal(err)
		}
		key := strings.TrimPrefix(w.header.Get("Authorization"), "Bearer ") + w.header.Get("X-Api-Key")
		_, name, _ := strings.Cut(c.name, ":")
		if !strings.EqualFold(w.url, c.wantURL) || key != c.wantKey || m.Provider() != c.wantBy || m.Name() != name {
			t.Errorf("%s %s: %s by %s at %s with %q", c.name, c.base, m.Name(), m.Provider(), w.url, key)
		}
	}
}

func TestOpen_API(t *testing.T) {
	chosen := env("MEUP_MODEL_API", "responses", "OPENAI_API_KEY", "k", "ANTHROPIC_API_KEY", "k")
	for name, c := range map[string]struct {
		model, base, api string
		getenv           func(string) string
		want             string // the path, or an error
	}{
		"OpenAI":                {"openai:x", "", "", chosen, "/v1/responses"},
		"chat at OpenAI":        {"openai:x", "", "chat", chosen, "/v1/chat/completions"},
		"a compatible server":   {"openai:x", "http://localhost:1", "", nil, "/v1/chat/completions"},
		"responses by variable": {"vllm:x", "http://localhost:1", "", chosen, "/v1/responses"},
		"responses":             {"ollama:x", "", "responses", nil, "/v1/responses"},
		"chat over variable":    {"ollama:x", "", "chat", chosen, "/v1/chat/completions"},
		"anthropic, variable":   {"anthropic:x", "", "", chosen, "/v1/messages"},
		"anthropic":             {"anthropic:x", "", "chat", chosen, "an API of its own"},
		"another API":           {"ollama:x", "", "grpc", nil, "expected chat or responses"},
		"another by variable":   {"ollama:x", "", "", env("MEUP_MODEL_API", "grpc"), "expected chat or responses"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wire{}
			m, err := Open(c.model, Options{BaseURL: c.base, API: c.api, Getenv: c.getenv, HTTP: &http.Client{Transport: w}})
			if err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Error(err)
				}
				return
			}
			_, _ = llm.Ask(t.Context(), m, llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "?"}}}, nil)
			if !strings.HasSuffix(w.url, c.want) {
				t.Errorf("asked at %s, want %s", w.url, c.want)
			}
		})
	}
}

// TestOpenRefuses checks that an error names the setting to change and no
// secret.
func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		name, base string
		getenv     func(string) string
		want       string
	}{
		{"gpt-5.2", "", nil, "PROVIDER:NAME"},
		{"", "", nil, "PROVIDER:NAME"},
		{"openai:", "", nil, "no model"},
		{"openai: ", "", nil, "no model"},
		{"gemini:x", "", nil, "deepseek, ollama, lmstudio, vllm"},
		{"openai:x", "", nil, "OPENAI_API_KEY or MEUP_MODEL_KEY"},
		{"openai:x", "", env("OPENAI_API_KEY", " \n"), "OPENAI_API_KEY"},
		{"openai:x", "https://api.openai.com", nil, "OPENAI_API_KEY"},
		{"anthropic:x", "", env("OPENAI_API_KEY", "k"), "ANTHROPIC_API_KEY"},
		{"openrouter:x", "", nil, "OPENROUTER_API_KEY"},
		{"deepseek:x", "", nil, "DEEPSEEK_API_KEY"},
		{"openai:x", "", env("OPENAI_API_KEY", "hunter2\nX-Evil: 1"), "characters"},
		{"vllm:x", "", nil, "base URL"},
		{"openai:x", "localhost:8000", nil, "http://"},
		{"openai:x", "ftp://localhost", nil, "http://"},
		{"openai:x", "http://", nil, "no host"},
		{"openai:x", "http://:80/v1", nil, "no host"},
		{"openai:x", "http://me:hunter2@host/v1", nil, "user"},
		{"openai:x", "http://host/v1?key=hunter2", nil, "query"},
		{"openai:x", "http://ho st/hunter2", nil, "not a URL"},
	} {
		_, err := Open(c.name, Options{BaseURL: c.base, Getenv: c.getenv})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s %s: got %v, want %q in it", c.name, c.base, err, c.want)
		}
	}
}

// TestPlainHTTP checks the warning about a key that is sent unencrypted.
func TestPlainHTTP(t *testing.T) {
	for base, want := range map[string]bool{
		"http://gpu.example:8000/v1": true, "https://gpu.example/v1": false,
		"http://localhost:8000/v1": false, "http://127.0.0.1:8000/v1": false, "http://[::1]:8000/v1": false,
	} {
		var log bytes.Buffer
		_, err := Open("vllm:x", Options{BaseURL: base, Key: "sk-secret", Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if got := log.Len() > 0; got != want || strings.Contains(log.String(), "sk-secret") {
			t.Errorf("%s: logged %q", base, log.String())
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	for _, c := range []struct {
		getenv func(string) string
		want   string
	}{
		{nil, ""},
		{env("MEUP_MODEL_KEY", "k"), ""},
		{env("OPENAI_API_KEY", " "), ""},
		{env("OPENAI_API_KEY", "k"), "openai:gpt-6.1-terra"},
		{env("DEEPSEEK_API_KEY", "k", "ANTHROPIC_API_KEY", "k"), "anthropic:claude-sonnet-5-5"},
		{env("DEEPSEEK_API_KEY", "k"), "deepseek:deepseek-flash"},
		{env("OPENROUTER_API_KEY", "k"), "openrouter:anthropic/claude-sonnet-5.5"},
	} {
		got, ok := FromEnvironment(c.getenv)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("got %q %v, want %q", got, ok, c.want)
		}
		if !ok {
			continue
		}
		if _, err := Open(got, Options{Getenv: c.getenv}); err != nil {
			t.Errorf("%s cannot be opened: %v", got, err)
		}
	}
}

// roundTrip answers requests for lists of models.
type roundTrip func(r *http.Request) string // a list; "": the server does not answer

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	list := f(r)
	if list == "" {
		return nil, errNotSent
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(list)), Request: r}, nil
}

func TestFind(t *testing.T) {
	const qwen = `{"data":[{"id":"nomic-embed-text:latest"},{"id":"\u001b[31m"},{"id":"qwen3:8b"},{"id":"gemma3"}]}`
	for _, c := range []struct {
		title     string
		getenv    func(string) string
		servers   map[string]string // lists of models, by URL
		name, why string
	}{
		{"nothing", nil, nil, "", ""},
		{"a key", env("OPENAI_API_KEY", "k", "OLLAMA_HOST", "gpu"), map[string]string{"http://gpu:11434/v1/models": qwen}, "openai:gpt-6.1-terra", "OPENAI_API_KEY is set"},
		{"Ollama", nil, map[string]string{"http://localhost:11434/v1/models": qwen}, "ollama:qwen3:8b", "Ollama answers at localhost:11434"},
		{"Ollama elsewhere", env("OLLAMA_HOST", "gpu"), map[string]string{"http://gpu:11434/v1/models": qwen}, "ollama:qwen3:8b", "Ollama answers at gpu:11434"},
		{"Ollama does not answer", env("OLLAMA_HOST", "gpu"), nil, "ollama:qwen3", "OLLAMA_HOST is set"},
		{"no models", nil, map[string]string{"http://localhost:11434/v1/models": `{"data":null}`}, "", ""},
		{"no list", nil, map[string]string{"http://localhost:11434/v1/models": `<html>`, "http://localhost:1234/v1/models": qwen}, "lmstudio:qwen3:8b", "LM Studio answers at localhost:1234"},
	} {
		t.Run(c.title, func(t *testing.T) {
			name, why, ok := Find(t.Context(), Options{Getenv: c.getenv, HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) string {
				if r.Header.Get("Authorization") != "" {
					t.Errorf("a key is sent to %s", r.URL)
				}
				return c.servers[r.URL.String()]
			})}})
			if name != c.name || why != c.why || ok != (c.name != "") {
				t.Errorf("got %q, %q, %v; want %q, %q", name, why, ok, c.name, c.why)
			}
			if _, err := Open(name, Options{Getenv: c.getenv}); ok && err != nil {
				t.Errorf("%s cannot be opened: %v", name, err)
			}
		})
	}
}

// OLLAMA_HOST is read as Ollama's own clients do.
func TestOpen_OllamaHost(t *testing.T) {
	for address, want := range map[string]string{
		"":                        "http://localhost:11434/v1",
		"gpu":                     "http://gpu:11434/v1",
		"gpu:8080":                "http://gpu:8080/v1",
		":8080":                   "http://127.0.0.1:8080/v1",
		"0.0.0.0":                 "http://127.0.0.1:11434/v1",
		"[::]:8080":               "http://127.0.0.1:8080/v1",
		"[::1]":                   "http://[::1]:11434/v1",
		"http://gpu":              "http://gpu:80/v1",
		"https://gpu/":            "https://gpu:443/v1",
		"https://gpu.test/ollama": "https://gpu.test:443/ollama/v1",
	} {
		w := new(wire)
		m, err := Open("ollama:qwen3", Options{Getenv: env("OLLAMA_HOST", address), HTTP: &http.Client{Transport: w}})
		if err != nil {
			t.Errorf("%q: %v", address, err)
			continue
		}
		if _, err := llm.Ask(t.Context(), m, llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "?"}}}, nil); !errors.Is(err, errNotSent) {
			t.Errorf("%q: %v", address, err)
		}
		if w.url != want+"/chat/completions" {
			t.Errorf("%q: asked %s, want %s", address, w.url, want)
		}
	}
	if _, err := Open("ollama:qwen3", Options{Getenv: env("OLLAMA_HOST", "ftp://gpu")}); err == nil || !strings.Contains(err.Error(), "OLLAMA_HOST") {
		t.Errorf("another scheme: %v; want an error that names OLLAMA_HOST", err)
	}
	if _, err := Open("ollama:qwen3", Options{BaseURL: "http://gpu", Getenv: env("OLLAMA_HOST", "ftp://gpu")}); err != nil {
		t.Errorf("with a base URL: %v; want that OLLAMA_HOST does not count", err)
	}
}

func TestMask(t *testing.T) {
	got := Mask(env("OPENAI_API_KEY", "a\n", "ANTHROPIC_API_KEY", "b", "MEUP_MODEL_KEY", "a", "DEEPSEEK_API_KEY", "", "HOME", "/root"))
	if want := []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Mask(nil); got != nil {
		t.Errorf("got %q", got)
	}
}
