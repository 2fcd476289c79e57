package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/internal/agent/contextwindow"
	"github.com/meup-protocol/meup/internal/agent/llm"
	"github.com/meup-protocol/meup/internal/agent/llm/models"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
	"github.com/meup-protocol/meup/internal/agent/telemetry"
	"github.com/meup-protocol/meup/internal/kit/program"
)

// modelFlags select a language model.
type modelFlags struct {
	model, baseURL string
	api            string
	effort         string
}

// register adds the flags; usage is the one of --model.
func (f *modelFlags) register(fl *pflag.FlagSet, usage string) {
	fl.StringVar(&f.model, "model", os.Getenv("MEUP_MODEL"), usage)
	fl.StringVar(&f.baseURL, "base-url", os.Getenv("MEUP_BASE_URL"), "URL of the model's API, if it is not the provider's, such as http://localhost:11434/v1")
	fl.StringVar(&f.api, "api", "", "API of OpenAI that the model's server has: chat (Chat Completions), responses; default $MEUP_MODEL_API, else responses for openai at its own URL, and chat elsewhere")
	fl.StringVar(&f.effort, "effort", "", "how much the model thinks: low, medium, high; empty: the default of the model")
}

func (f *modelFlags) check() error {
	switch {
	case !slices.Contains([]string{"", "low", "medium", "high"}, f.effort):
		return program.Usagef("--effort %q: expected low, medium or high", f.effort)
	case !slices.Contains([]string{"", "chat", "responses"}, f.api):
		return program.Usagef("--api %q: expected chat or responses", f.api)
	case f.baseURL != "" && !hasScheme(f.baseURL, "http", "https"):
		return program.Usagef("--base-url: expected http://… or https://…")
	}
	return nil
}

// deciderFlags select how the agent decides.
type deciderFlags struct {
	modelFlags
	reasoner         string
	reasonerTokenEnv string
	rulesBehind      bool
	instructions     string
	instructionsFile string
	contextTokens    int
	utilization      string
	summarization    string
	maxTokens        int
	showThinking     bool
	price            []string
	currency         string

	prices llm.Prices // of price
	flags  *pflag.FlagSet
}

// ofModels are the flags that only a model of the agent itself uses.
var ofModels = []string{
	"api", "context-tokens", "context-utilization", "summarization-model", "effort", "max-tokens", "show-thinking", "price", "currency",
}

func (f *deciderFlags) register(fl *pflag.FlagSet) {
	f.flags = fl
	f.modelFlags.register(fl, "PROVIDER:NAME of a language model (openai, anthropic, ollama, lmstudio, vllm, openrouter, deepseek), or rules; default $MEUP_MODEL, else a model whose key is in the environment, else rules")
	fl.StringVar(&f.reasoner, "reasoner", "", "URL of a Reasoning API that decides instead: http://… of the service, or nats://… of its queue; default $MEUP_REASONER, else, without --model, $REASONING_TRANSPORT and $REASONING_API_URL or $REASONING_NATS_URL")
	fl.StringVar(&f.reasonerTokenEnv, "reasoner-token-env", "REASONING_API_TOKEN", "environment variable that holds its token, if it needs one; the token of NATS is in $MEUP_NATS_TOKEN")
	fl.BoolVar(&f.rulesBehind, "rules-behind", false, "let the rules decide if the model or the Reasoning API fails")
	fl.StringVar(&f.instructions, "instructions", "", "instructions for the model: the role of the agent and its rules")
	fl.StringVar(&f.instructionsFile, "instructions-file", "", "file that holds the instructions")
	fl.IntVar(&f.contextTokens, "context-tokens", 0, fmt.Sprintf("size of the context window of the model, in tokens, at least %d; 0: %d", planner.MinWindow, planner.DefaultBudget))
	fl.StringVar(&f.utilization, "context-utilization", "full", "how much of the context window to use: full, half, low (a quarter)")
	fl.StringVar(&f.summarization, "summarization-model", "", "PROVIDER:NAME of a model that summarizes long results, one request each (none: previews)")
	fl.IntVar(&f.maxTokens, "max-tokens", 0, "maximum of tokens of one answer; 0: the default of the provider")
	fl.BoolVar(&f.showThinking, "show-thinking", false, "publish the model's raw thinking, not only its reasons")
	fl.StringArrayVar(&f.price, "price", nil, "price of a million tokens of a model, so that answers report their cost: 'NAME input=2.5 output=10 cached=0.25'; repeatable")
	fl.StringVar(&f.currency, "currency", "USD", "currency of --price")
}

func (f *deciderFlags) check() error {
	if f.reasoner == "" { // not the flag's default, since --help would print it with its password
		f.reasoner = os.Getenv("MEUP_REASONER")
	}
	if err := f.modelFlags.check(); err != nil {
		return err
	}
	if _, err := contextwindow.ParseUtilization(f.utilization); err != nil {
		return program.Usagef("--context-utilization: %w", err)
	}
	if f.maxTokens < 0 {
		return program.Usagef("--max-tokens must not be negative")
	}
	if f.contextTokens != 0 && f.contextTokens < planner.MinWindow {
		return program.Usagef("--context-tokens %d: must be 0 or at least %d", f.contextTokens, planner.MinWindow)
	}
	if f.instructions != "" && f.instructionsFile != "" {
		return program.Usagef("--instructions and --instructions-file: one of them")
	}
	if f.reasoner != "" && !hasScheme(f.reasoner, "http", "https", "nats", "tls") {
		return program.Usagef("--reasoner: expected http://…, https://…, nats://… or tls://…")
	}
	var err error
	f.prices, err = llm.ParsePrices(f.price)
	if err != nil {
		return program.Usagef("--price: %w", err)
	}
	if !currencyCode.MatchString(f.currency) {
		return program.Usagef("--currency %q: expected three capital letters, such as EUR", f.currency)
	}
	return nil
}

var currencyCode = regexp.MustCompile("^[A-Z]{3}$")

// hasScheme reports whether an address, or the first one of a list, is a URL with
// a host and one of the schemes.
func hasScheme(address string, schemes ...string) bool {
	first, _, _ := strings.Cut(address, ",")
	u, err := url.Parse(first)
	return err == nil && u.Host != "" && slices.Contains(schemes, u.Scheme)
}

// text returns the instructions.
func (f *deciderFlags) text() (string, error) {
	if f.instructionsFile == "" {
		return f.instructions, nil
	}
	raw, err := os.ReadFile(f.instructionsFile)
	if err != nil {
		return "", fmt.Errorf("read instructions: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// open opens the planner that the flags select. It refuses flags and keys of the configuration
// file that have no effect with it. A variable may be meant for other programs: it is logged.
func (f *deciderFlags) open(tel *telemetry.Telemetry, log *slog.Logger) (*planner.Opened, error) {
	share, err := contextwindow.ParseUtilization(f.utilization)
	if err != nil {
		return nil, err
	}
	opened, err := planner.Open(planner.Options{
		Rules: rules.Rules{}, RulesFallback: f.rulesBehind, ModelName: f.model, BaseURL: f.baseURL, API: f.api, SummarizationModel: f.summarization,
		ModelOptions: planner.ModelOptions{
			Budget: f.contextTokens, Utilization: share, Effort: f.effort, MaxTokens: f.maxTokens, Logger: log,
		},
		Reasoner: f.reasoner, ReasonerToken: os.Getenv(f.reasonerTokenEnv), Getenv: os.Getenv, Telemetry: tel,
	})
	if err != nil {
		return nil, program.Usagef("%w", err)
	}
	useless, decides := []string{"reasoner-token-env"}, "a model decides"
	switch opened.Approach {
	case planner.ReasonerName:
		useless, decides = ofModels, "a Reasoning API decides"
	case planner.RulesName:
		useless, decides = append([]string{"instructions", "instructions-file", "reasoner-token-env"}, ofModels...), "rules decide"
	}
	for _, name := range useless {
		if flag := f.flags.Lookup(name); flag.Changed || flag.Value.String() != flag.DefValue {
			return nil, errors.Join(program.Usagef("--%s has no effect: %s", name, decides), opened.Close())
		}
	}
	if os.Getenv(models.APIVariable) != "" && slices.Contains(useless, "api") {
		log.Warn(models.APIVariable + " has no effect: " + decides)
	}
	return opened, nil
}
