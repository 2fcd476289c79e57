// Package openai speaks OpenAI's Chat Completions, streaming, with OpenAI and
// with the many servers that are compatible with it: Ollama, vLLM, LM Studio,
// DeepSeek, OpenRouter.
//
// Where they differ, this is what is done:
//
//   - Thinking comes as reasoning_content (DeepSeek, older vLLM), as reasoning
//     (OpenRouter, Ollama, newer vLLM), as reasoning_details (OpenRouter: raw
//     text, summaries, and encrypted pieces without a text), or within
//     <think> tags at the beginning of the content. All of them become
//     thinking, none of them text. A server that leaves the opening tag out
//     (the template had it) is understood only once the answer is whole; its
//     thinking arrives as deltas of text until then.
//   - Thinking goes back to the model with those of its turns that belong to a
//     question for which it called tools, in the field that it came in, and
//     with no others. That is DeepSeek's rule: it refuses a later request in
//     which such a turn lacks its reasoning_content, ignores it in other turns,
//     and an older model, which called no tools, refused it there. OpenRouter
//     asks for reasoning_details in the same place. What came within tags does
//     not go back.
//   - A call's missing id is made up, its arguments may come in any of the
//     forms seen in the wild, and calls are told apart by index, by id, or by
//     their order.
//   - An answer has ended where there is a finish_reason or [DONE]; without
//     either it was cut off.
//
// Not supported: OpenAI's Responses API. OpenAI itself shows nothing of its
// models' reasoning, no summaries either, through Chat Completions; summaries
// come from compatible servers, as reasoning_details of the type
// reasoning.summary.
package openai

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/llm/llmhttp"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

const officialHost = "api.openai.com"

// Options say which model it is and where.
type Options struct {
	BaseURL string // up to and with /v1; "" stands for DefaultBaseURL
	Key     string // "" sends none, which local servers are content with
	Model   string
	// Provider is the name in errors, logs and Opaque; "" stands for one that
	// the host of BaseURL tells.
	Provider string

	HTTP            *http.Client // nil stands for one of its own
	Retry           llmhttp.Retry
	FirstByte, Idle time.Duration // as in llmhttp.Client
	Logger          *slog.Logger  // nil discards
	// NewID makes an id for a call that came without; nil stands for a random
	// one.
	NewID func() string
}

// Model is a model behind Chat Completions. Its methods may be called at the
// same time.
type Model struct {
	name     string
	provider string
	newID    func() string
	client   *llmhttp.Client

	// What the server was found to take.
	newTokens atomic.Bool // max_completion_tokens instead of max_tokens
	noEffort  atomic.Bool // no reasoning_effort
}

var _ llm.Model = (*Model)(nil)

// New returns the model. That it exists shows when it is asked.
func New(o Options) *Model {
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	host := hostOf(o.BaseURL)
	m := &Model{name: o.Model, provider: o.Provider, newID: o.NewID}
	m.newTokens.Store(under(host, officialHost) || under(host, "openai.azure.com") || under(host, "services.ai.azure.com"))
	if m.provider == "" {
		m.provider = providerAt(host)
	}
	if m.newID == nil {
		m.newID = func() string { return "call_" + rand.Text() }
	}
	m.client = &llmhttp.Client{
		Provider: m.provider, BaseURL: o.BaseURL, Header: bearer(o.Key),
		HTTP: o.HTTP, Retry: o.Retry, Logger: o.Logger,
		FirstByte: o.FirstByte, Idle: o.Idle,
		ParseError: func(_ int, body []byte) (string, string) { return parseError(body) },
		Secrets:    []string{o.Key},
	}
	return m
}

// Name is the model's name at its provider.
func (m *Model) Name() string { return m.name }

// Provider is openai, deepseek, openrouter or, for every other server,
// openai-compatible; unless Options say otherwise.
func (m *Model) Provider() string { return m.provider }

// Generate asks the model; llm.Model has the contract. A server that refuses a
// parameter that not all servers have is asked once more without it, and from
// then on.
func (m *Model) Generate(ctx context.Context, req llm.Request, on func(llm.Delta)) (llm.Response, error) {
	resp, err := m.ask(ctx, req, on)
	for range 2 { // parameters that can be refused
		if !m.adapt(req, err) {
			break
		}
		resp, err = m.ask(ctx, req, on)
	}
	return resp, err
}

// adapt notes which parameter of the request the server has refused. It returns
// false if err is not about one that can be sent in another way.
func (m *Model) adapt(req llm.Request, err error) bool {
	var refusal *llm.Error
	if !errors.As(err, &refusal) || refusal.Status != http.StatusBadRequest && refusal.Status != http.StatusUnprocessableEntity {
		return false
	}
	switch text := refusal.Message; {
	case req.Effort != "" && !m.noEffort.Load() && (strings.Contains(text, "reasoning_effort") || strings.Contains(text, "reasoning.effort")):
		m.noEffort.Store(true)
	case req.MaxTokens > 0 && !m.newTokens.Load() && strings.Contains(text, "max_completion_tokens"):
		m.newTokens.Store(true)
	default:
		return false
	}
	return true
}

func (m *Model) ask(ctx context.Context, req llm.Request, on func(llm.Delta)) (llm.Response, error) {
	var resp llm.Response
	err := m.client.Ask(ctx, "/chat/completions", m.body(req), on, func(s *llmhttp.Stream, on func(llm.Delta)) error {
		a := newAnswer(m, on)
		if err := a.read(s); err != nil {
			return err
		}
		resp = a.response()
		return nil
	})
	return resp, err
}

func bearer(key string) func(http.Header) {
	if key == "" {
		return nil
	}
	return func(h http.Header) { h.Set("Authorization", "Bearer "+key) }
}

func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// under reports whether host is domain or below it.
func under(host, domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }

func providerAt(host string) string {
	for _, p := range []struct{ host, name string }{
		{officialHost, "openai"}, {"api.deepseek.com", "deepseek"}, {"openrouter.ai", "openrouter"},
	} {
		if under(host, p.host) {
			return p.name
		}
	}
	return "openai-compatible"
}
