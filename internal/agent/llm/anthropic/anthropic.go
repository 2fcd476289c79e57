// Package anthropic implements Anthropic's Messages API, streaming.
//
// The format is version 2023-06-01 of the API, as in its documentation and in
// anthropic-sdk-go v1.84.0.
//
// The API's requirements, and the places that meet them:
//
//   - user and assistant alternate; all results of a turn's calls come first
//     in the one message after it (conversation.go);
//   - a turn with thinking is returned with its thinking blocks unchanged,
//     including signatures and redacted blocks. They are stored in
//     Message.Opaque; redacted content is never shown (blocks.go);
//   - the newer models verify that the content before a thinking block is
//     unchanged. If they reject a request for that reason, it is sent once
//     more with turns rebuilt without thinking (Generate);
//   - the thinking parameters depend on the model's generation, and thinking and
//     forced calls exclude one another (thinking.go). A model that always thinks
//     (Opus 5.5, Sonnet 5.5, Fable, Mythos) cannot be forced: it chooses itself,
//     and the caller must check its choice;
//   - max_tokens bounds thinking and answer together: the tokens for thinking
//     are added to the answer's tokens;
//   - tools and system prompt are marked for the provider's cache.
package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/meup-protocol/meup/internal/agent/llm"
)

const (
	provider = "anthropic"
	version  = "2023-06-01"

	// DefaultBaseURL is Anthropic's server.
	DefaultBaseURL = "https://api.anthropic.com"
	// defaultMaxTokens bounds an answer, without thinking, if neither the
	// request nor the options do. The API requires a bound.
	defaultMaxTokens = 8192
)

// Options configures a Model.
type Options struct {
	BaseURL   string // without /v1; empty means DefaultBaseURL
	Key       string // empty for a server without keys
	Model     string // such as claude-sonnet-5-5
	MaxTokens int    // of an answer; 0 means defaultMaxTokens

	HTTP   *http.Client // nil means llmhttp's own
	Retry  llm.Retry
	Logger *slog.Logger // nil discards
}

// Model is a model of Anthropic, or of a server with the same API.
type Model struct {
	name      string
	maxTokens int
	client    *llm.Client
	log       *slog.Logger
	plain     atomic.Bool // the model was found not to support thinking
}

var _ llm.Model = (*Model)(nil)

// New returns a Model. It sends no request.
func New(o Options) *Model {
	base := strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1")
	if base == "" {
		base = DefaultBaseURL
	}
	if o.MaxTokens <= 0 {
		o.MaxTokens = defaultMaxTokens
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Model{
		name:      o.Model,
		maxTokens: o.MaxTokens,
		log:       o.Logger,
		client: &llm.Client{
			Provider: provider,
			BaseURL:  base,
			Header: func(h http.Header) {
				h.Set("anthropic-version", version)
				if o.Key != "" {
					h.Set("x-api-key", o.Key)
				}
			},
			HTTP:       o.HTTP,
			Retry:      o.Retry,
			Logger:     o.Logger,
			ParseError: parseError,
			Secrets:    []string{o.Key},
		},
	}
}

// Name returns the model's name at its provider.
func (m *Model) Name() string { return m.name }

// Provider returns "anthropic".
func (m *Model) Provider() string { return provider }

// Generate implements llm.Model.
func (m *Model) Generate(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	body := build(m.name, m.maxTokens, req, true)
	if m.plain.Load() {
		body = withoutThinking(body)
	}
	return llm.AdaptRequest(func() iter.Seq2[llm.Event, error] {
		return m.client.Generate(ctx, "/v1/messages", body, req.Whole, m.decoder)
	}, func(err error) bool {
		var refusal *llm.Error
		if !errors.As(err, &refusal) || refusal.Status != http.StatusBadRequest {
			return false
		}
		isAbout := func(parameter string) bool { return strings.Contains(refusal.Message, parameter) }
		tuned := body.Thinking != nil || body.OutputConfig != nil && body.OutputConfig.Effort != ""
		switch thinks := hasThinking(body.Messages); {
		case thinks && isAbout("thinking"): // another model wrote it, or the content before it has changed
			m.log.LogAttrs(ctx, slog.LevelWarn, "the model refuses its earlier thinking, asking without it",
				slog.String("provider", provider), slog.String("model", m.name))
			body = build(m.name, m.maxTokens, req, false)
		case !thinks && tuned && !strings.HasPrefix(refusal.Message, "messages.") && // which begins the refusal of a message
			(isAbout("thinking") || isAbout("effort") || isAbout("output_config")):
			m.plain.Store(true)
			body = withoutThinking(body)
		default:
			return false
		}
		return true
	})
}

// withoutThinking removes the parameters that only models with thinking
// support.
func withoutThinking(body request) request {
	body.Thinking = nil
	if config := body.OutputConfig; config != nil {
		body.OutputConfig = nil
		if config.Format != nil {
			body.OutputConfig = &outputConfig{Format: config.Format}
		}
	}
	return body
}

// decoder decodes one answer.
type decoder struct {
	*answer
	client *llm.Client
}

func (m *Model) decoder(emit func(llm.Delta)) llm.Decoder {
	return decoder{&answer{on: emit}, m.client}
}

// Event applies an event.
func (d decoder) Event(ev llm.ServerEvent) (last bool, err error) {
	err = d.explain(d.applyEvent(ev.Name, ev.Data))
	return d.done, err
}

// Document applies an answer in one piece.
func (d decoder) Document(body []byte) error { return d.explain(d.applyDocument(body)) }

// Complete is false: only message_stop ends an answer.
func (d decoder) Complete() bool { return false }

// explain converts a refusal within an answer to an *llm.Error.
func (d decoder) explain(err error) error {
	var r *refused
	if errors.As(err, &r) {
		return d.client.Refusal(0, r.Type, r.Message)
	}
	return err
}

// parseError returns the code and the message in the body of a refusal.
func parseError(_ int, body []byte) (code, message string) {
	var e struct {
		Error apiError `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil {
		return "", ""
	}
	return e.Error.Type, e.Error.Message
}
