package main

import (
	"cmp"
	"errors"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/reasoner"
	"github.com/meup-protocol/meup/internal/reasoner/httpapi"
)

// commonFlags are the flags that serve and worker share, with the flags of the queue.
type commonFlags struct {
	// The model that decides.
	model, baseURL string
	api            string
	allowLocal     []string
	modelTimeout   time.Duration
	// Its input.
	contextTokens              int
	utilization, summarization string
	// The URLs to which results may be posted, and the key that signs them.
	allowCallback []string
	secretEnv     string
	secretNamed   func() bool // reports whether --callback-secret-env was given

	logLevel, logFormat string
	tokenEnv            string
	metricsListen       string
	records             logFlags
	queue               queueFlags
}

// Bounds of --context-tokens, the same as of context_tokens in a request.
const (
	minContextTokens = planner.MinWindow
	maxContextTokens = 10_000_000
)

func (f *commonFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.model, "model", "", "PROVIDER:NAME of the model for requests that name none (none: rules decide)")
	fl.StringVar(&f.baseURL, "base-url", "", "address of the provider of --model, if it is not the usual one")
	fl.StringVar(&f.api, "api", "", "API of OpenAI that the provider of --model has: chat, responses; default $MEUP_MODEL_API, else responses for openai at its own URL, and chat elsewhere")
	fl.StringSliceVar(&f.allowLocal, "allow-local-model", nil, "provider on this host (ollama, lmstudio, vllm) whose models requests may name; may be repeated")
	fl.DurationVar(&f.modelTimeout, "model-timeout", reasoner.DefaultModelTimeout, "maximum time of a model for one decision; after it rules decide")
	fl.IntVar(&f.contextTokens, "context-tokens", 0, "size of the context window of the model, in tokens, at least 4096; 0: 128000; requests may set context_tokens")
	fl.StringVar(&f.utilization, "context-utilization", "full", "how much of the context window to use: full, half, low (a quarter); requests may set context_utilization")
	fl.StringVar(&f.summarization, "summarization-model", "", "PROVIDER:NAME of a model that summarizes long results, one request each (none: previews); requests may set summarization_model")
	fl.StringSliceVar(&f.allowCallback, "callback-allow", nil, "host, address or prefix that is not public and to which results may be posted; may be repeated")
	fl.StringVar(&f.secretEnv, "callback-secret-env", "MEUP_CALLBACK_SECRET", "environment variable with the secret that signs callbacks")
	f.secretNamed = func() bool { return fl.Changed("callback-secret-env") }
	fl.StringVar(&f.tokenEnv, "token-env", defaultTokenEnv, "environment variable with the accepted tokens, separated by commas; if the default one is empty, no token is required")
	fl.StringVar(&f.logLevel, "log-level", cmp.Or(strings.ToLower(os.Getenv(envLogLevel)), "info"), "debug, info, warn or error (default from $"+envLogLevel+")")
	fl.StringVar(&f.logFormat, "log-format", "text", "text or json")
	f.records.register(fl)
	f.queue.register(fl)
}

func (f *commonFlags) check() error {
	switch {
	case f.baseURL != "" && f.model == "":
		return program.Usagef("--base-url %s needs --model", f.baseURL)
	case f.api != "" && f.model == "":
		return program.Usagef("--api %s needs --model", f.api)
	case f.modelTimeout <= 0:
		return program.Usagef("--model-timeout must be positive")
	case f.contextTokens != 0 && (f.contextTokens < minContextTokens || f.contextTokens > maxContextTokens):
		return program.Usagef("--context-tokens %d: must be 0 or %d to %d", f.contextTokens, minContextTokens, maxContextTokens)
	}
	if _, err := contextwindow.ParseUtilization(f.utilization); err != nil {
		return program.Usagef("--context-utilization: %w", err)
	}
	for _, provider := range f.allowLocal {
		if !slices.Contains(localProviders, provider) {
			return program.Usagef("--allow-local-model %q: expected one of %s", provider, strings.Join(localProviders, ", "))
		}
	}
	return errors.Join(checkEnvironment(), f.records.check(), f.queue.check())
}

func (f *commonFlags) logger() (*slog.Logger, error) {
	level, err := program.ParseLevel(f.logLevel)
	if err != nil {
		return nil, err
	}
	log, err := program.NewLogger(os.Stderr, level, f.logFormat)
	if err == nil {
		warnIgnored(log)
	}
	return log, err
}

// secret reads the key that signs callbacks. An explicitly named variable must
// have one.
func (f *commonFlags) secret() ([]byte, error) {
	s := strings.TrimSpace(os.Getenv(f.secretEnv))
	if s == "" && f.secretNamed != nil && f.secretNamed() {
		return nil, program.Usagef("--callback-secret-env %s: the variable is empty", f.secretEnv)
	}
	return []byte(s), nil
}

// serveFlags are the flags of serve.
type serveFlags struct {
	commonFlags
	listen         string
	maxConcurrency int
	maxBody        int64
	drain          time.Duration
}

// defaultTokenEnv is the variable that clients of the API read too.
const defaultTokenEnv = "REASONING_API_TOKEN"

func (f *serveFlags) register(fl *pflag.FlagSet) {
	listen := net.JoinHostPort(cmp.Or(os.Getenv(envHost), "127.0.0.1"), cmp.Or(os.Getenv(envPort), "9000"))
	fl.StringVar(&f.listen, "listen", listen, "address to listen on, host:port (default from $UVICORN_HOST and $UVICORN_PORT)")
	fl.StringVar(&f.metricsListen, "metrics-listen", "", "separate address for /metrics (default: on --listen)")
	fl.IntVar(&f.maxConcurrency, "max-concurrency", httpapi.DefaultMaxConcurrent, "maximum number of concurrent requests; more are rejected with 503")
	fl.Int64Var(&f.maxBody, "max-body", httpapi.DefaultMaxBody, "maximum size of a request, in bytes")
	fl.DurationVar(&f.drain, "drain-timeout", 10*time.Second, "time for running requests and jobs to finish on shutdown")
	f.commonFlags.register(fl)
}

// Variables of the default address.
const (
	envHost = "UVICORN_HOST"
	envPort = "UVICORN_PORT"
)

// check validates the flags before anything is started.
func (f *serveFlags) check() error {
	switch {
	case !isHostPort(f.listen):
		return program.Usagef("--listen %q: expected host:port", f.listen)
	case f.maxConcurrency < 1:
		return program.Usagef("--max-concurrency %d: must be at least 1", f.maxConcurrency)
	case f.maxBody < 1:
		return program.Usagef("--max-body %d: must be at least 1", f.maxBody)
	case f.drain < 0:
		return program.Usagef("--drain-timeout must not be negative")
	}
	return f.commonFlags.check()
}

// tokens reads the tokens that requests may use. An explicitly named variable
// must have one: a misspelled name would open the service to all clients.
func (f *commonFlags) tokens() ([]string, error) {
	list := strings.FieldsFunc(os.Getenv(f.tokenEnv), func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' })
	if len(list) == 0 && f.tokenEnv != defaultTokenEnv {
		return nil, program.Usagef("--token-env %s: the variable is empty or has no token", f.tokenEnv)
	}
	return list, nil
}
