package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/program"
)

// runFlags are the flags of run.
type runFlags struct {
	config              string
	gateway, space      string
	tokenEnv, tokenFile string
	name                string
	mcp, mcpHTTP        []string
	mcpEnv              []string
	docs                string
	spaceTools          string
	answer              string
	catchUp             string
	maxSteps, maxHops   int
	toolTimeout         time.Duration
	proposalTimeout     time.Duration
	connectTimeout      time.Duration
	think               deciderFlags
	metricsListen       string
	logLevel, logFormat string
}

// variables maps flags to the environment variables that replace them if they
// are not set.
var variables = map[string]string{
	"gateway": "MEUP_GATEWAY", "space": "MEUP_SPACE", "model": "MEUP_MODEL", "base-url": "MEUP_BASE_URL", "reasoner": "MEUP_REASONER",
}

func (f *runFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.config, "config", "", "YAML file with these flags as keys, such as max_steps: 12; what is given here or in the environment wins")
	fl.StringVar(&f.gateway, "gateway", os.Getenv("MEUP_GATEWAY"), "the gateway's socket, ws://host/ws or wss://host/ws (default $MEUP_GATEWAY)")
	fl.StringVar(&f.space, "space", os.Getenv("MEUP_SPACE"), "the space to join (default $MEUP_SPACE)")
	fl.StringVar(&f.tokenEnv, "token-env", "MEUP_TOKEN", "environment variable that holds the token")
	fl.StringVar(&f.tokenFile, "token-file", "", "file that holds the token; wins over --token-env")
	fl.StringVar(&f.name, "name", "", "name to be mentioned by, besides the participant's id")
	fl.StringArrayVar(&f.mcp, "mcp", nil, "command of an MCP server, with its arguments; may be repeated")
	fl.StringArrayVar(&f.mcpEnv, "mcp-env", nil, "environment variable that the commands of --mcp get besides PATH, HOME and the like; may be repeated")
	fl.StringArrayVar(&f.mcpHTTP, "mcp-http", nil, "URL of an MCP server that speaks streamable HTTP; may be repeated")
	fl.StringVar(&f.docs, "docs", "", "folder of text files to answer from, without an MCP server of its own")
	fl.StringVar(&f.spaceTools, "space-tools", "auto", "auto: use the tools that other participants of the space offer, too; off: only those of one's own servers")
	fl.StringVar(&f.answer, "answer", string(agent.Auto), "which chats to answer: addressed, mentioned (also @name), any (also what people say to all), auto (any, unless other agents are there)")
	fl.StringVar(&f.catchUp, "catch-up", string(agent.CatchUpAuto), "what was asked while the agent was away: auto answers it if it is not older than an hour and the agent had been there before, all answers everything that has no answer, off nothing")
	fl.IntVar(&f.maxSteps, "max-steps", 8, "steps with tools for one question")
	fl.IntVar(&f.maxHops, "max-hops", 4, "answers of agents that may follow from one another")
	fl.DurationVar(&f.toolTimeout, "tool-timeout", 30*time.Second, "for one call of a tool")
	fl.DurationVar(&f.proposalTimeout, "proposal-timeout", 5*time.Minute, "until a proposal that nobody decides on expires; 0: do not propose what is not allowed")
	fl.DurationVar(&f.connectTimeout, "connect-timeout", 30*time.Second, "how long to try to reach the gateway at first")
	f.think.register(fl)
	fl.StringVar(&f.metricsListen, "metrics-listen", "", "address that serves /metrics; empty: none")
	fl.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	fl.StringVar(&f.logFormat, "log-format", "text", "text or json")
}

// check validates the flags before anything is started.
func (f *runFlags) check() error {
	switch {
	case f.gateway == "":
		return program.Usagef("--gateway is missing: where is the space?")
	case f.maxSteps < 1:
		return program.Usagef("--max-steps %d: at least 1", f.maxSteps)
	case f.maxHops < 1:
		return program.Usagef("--max-hops %d: at least 1", f.maxHops)
	case f.toolTimeout <= 0 || f.connectTimeout <= 0 || f.proposalTimeout < 0:
		return program.Usagef("--tool-timeout and --connect-timeout are longer than nothing, --proposal-timeout is not negative")
	case f.spaceTools != "auto" && f.spaceTools != "off":
		return program.Usagef("--space-tools %q: expected auto or off", f.spaceTools)
	}
	u, err := url.Parse(f.gateway)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return program.Usagef("--gateway %q: expected ws://host/ws or wss://host/ws", f.gateway)
	}
	if f.space == "" && u.Query().Get("space") == "" {
		return program.Usagef("--space is missing")
	}
	if _, err := agent.ParseMode(f.answer); err != nil {
		return program.Usagef("--answer: %w", err)
	}
	if _, err := agent.ParseCatchUp(f.catchUp); err != nil {
		return program.Usagef("--catch-up: %w", err)
	}
	return f.think.check()
}

// token reads the token. There is no flag for it, since all users of the
// machine can see the flags of a process.
func (f *runFlags) token() (string, error) {
	if f.tokenFile != "" {
		raw, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return "", fmt.Errorf("read token: %w", err)
		}
		if t := strings.TrimSpace(string(raw)); t != "" {
			return t, nil
		}
		return "", fmt.Errorf("read token: %s is empty", f.tokenFile)
	}
	if t := strings.TrimSpace(os.Getenv(f.tokenEnv)); t != "" {
		return t, nil
	}
	return "", program.Usagef("no token: set the environment variable %s, or name another one with --token-env, or use --token-file", f.tokenEnv)
}

// servers returns the MCP servers that the flags name. Their commands get the
// variables of mcptools.Environment and of --mcp-env.
func (f *runFlags) servers() ([]mcptools.Server, error) {
	env := mcptools.Environment(f.mcpEnv...)
	var list []mcptools.Server
	for _, line := range f.mcp {
		words, err := splitWords(line)
		if err != nil || len(words) == 0 {
			return nil, program.Usagef("--mcp %q: %w", line, errors.Join(err, emptyCommand(words)))
		}
		list = append(list, mcptools.Server{Command: words, Env: env})
	}
	for _, address := range f.mcpHTTP {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, program.Usagef("--mcp-http %q: expected http://… or https://…", address)
		}
		list = append(list, mcptools.Server{URL: address})
	}
	if f.docs != "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find own program: %w", err)
		}
		list = append(list, mcptools.Server{Name: "docs", Command: []string{self, "docserver", f.docs}, Env: env})
	}
	return list, nil
}

func emptyCommand(words []string) error {
	if len(words) == 0 {
		return errors.New("expected a command")
	}
	return nil
}

func (f *runFlags) logger() (*slog.Logger, error) {
	level, err := program.ParseLevel(f.logLevel)
	if err != nil {
		return nil, err
	}
	return program.NewLogger(os.Stderr, level, f.logFormat)
}
