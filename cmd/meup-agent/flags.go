package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/llm/models"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/kit/program"
)

// runFlags are the flags of run.
type runFlags struct {
	memberFlags
	answerFlags
	config          string
	docs            string
	memory          bool
	spaceTools      string
	maxSteps        int
	proposalTimeout time.Duration
	delegateTimeout time.Duration
	think           deciderFlags
	metricsListen   string
}

// answerFlags are the flags that run and acp share: what they answer.
type answerFlags struct {
	name, answer, catchUp string
	maxHops               int
}

func (f *answerFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.name, "name", "", "name for mentions, in addition to the participant's id")
	fl.StringVar(&f.answer, "answer", string(intake.Auto), "chats to answer: addressed, mentioned (also @name), any (also chats to all), auto (any, or mentioned if another agent is connected)")
	fl.StringVar(&f.catchUp, "catch-up", string(intake.CatchUpAuto), "questions from before the start to answer: auto (of the last hour, if the agent was in the space before them), all (all without an answer), off (none)")
	fl.IntVar(&f.maxHops, "max-hops", 4, "maximum of answers of agents that follow from one another")
}

func (f *answerFlags) check() error {
	if f.maxHops < 1 {
		return program.Usagef("--max-hops %d: at least 1", f.maxHops)
	}
	if _, err := intake.ParseMode(f.answer); err != nil {
		return program.Usagef("--answer: %w", err)
	}
	if _, err := intake.ParseCatchUp(f.catchUp); err != nil {
		return program.Usagef("--catch-up: %w", err)
	}
	return nil
}

// variables maps flags to the environment variables that replace them if they
// are not set.
var variables = map[string]string{
	"gateway": "MEUP_URL", "space": "MEUP_SPACE", "model": "MEUP_MODEL", "base-url": "MEUP_BASE_URL", "api": models.APIVariable, "reasoner": "MEUP_REASONER",
}

func (f *runFlags) register(fl *pflag.FlagSet) {
	f.memberFlags.register(fl)
	f.answerFlags.register(fl)
	f.think.register(fl)
	fl.StringVar(&f.config, "config", "", "YAML file with these flags as keys, such as max_steps: 12; the command line and the environment override it")
	fl.StringVar(&f.docs, "docs", "", "folder of text files to answer from; needs no MCP server")
	fl.BoolVar(&f.memory, "memory", false, "search and read the log of the space with the tools context.fts_search, context.read and context.thread")
	fl.StringVar(&f.spaceTools, "space-tools", "auto", "auto: also use the tools that other participants offer; off: only the tools of the agent's own servers")
	fl.IntVar(&f.maxSteps, "max-steps", 8, "maximum of steps with tools for one question")
	fl.DurationVar(&f.proposalTimeout, "proposal-timeout", 5*time.Minute, "time until a proposal without a decision expires; 0: do not propose calls that are not allowed")
	fl.DurationVar(&f.delegateTimeout, "delegate-timeout", 2*time.Minute, "timeout of a part of a question that another agent is asked to reason about; 0: ask no agent")
	fl.StringVar(&f.metricsListen, "metrics-listen", "", "address to serve /metrics on; empty: none")
}

// check validates the flags before anything is started.
func (f *runFlags) check() error {
	if err := f.memberFlags.check(); err != nil {
		return err
	}
	switch {
	case f.maxSteps < 1:
		return program.Usagef("--max-steps %d: at least 1", f.maxSteps)
	case f.proposalTimeout < 0:
		return program.Usagef("--proposal-timeout must not be negative")
	case f.delegateTimeout < 0:
		return program.Usagef("--delegate-timeout must not be negative")
	case f.spaceTools != "auto" && f.spaceTools != "off":
		return program.Usagef("--space-tools %q: expected auto or off", f.spaceTools)
	case f.docs != "" && !isFolder(f.docs):
		return program.Usagef("--docs %s: expected a folder", f.docs)
	}
	if err := f.answerFlags.check(); err != nil {
		return err
	}
	return f.think.check()
}

// docServers returns the MCP server for --docs.
func (f *runFlags) docServers() ([]mcptools.Server, error) {
	if f.docs == "" {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own program: %w", err)
	}
	return []mcptools.Server{{Name: "docs", Command: []string{self, "docserver", f.docs}, Env: mcptools.Environment(f.mcpEnv...)}}, nil
}
