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
//	vllm:…        the configured base URL        none needed
//
// OLLAMA_HOST is the address of Ollama, as for Ollama's own clients. A
// configured base URL replaces the URL in the table. No key is needed then,
// since the keys in the table are sent only to the hosts in the table.
// MEUP_MODEL_KEY is a key for any provider and any base URL. anthropic has an
// API of its own. openai uses Responses at its own host; with another base URL,
// and for all other providers, Chat Completions is used. [Options].API or
// MEUP_MODEL_API (chat, responses) selects the other one.
package models

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/llm/anthropic"
	"github.com/meup-protocol/meup/internal/agent/llm/openai"
)

const (
	// anyKey is the environment variable with a key for any provider.
	anyKey = "MEUP_MODEL_KEY"
	// APIVariable is the environment variable that selects the API.
	APIVariable = "MEUP_MODEL_API"
)

// provider is a row of the table.
type provider struct {
	name     string
	baseURL  string // empty: must be configured
	variable string // environment variable of its key; empty: no key needed
	model    string // default model; empty: none
	messages bool   // Anthropic's API, else one of OpenAI's
	server   string // what serves it on a person's machine; empty: nothing does
}

// providers lists the providers in the order in which FromEnvironment checks
// their keys. The default models are the current mid-priced ones that can call
// tools, as of November 2026, according to the providers' lists of models:
// developers.openai.com/api/docs/models, platform.claude.com/docs (models) and
// api-docs.deepseek.com (quick start).
var providers = []provider{
	{name: "anthropic", baseURL: anthropic.DefaultBaseURL, variable: "ANTHROPIC_API_KEY", model: "claude-sonnet-5-5", messages: true},
	{name: "openai", baseURL: openai.DefaultBaseURL, variable: "OPENAI_API_KEY", model: "gpt-6.1-terra"},
	{name: "openrouter", baseURL: "https://openrouter.ai/api/v1", variable: "OPENROUTER_API_KEY", model: "anthropic/claude-sonnet-5.5"},
	{name: "deepseek", baseURL: "https://api.deepseek.com/v1", variable: "DEEPSEEK_API_KEY", model: "deepseek-flash"},
	{name: "ollama", baseURL: "http://localhost:11434/v1", server: "Ollama"},
	{name: "lmstudio", baseURL: "http://localhost:1234/v1", server: "LM Studio"},
	{name: "vllm"},
}

// Options configures a model. The zero value uses the provider's server and no
// key.
type Options struct {
	BaseURL string // http or https; empty means the provider's own
	Key     string // overrides the keys of the environment
	// API is chat or responses, for providers with OpenAI's APIs; empty means
	// APIVariable, or the default.
	API string
	// Getenv reads the environment; nil means an empty one.
	Getenv func(string) string

	HTTP   *http.Client // nil means llmhttp's own
	Retry  llm.Retry
	Logger *slog.Logger // nil discards
}

// SameProvider reports whether two names of models have the same provider.
func SameProvider(a, b string) bool {
	providerA, _, _ := strings.Cut(a, ":")
	providerB, _, found := strings.Cut(b, ":")
	return found && providerA == providerB
}

// For returns the options of another model that is used beside first, whose
// options are o. With another provider, the address, the API and the variables
// that belong to no provider do not apply: a key must not be sent there.
func (o Options) For(name, first string) Options {
	if SameProvider(name, first) {
		return o
	}
	getenv := orEmpty(o.Getenv)
	o.BaseURL, o.API = "", ""
	o.Getenv = func(variable string) string {
		if variable == anyKey || variable == APIVariable {
			return ""
		}
		return getenv(variable)
	}
	return o
}

// Open returns the model with a name of the form PROVIDER:NAME. It sends no
// request to the server. Its errors explain the mistake in the name, the base
// URL or the key and how to fix it; they contain no key.
func Open(name string, o Options) (llm.Model, error) {
	p, model, err := parse(name)
	if err != nil {
		return nil, err
	}
	base, err := p.base(o.BaseURL, o.Getenv)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	key, err := p.key(base, o)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	api, err := p.api(o)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	ip := net.ParseIP(base.Hostname())
	local := base.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if o.Logger != nil && key != "" && base.Scheme == "http" && !local {
		o.Logger.Warn("the model's key is sent over plain http", slog.String("host", base.Host))
	}
	if p.messages {
		return anthropic.New(anthropic.Options{BaseURL: base.String(), Key: key, Model: model, HTTP: o.HTTP, Retry: o.Retry, Logger: o.Logger}), nil
	}
	label := p.name
	if p.name == "openai" {
		label = "" // openai.New derives it from the host
	}
	return openai.New(openai.Options{BaseURL: base.String(), Key: key, Model: model, API: api, Provider: label, HTTP: o.HTTP, Retry: o.Retry, Logger: o.Logger}), nil
}

// parse splits a name at its first colon; names of Ollama models contain
// another.
func parse(name string) (provider, string, error) {
	kind, model, ok := strings.Cut(name, ":")
	i := slices.IndexFunc(providers, func(p provider) bool { return p.name == kind })
	switch {
	case !ok:
		return provider{}, "", fmt.Errorf("model %q: a model is named PROVIDER:NAME, such as anthropic:claude-sonnet-5-5; the providers are %s", name, names())
	case i < 0:
		return provider{}, "", fmt.Errorf("model %q: there is no provider %q; there are %s (for any other server with an API of OpenAI, openai:NAME and its base URL)", name, kind, names())
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

// key returns the key for a server. A provider's own key is sent only to its
// own host, so that a mistyped or malicious base URL does not get it.
func (p provider) key(base baseURL, o Options) (string, error) {
	getenv := orEmpty(o.Getenv)
	key := strings.TrimSpace(o.Key)
	home, err := url.Parse(p.baseURL)
	own := err == nil && base.Scheme == home.Scheme && strings.EqualFold(base.Host, home.Host)
	if key == "" && own && p.variable != "" {
		key = value(getenv, p.variable)
	}
	if key == "" {
		key = value(getenv, anyKey)
	}
	switch {
	case key == "" && own && p.variable != "":
		return "", fmt.Errorf("there is no key: set %s or %s", p.variable, anyKey)
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", errors.New("the key has characters in it that no key has")
	}
	return key, nil
}

// api returns the API for a provider; empty for the default.
func (p provider) api(o Options) (openai.API, error) {
	name := o.API
	if name == "" && !p.messages {
		name = value(orEmpty(o.Getenv), APIVariable)
	}
	switch api := openai.API(name); {
	case p.messages && name != "":
		return "", fmt.Errorf("%s has an API of its own: do not set %s", p.name, name)
	case api == "" || api == openai.Chat || api == openai.Responses:
		return api, nil
	}
	return "", fmt.Errorf("the API %q: expected chat or responses", name)
}

// FromEnvironment returns the default model of the first provider with a key in
// the environment, among anthropic, openai, openrouter and deepseek. anyKey is
// ignored, since it does not identify a provider.
func FromEnvironment(getenv func(string) string) (name string, ok bool) {
	for _, p := range providers {
		if p.model != "" && value(orEmpty(getenv), p.variable) != "" {
			return p.name + ":" + p.model, true
		}
	}
	return "", false
}

// Mask returns the keys in the environment, so that callers can redact them.
func Mask(getenv func(string) string) []string {
	var keys []string
	for _, p := range append([]provider{{variable: anyKey}}, providers...) {
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

// baseURL is a validated base URL.
type baseURL struct{ *url.URL }

// base returns the configured base URL, or else the provider's own.
func (p provider) base(given string, getenv func(string) string) (baseURL, error) {
	if address := value(orEmpty(getenv), ollamaVariable); given == "" && p.name == "ollama" && address != "" {
		base, err := parseBaseURL(ollamaURL(address))
		if err != nil {
			return baseURL{}, fmt.Errorf("%s: %w", ollamaVariable, err)
		}
		return base, nil
	}
	if given == "" {
		given = p.baseURL
	}
	if given == "" {
		return baseURL{}, fmt.Errorf("%s has no address of its own: set the base URL, such as http://localhost:8000/v1", p.name)
	}
	base, err := parseBaseURL(given)
	if err != nil {
		return baseURL{}, err
	}
	if !p.messages && strings.Trim(base.Path, "/") == "" {
		base.Path = "/v1" // the path on all of these servers
	}
	return base, nil
}

// parseBaseURL validates a base URL. Its errors do not quote the URL, which may
// contain a password.
func parseBaseURL(given string) (baseURL, error) {
	u, err := url.Parse(strings.TrimSpace(given))
	if err != nil {
		return baseURL{}, errors.New("the base URL is not a URL")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return baseURL{}, errors.New("the base URL begins neither with http:// nor with https://")
	case u.Hostname() == "":
		return baseURL{}, errors.New("the base URL has no host")
	case u.User != nil:
		return baseURL{}, errors.New("the base URL has a user in it; a key is set apart from it")
	case u.RawQuery != "" || u.Fragment != "":
		return baseURL{}, errors.New("the base URL has a query or a fragment, which it cannot have")
	}
	return baseURL{u}, nil
}
