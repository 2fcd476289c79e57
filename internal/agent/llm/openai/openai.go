// Package openai implements the two APIs of OpenAI, streaming: Responses, for
// OpenAI itself, and Chat Completions, for the many compatible servers: Ollama,
// vLLM, LM Studio, DeepSeek, OpenRouter. OpenAI's models from version 5.4 on
// call tools only through Responses.
//
// With Responses, nothing is stored at the server. The reasoning items of a turn
// arrive encrypted and are returned with it, since the API rejects a call
// without the reasoning before it; summaries of them become thinking. If the API
// rejects returned items, the request is sent once more with turns that are
// rebuilt from their text and calls.
//
// With Chat Completions, the differences of the servers are handled as follows:
//
//   - Thinking arrives as reasoning_content (DeepSeek, older vLLM), as reasoning
//     (OpenRouter, Ollama, newer vLLM), as reasoning_details (OpenRouter: raw
//     text, summaries, and encrypted pieces without a text), or within
//     tags (tagPairs) at the beginning of the content. All of them become
//     thinking, none of them text. If a server omits the opening tag (because
//     the template contained it), the thinking is recognized only in the
//     complete answer; until then it arrives as deltas of text.
//   - Thinking is returned to the model with the turns of a question for which
//     it called tools, in the field in which it arrived, and with no other
//     turns. This is DeepSeek's rule: it rejects a later request in which such
//     a turn lacks its reasoning_content, and ignores it in other turns; an
//     older model, which called no tools, rejected it there. OpenRouter
//     requires reasoning_details in the same turns. Thinking within tags is
//     not returned.
//   - A missing call id is generated. Arguments may have any of the forms that
//     servers use. Calls are distinguished by index, by id, or by their order. The
//     older function_call is a call, and so is a text at the end of the content in one
//     of the forms in which models write calls, from a server that does not parse them.
//   - An answer is complete with a finish_reason or [DONE]; without either it
//     was cut off.
//
// OpenAI itself sends no reasoning of its models through Chat Completions, not
// even summaries; summaries come from compatible servers, as reasoning_details
// of the type reasoning.summary.
package openai

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

const officialHost = "api.openai.com"

// API is one of the two APIs.
type API string

// Values of API. The zero value means Responses at OpenAI's own host, and Chat
// elsewhere.
const (
	Chat      API = "chat"      // POST /chat/completions
	Responses API = "responses" // POST /responses
)

// Options configures a Model.
type Options struct {
	BaseURL string // including /v1; "" means DefaultBaseURL
	Key     string // "" sends none, which local servers accept
	Model   string
	API     API
	// Provider is the name in errors, logs and Opaque; "" derives it from the
	// host of BaseURL.
	Provider string

	HTTP            *http.Client // nil means llmhttp's own
	Retry           llm.Retry
	FirstByte, Idle time.Duration // as in llm.Client
	Logger          *slog.Logger  // nil discards
	// NewID generates the id of a call that arrived without one; nil means a
	// random id.
	NewID func() string
}

// Model is a model with one of the APIs. Its methods are safe for concurrent
// use.
type Model struct {
	name     string
	provider string
	api      API
	newID    func() string
	client   *llm.Client

	variant atomic.Uint32 // of type variant: what the server was found to require
}

// variant is a set of deviations of a server, or of a model, in its parameters.
type variant uint32

const (
	newTokens       variant = 1 << iota // Chat: max_completion_tokens instead of max_tokens
	noEffort                            // no reasoning effort
	noSummary                           // Responses: no summaries; OpenAI requires a verified organization
	noEncrypted                         // Responses: no encrypted reasoning
	noStreamOptions                     // Chat: no stream_options, and so no token counts, unless the server sends them unasked
)

func (v variant) has(flag variant) bool { return v&flag != 0 }

var _ llm.Model = (*Model)(nil)

// New returns the model. It sends no request: a missing model fails in
// Generate.
func New(o Options) *Model {
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	host := ""
	base, err := url.Parse(o.BaseURL)
	if err == nil {
		host = strings.ToLower(base.Hostname())
	}
	m := &Model{name: o.Model, provider: o.Provider, api: o.API, newID: o.NewID}
	if m.api == "" {
		m.api = Chat
		if isSubdomain(host, officialHost) {
			m.api = Responses
		}
	}
	if isSubdomain(host, officialHost) || isSubdomain(host, "openai.azure.com") || isSubdomain(host, "services.ai.azure.com") {
		m.variant.Store(uint32(newTokens))
	}
	if m.provider == "" {
		m.provider = "openai-compatible"
		for domain, name := range map[string]string{officialHost: "openai", "api.deepseek.com": "deepseek", "openrouter.ai": "openrouter"} {
			if isSubdomain(host, domain) {
				m.provider = name
			}
		}
	}
	if m.newID == nil {
		m.newID = func() string { return "call_" + rand.Text() }
	}
	m.client = &llm.Client{
		Provider: m.provider, BaseURL: o.BaseURL,
		Header: func(h http.Header) {
			if o.Key != "" {
				h.Set("Authorization", "Bearer "+o.Key)
			}
		},
		HTTP: o.HTTP, Retry: o.Retry, Logger: o.Logger,
		FirstByte: o.FirstByte, Idle: o.Idle,
		ParseError: func(_ int, body []byte) (string, string) { return parseError(body) },
		Secrets:    []string{o.Key},
	}
	return m
}

// Name returns the model's name at its provider.
func (m *Model) Name() string { return m.name }

// Provider returns openai, deepseek, openrouter or, for any other server,
// openai-compatible, unless Options sets another name.
func (m *Model) Provider() string { return m.provider }

// Generate implements llm.Model. If a server rejects a parameter that not all
// servers support, the request is sent again without it, and so are all later
// requests. If it rejects the items of earlier answers, the request is sent
// again without them.
func (m *Model) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	items := m.api == Responses
	var sent variant
	return llm.AdaptRequest(func() iter.Seq2[llm.Event, error] {
		sent = variant(m.variant.Load())
		if m.api == Responses {
			return m.client.Generate(ctx, "/responses", m.responsesBody(req, sent, items), req.Whole, func(emit func(llm.Delta)) llm.Decoder {
				return newResponsesAnswer(m, emit)
			})
		}
		return m.client.Generate(ctx, "/chat/completions", m.chatBody(req, sent), req.Whole, func(emit func(llm.Delta)) llm.Decoder {
			return newChatAnswer(m, req.Tools, emit)
		})
	}, func(err error) bool {
		var refusal *llm.Error
		if !errors.As(err, &refusal) || !slices.Contains([]int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotFound}, refusal.Status) {
			return false
		}
		v := m.deviation(req, refusal.Message)
		if v&^sent != 0 {
			m.variant.Or(uint32(v))
			return true
		}
		returned := items && slices.ContainsFunc(req.Messages, func(msg llm.Message) bool {
			return msg.Role == llm.Assistant && len(m.ownItems(&msg)) > 0
		})
		// The items are of another model or key, or one of them was removed.
		if returned && (refusal.Code == "invalid_encrypted_content" || refusal.Code == "unknown_parameter" ||
			strings.Contains(refusal.Message, "reasoning") || strings.Contains(refusal.Message, "Item ")) {
			items = false
			return true
		}
		return false
	})
}

// deviation returns the parameter of a request that the server rejected, by its message, or 0.
func (m *Model) deviation(req llm.Request, message string) variant {
	for _, p := range []struct {
		flag  variant
		sent  bool
		words []string
	}{
		{noEffort, req.Effort != "", []string{"reasoning_effort", "reasoning.effort"}},
		{newTokens, m.api == Chat && req.MaxTokens > 0, []string{"max_completion_tokens"}},
		{noStreamOptions, m.api == Chat, []string{"stream_options", "include_usage"}},
		{noSummary, m.api == Responses, []string{"reasoning.summary", "reasoning summaries"}},
		{noEncrypted, m.api == Responses, []string{"Encrypted content is not supported", "'include'", encryptedReasoning}},
	} {
		if p.sent && slices.ContainsFunc(p.words, func(word string) bool { return strings.Contains(message, word) }) {
			return p.flag
		}
	}
	return 0
}

// isSubdomain reports whether host is domain or a subdomain of it.
func isSubdomain(host, domain string) bool {
	return host == domain || strings.HasSuffix(host, "."+domain)
}
