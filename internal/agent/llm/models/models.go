// Package models opens a language model by its name, such as
// anthropic:claude-sonnet-5-5 or ollama:qwen3.
//
//	name          served at                      key
//	openai:…      https://api.openai.com/v1      OPENAI_API_KEY
//	anthropic:…   https://api.anthropic.com      ANTHROPIC_API_KEY
//	openrouter:…  https://openrouter.ai/api/v1   OPENROUTER_API_KEY
//	deepseek:…    https://api.deepseek.com/v1    DEEPSEEK_API_KEY
//	ollama:…      http://localhost:11434/v1      none needed
//	lmstudio:…    http://localhost:1234/v1       none needed
//	vllm:…        the base URL that is given     none needed
//
// A base URL that is given takes the place of the one here; then no key is
// needed, and those of the table go to the hosts of the table alone.
// MEUP_MODEL_KEY is a key for any of them, wherever it is. All but anthropic
// are asked by Chat Completions.
package models

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/llm/anthropic"
	"github.com/meup-protocol/meup/internal/agent/llm/llmhttp"
	"github.com/meup-protocol/meup/internal/agent/llm/openai"
)

// AnyKey is the variable of the environment with a key for any provider.
const AnyKey = "MEUP_MODEL_KEY"

// provider is a row of the table.
type provider struct {
	name     string
	baseURL  string // empty: it must be given
	variable string // of its key; empty: none is needed
	model    string // taken where none is named; empty: there is none
	messages bool   // Anthropic's API, else Chat Completions
}

// providers, in the order in which FromEnvironment looks for their keys. The
// models are middling ones of each house, not the dearest, that call tools by
// the API in use here: OpenAI's of version 5.4 and later no longer do that by
// Chat Completions while they reason.
var providers = []provider{
	{name: "anthropic", baseURL: anthropic.DefaultBaseURL, variable: "ANTHROPIC_API_KEY", model: "claude-sonnet-5-5", messages: true},
	{name: "openai", baseURL: openai.DefaultBaseURL, variable: "OPENAI_API_KEY", model: "gpt-5.2"},
	{name: "openrouter", baseURL: "https://openrouter.ai/api/v1", variable: "OPENROUTER_API_KEY", model: "anthropic/claude-sonnet-5.5"},
	{name: "deepseek", baseURL: "https://api.deepseek.com/v1", variable: "DEEPSEEK_API_KEY", model: "deepseek-v4-flash"},
	{name: "ollama", baseURL: "http://localhost:11434/v1"},
	{name: "lmstudio", baseURL: "http://localhost:1234/v1"},
	{name: "vllm"},
}

// Options say how a model is reached. The zero value takes the provider's
// server and no key.
type Options struct {
	BaseURL string // http or https; empty stands for the provider's own
	Key     string // goes before those of the environment
	// Getenv reads the environment; nil stands for an empty one.
	Getenv func(string) string

	HTTP   *http.Client // nil stands for llmhttp's own
	Retry  llmhttp.Retry
	Logger *slog.Logger // nil discards
}

// Open returns the model of a name PROVIDER:NAME. It asks nothing of the
// server. Its errors say what is wrong with the name, the base URL or the key,
// and what to set; they have no key in them.
func Open(name string, o Options) (llm.Model, error) {
	p, model, err := parse(name)
	if err != nil {
		return nil, err
	}
	base, err := p.base(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	key, err := p.key(base, o)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	if o.Logger != nil && key != "" && base.exposed() {
		o.Logger.Warn("the model's key is sent over plain http", slog.String("host", base.Host))
	}
	if p.messages {
		return anthropic.New(anthropic.Options{BaseURL: base.String(), Key: key, Model: model, HTTP: o.HTTP, Retry: o.Retry, Logger: o.Logger}), nil
	}
	label := p.name
	if p.name == "openai" {
		label = "" // the host says whether it is really OpenAI
	}
	return openai.New(openai.Options{BaseURL: base.String(), Key: key, Model: model, Provider: label, HTTP: o.HTTP, Retry: o.Retry, Logger: o.Logger}), nil
}

// parse splits a name at its first colon; those of Ollama have a second.
func parse(name string) (provider, string, error) {
	kind, model, ok := strings.Cut(name, ":")
	i := slices.IndexFunc(providers, func(p provider) bool { return p.name == kind })
	switch {
	case !ok:
		return provider{}, "", fmt.Errorf("model %q: a model is named PROVIDER:NAME, such as anthropic:claude-sonnet-5-5; the providers are %s", name, names())
	case i < 0:
		return provider{}, "", fmt.Errorf("model %q: there is no provider %q; there are %s (for any other server with Chat Completions, openai:NAME and its base URL)", name, kind, names())
	case strings.TrimSpace(model) == "":
		return provider{}, "", fmt.Errorf("model %q: it says no model of %s", name, kind)
	}
	return providers[i], model, nil
}

func names() string {
	var out []string
	for _, p := range providers {
		out = append(out, p.name)
	}
	return strings.Join(out, ", ")
}

// key finds the key for a server. The provider's own is for its host alone, so
// that a base URL that somebody mistyped, or was talked into, does not get it.
func (p provider) key(base baseURL, o Options) (string, error) {
	getenv := orEmpty(o.Getenv)
	key := strings.TrimSpace(o.Key)
	own := base.sameHost(p.baseURL)
	if key == "" && own && p.variable != "" {
		key = value(getenv, p.variable)
	}
	if key == "" {
		key = value(getenv, AnyKey)
	}
	switch {
	case key == "" && own && p.variable != "":
		return "", fmt.Errorf("there is no key: set %s or %s", p.variable, AnyKey)
	case strings.ContainsFunc(key, unprintable):
		return "", errors.New("the key has characters in it that no key has")
	}
	return key, nil
}

func unprintable(r rune) bool { return r <= ' ' || r > '~' }

// FromEnvironment names the model to take where none is named: that of the
// first provider with a key in the environment, of anthropic, openai,
// openrouter and deepseek. AnyKey alone says no provider.
func FromEnvironment(getenv func(string) string) (name string, ok bool) {
	for _, p := range providers {
		if p.model != "" && value(orEmpty(getenv), p.variable) != "" {
			return p.name + ":" + p.model, true
		}
	}
	return "", false
}

// Mask returns the keys that the environment has, for whoever keeps secrets
// out of what is said.
func Mask(getenv func(string) string) []string {
	var keys []string
	for _, p := range append([]provider{{variable: AnyKey}}, providers...) {
		if p.variable == "" {
			continue
		}
		if key := value(orEmpty(getenv), p.variable); key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func value(getenv func(string) string, variable string) string {
	return strings.TrimSpace(getenv(variable))
}

func orEmpty(getenv func(string) string) func(string) string {
	if getenv == nil {
		return func(string) string { return "" }
	}
	return getenv
}
