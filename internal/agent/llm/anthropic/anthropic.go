// Package anthropic asks models by Anthropic's Messages API, streaming.
//
// The wire is that of the API's version 2023-06-01, as its documentation and
// anthropic-sdk-go v1.84.0 have it.
//
// What the API asks of its callers, and where it is done:
//
//   - user and assistant alternate; all results of a turn's calls stand in the
//     one message after it, first (conversation.go);
//   - a turn that was thought about comes back with its thinking blocks as they
//     were, signatures and redacted blocks among them. They travel in
//     Message.Opaque; nothing redacted is ever shown (blocks.go);
//   - the newer models check that nothing before a thinking block has changed
//     since. Where they refuse for that, the request is sent once more with
//     turns told anew, without thinking (Generate);
//   - how a model is told to think depends on its generation, and thinking and
//     forced calls exclude one another (thinking.go). A model that always thinks
//     (Opus 5.5, Sonnet 5.5, Fable, Mythos) cannot be forced: it chooses itself,
//     and the caller must look at what it chose;
//   - max_tokens bounds thinking and answer together: room for the thinking is
//     added to the answer's tokens;
//   - tools and system prompt are marked for the provider's cache.
package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/llm/llmhttp"
)

const (
	provider = "anthropic"
	version  = "2023-06-01"

	// DefaultBaseURL is where Anthropic serves the API.
	DefaultBaseURL = "https://api.anthropic.com"
	// DefaultMaxTokens bounds an answer, thinking not counted, where neither
	// the request nor the options do. The API wants a bound.
	DefaultMaxTokens = 8192
)

// Options are what New makes a Model of.
type Options struct {
	BaseURL   string // without /v1; empty stands for DefaultBaseURL
	Key       string // empty for a server that wants none
	Model     string // such as claude-sonnet-5-5
	MaxTokens int    // of an answer; 0 stands for DefaultMaxTokens

	HTTP   *http.Client // nil stands for llmhttp's own
	Retry  llmhttp.Retry
	Logger *slog.Logger // nil discards
}

// Model is one of Anthropic's, or of a host that speaks as it does.
type Model struct {
	name      string
	maxTokens int
	client    *llmhttp.Client
	log       *slog.Logger
	plain     atomic.Bool // the model was found not to think
}

var _ llm.Model = (*Model)(nil)

// New returns a Model. Nothing is asked of the server yet.
func New(o Options) *Model {
	base := strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1")
	if base == "" {
		base = DefaultBaseURL
	}
	if o.MaxTokens <= 0 {
		o.MaxTokens = DefaultMaxTokens
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Model{
		name:      o.Model,
		maxTokens: o.MaxTokens,
		log:       o.Logger,
		client: &llmhttp.Client{
			Provider:   provider,
			BaseURL:    base,
			Header:     headers(o.Key),
			HTTP:       o.HTTP,
			Retry:      o.Retry,
			Logger:     o.Logger,
			ParseError: parseError,
			Secrets:    []string{o.Key},
		},
	}
}

func headers(key string) func(http.Header) {
	return func(h http.Header) {
		h.Set("anthropic-version", version)
		if key != "" {
			h.Set("x-api-key", key)
		}
	}
}

// Name is the model's name at its provider.
func (m *Model) Name() string { return m.name }

// Provider is "anthropic".
func (m *Model) Provider() string { return provider }

// Generate asks for an answer; llm.Model says how.
func (m *Model) Generate(ctx context.Context, req llm.Request, on func(llm.Delta)) (llm.Response, error) {
	body := build(m.name, m.maxTokens, req, true)
	if m.plain.Load() {
		body = withoutThinking(body)
	}
	resp, err := m.ask(ctx, body, on)
	if (body.Thinking != nil || body.OutputConfig != nil) && !hasThinking(body.Messages) && refusesParameter(err) {
		m.plain.Store(true)
		return m.ask(ctx, withoutThinking(body), on)
	}
	if refusesThinking(err) && hasThinking(body.Messages) {
		m.log.LogAttrs(ctx, slog.LevelWarn, "the model refuses its earlier thinking, asking without it",
			slog.String("provider", provider), slog.String("model", m.name))
		resp, err = m.ask(ctx, build(m.name, m.maxTokens, req, false), on)
	}
	return resp, err
}

// refusesParameter reports whether the model knows no thinking or no effort. A
// refusal of a message names the message first.
func refusesParameter(err error) bool {
	var refusal *llm.Error
	return errors.As(err, &refusal) && refusal.Status == http.StatusBadRequest &&
		!strings.HasPrefix(refusal.Message, "messages.") &&
		(strings.Contains(refusal.Message, "thinking") || strings.Contains(refusal.Message, "effort") || strings.Contains(refusal.Message, "output_config"))
}

// withoutThinking leaves out the parameters that only models have that think.
func withoutThinking(body request) request {
	body.Thinking, body.OutputConfig = nil, nil
	return body
}

// refusesThinking reports whether the thinking that was brought back is why
// the API would not answer: it was another model's, or what stands before it
// has changed. No answer has begun then.
func refusesThinking(err error) bool {
	var refusal *llm.Error
	return errors.As(err, &refusal) && refusal.Status == http.StatusBadRequest &&
		strings.Contains(refusal.Message, "thinking")
}

func (m *Model) ask(ctx context.Context, body request, on func(llm.Delta)) (llm.Response, error) {
	var resp llm.Response
	err := m.client.Ask(ctx, "/v1/messages", body, on, func(stream *llmhttp.Stream, on func(llm.Delta)) error {
		a := &answer{on: on}
		if err := read(stream, a); err != nil {
			return m.explain(err)
		}
		resp = a.response()
		return nil
	})
	return resp, err
}

func read(stream *llmhttp.Stream, a *answer) error {
	if body, ok := stream.JSON(); ok {
		return a.takeWhole(body)
	}
	for !a.done {
		ev, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: no message_stop", llm.ErrCut)
		}
		if err != nil {
			return err
		}
		if err := a.take(ev.Name, ev.Data); err != nil {
			return err
		}
	}
	return nil
}

// explain makes an *llm.Error of what the API refused in the midst.
func (m *Model) explain(err error) error {
	var r *refused
	if errors.As(err, &r) {
		return m.client.Refusal(0, r.Type, r.Message)
	}
	return fmt.Errorf("read answer of %s: %w", provider, err)
}

// parseError finds the code and the message in the body of a refusal.
func parseError(_ int, body []byte) (code, message string) {
	var e struct {
		Error apiError `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil {
		return "", ""
	}
	return e.Error.Type, e.Error.Message
}
