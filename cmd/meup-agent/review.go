package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/llm/models"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/agent/review"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/protocol"
)

func newReview() *cobra.Command {
	var f reviewFlags
	c := &cobra.Command{
		Use:   "review --gateway URL --space NAME (--rules FILE | --model NAME)",
		Short: "Judge the proposals of a space",
		Long: `review joins a space as a participant that judges the proposals of others: for
each one that it can see, it sends an opinion (approve, reject or abstain) with
its grounds. If the gateway lets it decide, as a reviewer of the space that was
promoted, it then approves or rejects the proposal. With --mode shadow it never
decides.

--rules names a YAML file of patterns. A call that a reject rule matches is
rejected, one that an ask rule matches is left to people, and one that an
approve rule certainly matches is approved. About others, --model is asked, if
it is given; otherwise they are left to people. A model gets
the question, the exact call, labels and decisions of people on similar calls,
and nothing that the proposer says. What it would approve is left to people if
the call is uncertain, may destroy something or leads outside of its folder.

It also judges proposals from before its start, and never one twice. It runs
until it receives SIGTERM, SIGINT or participant.shutdown, and restores a lost
connection. Several processes with the same token act as one.

The token comes from the environment variable MEUP_TOKEN, from another one that
--token-env names, or from the file --token-file. The reviewer needs the
capabilities mcp.opinion and observe, and decide, to decide.`,
		Example: `  export MEUP_TOKEN=...
  meup-agent review --gateway http://localhost:8080 --space lab --rules rules.yaml
  meup-agent review --gateway http://localhost:8080 --space lab --rules rules.yaml \
    --model ollama:qwen3 --root /home/alice/repo`,
		Args: program.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runReview(c.Context(), &f) },
	}
	f.register(c.Flags())
	return c
}

// reviewFlags are the flags of review.
type reviewFlags struct {
	spaceFlags
	modelFlags
	rules   string
	mode    string
	root    string
	work    int
	waiting int
	timeout time.Duration
	maxCall int
}

func (f *reviewFlags) register(fl *pflag.FlagSet) {
	f.spaceFlags.register(fl)
	f.modelFlags.register(fl, "PROVIDER:NAME of a language model that is asked about what the rules leave (openai, anthropic, ollama, lmstudio, vllm, openrouter, deepseek); default $MEUP_MODEL, else none")
	fl.StringVar(&f.rules, "rules", "", "YAML file of rules")
	fl.StringVar(&f.mode, "mode", "gateway", "gateway: decide if and while the gateway lets it; shadow: never decide")
	fl.StringVar(&f.root, "root", "", "folder of the tools, which relative paths of rules are relative to; empty: the working directory that the agent reports")
	fl.IntVar(&f.work, "max-parallel", 4, "maximum of proposals that are judged at the same time")
	fl.IntVar(&f.waiting, "max-waiting", 64, "maximum of proposals that wait; further ones are left to people, and so are those of one proposer beyond a quarter")
	fl.DurationVar(&f.timeout, "timeout", time.Minute, "timeout of one judgment; then the reviewer abstains")
	fl.IntVar(&f.maxCall, "max-call", 32<<10, "maximum of bytes of a call that is judged; the reviewer abstains on a larger one")
}

func (f *reviewFlags) check() error {
	if err := f.spaceFlags.check(); err != nil {
		return err
	}
	switch {
	case f.rules == "" && f.model == "":
		return program.Usagef("nothing judges: name a file with --rules, or a model with --model")
	case f.mode != "gateway" && f.mode != "shadow":
		return program.Usagef("--mode %q: expected gateway or shadow", f.mode)
	case f.work < 1:
		return program.Usagef("--max-parallel %d: at least 1", f.work)
	case f.waiting < 1:
		return program.Usagef("--max-waiting %d: at least 1", f.waiting)
	case f.timeout <= 0:
		return program.Usagef("--timeout must be positive")
	case f.maxCall < 1:
		return program.Usagef("--max-call %d: at least 1", f.maxCall)
	}
	return f.modelFlags.check()
}

// runReview reads the rules, opens the model, joins, and judges until ctx ends.
func runReview(ctx context.Context, f *reviewFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.start(ctx, func(token string, log *slog.Logger) error {
		options := review.Options{
			Key: []byte(token), Effort: f.effort, Shadow: f.mode == "shadow", Root: f.root,
			MaxWork: f.work, MaxWaiting: f.waiting, Timeout: f.timeout, MaxCall: f.maxCall, Logger: log,
		}
		var err error
		if f.rules != "" {
			options.Rules, err = readRules(f.rules)
			if err != nil {
				return program.Usage(err)
			}
		}
		if f.model != "" {
			options.Model, err = models.Open(f.model, models.Options{BaseURL: f.baseURL, API: f.api, Getenv: os.Getenv, Logger: log})
			if err != nil {
				return program.Usage(err)
			}
		}
		history, err := openHistory(f.gateway, token)
		if err != nil {
			return err
		}
		defer history.Close()
		options.Log = history
		c, err := f.dial(ctx, token, log, client.Options{Filter: protocol.Filter{Kinds: review.Kinds()}})
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		options.Space = c
		you := c.Welcome().You
		if !participant.MayAllow(you.Capabilities, protocol.KindMCPOpinion) {
			return fmt.Errorf("%s has no capability mcp.opinion, so it cannot judge proposals; add it to the participant in the configuration of the gateway, or grant it", you.ID)
		}
		participant.WarnMissing(log, you.Capabilities, reviewNeeds...)
		return review.New(options).Run(ctx)
	})
}

// readRules reads a file of rules, which has a bound.
func readRules(path string) (*review.Rules, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was read only
	text, err := io.ReadAll(io.LimitReader(file, review.MaxRulesFile+1))
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	return review.ParseRules(path, text)
}

// reviewNeeds are the needs of a reviewer.
var reviewNeeds = []participant.Need{
	{Capability: "observe", Kinds: []protocol.Kind{"observe"}, Without: "approvals of others and proposals that are addressed to others are not seen"},
	{Capability: "participant.status", Kinds: []protocol.Kind{protocol.KindParticipantStatus}, Without: "requests for its status are not answered"},
}
