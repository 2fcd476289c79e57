package main

import (
	"context"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/acp"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/kit/program"
)

// acpFlags are the flags of acp.
type acpFlags struct {
	memberFlags
	answerFlags
	command, dir, mode         string
	env                        []string
	spaceTools                 string
	questions, sessions        int
	proposalTimeout, grantTime time.Duration
	idleTimeout, startTimeout  time.Duration
	maxCost                    float64
	maxTokens                  int64

	words []string // of command
}

func newACP() *cobra.Command {
	var f acpFlags
	c := &cobra.Command{
		Use:   "acp --cmd COMMAND --gateway URL --space NAME",
		Short: "Let an agent that speaks the Agent Client Protocol take part in a space",
		Long: `acp starts an agent that speaks the Agent Client Protocol (ACP), such as Claude
Code, Codex, Gemini CLI, opencode, Qwen Code or Copilot CLI, and answers the
questions of a space with it. The agent's thinking, its calls and its plan are
published while it works. Where it asks its user for permission, the other
participants of the space decide.

The agent works in the folder --dir, with its own tools and settings. It gets the
tools of the space too, unless --space-tools is off. Of the environment it gets
PATH, HOME and similar variables, and the ones that --env names.

The participant uses the capabilities chat, reasoning/*, mcp.request, mcp.response,
mcp.proposal, mcp.withdraw, stream/*, participant.status and participant.compact-done;
acp logs a warning for each that is missing. A request for permission is allowed at once
only by a capability for mcp.request that has the participant's own id in to.`,
		Example: `  export MEUP_TOKEN=...
  meup-agent acp --cmd 'npx -y @agentclientprotocol/claude-agent-acp' \
    --gateway ws://localhost:8080/ws --space lab --dir ~/project
  meup-agent acp --cmd 'gemini --acp' --env GEMINI_API_KEY --max-tokens 200000 \
    --gateway ws://localhost:8080/ws --space lab`,
		Args: program.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runACP(c.Context(), &f) },
	}
	f.register(c.Flags())
	return c
}

func (f *acpFlags) register(fl *pflag.FlagSet) {
	f.memberFlags.register(fl)
	f.answerFlags.register(fl)
	fl.StringVar(&f.command, "cmd", "", "command of the agent, with its arguments")
	fl.StringVar(&f.dir, "dir", ".", "folder in which the agent works")
	fl.StringArrayVar(&f.env, "env", nil, "environment variable to pass to the agent; * at the end matches any; may be repeated")
	fl.StringVar(&f.mode, "mode", "", "mode of the agent's sessions, by the agent's own name for it, such as default or plan; empty: the agent's choice, which may ask for no permission")
	fl.StringVar(&f.spaceTools, "space-tools", "auto", "auto: the agent gets the tools of the space, by the gateway's /mcp; off: it does not")
	fl.IntVar(&f.questions, "max-questions", 4, "maximum of questions that are answered at the same time")
	fl.IntVar(&f.sessions, "max-sessions", 32, "maximum of sessions of the agent that are kept open, one for each thread")
	fl.DurationVar(&f.proposalTimeout, "proposal-timeout", 5*time.Minute, "time until a request for permission without a decision expires")
	fl.DurationVar(&f.grantTime, "grant-time", time.Hour, "duration of the grant that a proposal suggests, if the agent offers a lasting permission")
	fl.DurationVar(&f.idleTimeout, "idle-timeout", 30*time.Minute, "time after which an agent that sends nothing is canceled")
	fl.DurationVar(&f.startTimeout, "start-timeout", 2*time.Minute, "timeout of the agent's start, which may download it, and of the start of a session")
	fl.Float64Var(&f.maxCost, "max-cost", 0, "maximum cost of a question, in the currency that the agent reports; 0: any")
	fl.Int64Var(&f.maxTokens, "max-tokens", 0, "maximum number of tokens of a question, as far as the agent reports them; 0: any")
}

// check validates the flags before anything is started.
func (f *acpFlags) check() error {
	if err := f.memberFlags.check(); err != nil {
		return err
	}
	words, err := splitWords(f.command)
	switch {
	case err != nil:
		return program.Usagef("--cmd %q: %w", f.command, err)
	case len(words) == 0:
		return program.Usagef("--cmd is missing: the command of an agent that speaks ACP")
	case f.spaceTools != "auto" && f.spaceTools != "off":
		return program.Usagef("--space-tools %q: expected auto or off", f.spaceTools)
	case f.questions < 1:
		return program.Usagef("--max-questions %d: at least 1", f.questions)
	case f.sessions < 1:
		return program.Usagef("--max-sessions %d: at least 1", f.sessions)
	case f.proposalTimeout <= 0:
		return program.Usagef("--proposal-timeout must be positive")
	case f.grantTime < time.Second:
		return program.Usagef("--grant-time must be at least 1s")
	case f.idleTimeout <= 0:
		return program.Usagef("--idle-timeout must be positive")
	case f.startTimeout <= 0:
		return program.Usagef("--start-timeout must be positive")
	case f.maxCost < 0:
		return program.Usagef("--max-cost must not be negative")
	case f.maxTokens < 0:
		return program.Usagef("--max-tokens must not be negative")
	}
	f.words = words
	if err := f.answerFlags.check(); err != nil {
		return err
	}
	f.dir, err = filepath.Abs(f.dir)
	if err != nil {
		return program.Usagef("--dir: %w", err)
	}
	if !isFolder(f.dir) {
		return program.Usagef("--dir %s: expected a folder", f.dir)
	}
	return nil
}

// runACP starts the agent, joins, and answers until ctx ends. The agent starts first: a
// member may receive questions immediately.
func runACP(ctx context.Context, f *acpFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.start(ctx, func(token string, servers []mcptools.Server, log *slog.Logger) error {
		own := serversOf(servers)
		o := acp.Options{
			Command: f.words, Dir: f.dir, Env: mcptools.Environment(f.env...), Mode: f.mode, MCPServers: own, ProposalTimeout: f.proposalTimeout,
			IdleTimeout: f.idleTimeout, StartTimeout: f.startTimeout, GrantTime: f.grantTime, MaxCost: f.maxCost, MaxTokens: f.maxTokens,
			MaxSessions: f.sessions, Version: program.Version(version), Log: log,
		}
		history, err := openHistory(f.gateway, token)
		if err != nil {
			return err
		}
		defer history.Close()
		if f.spaceTools == "auto" {
			overHTTP, overStdio, err := f.spaceServer(token)
			if err != nil {
				return err
			}
			o.HTTPServers = slices.Concat(own, []any{overHTTP})
			if overStdio == nil {
				log.Info("the program meup is not installed: an agent that does not support MCP over HTTP gets no tools of the space")
			} else {
				o.MCPServers = slices.Concat(own, []any{overStdio})
			}
		}
		solver, err := acp.Start(ctx, o)
		if err != nil {
			return err
		}
		defer solver.Close()
		c, err := f.dial(ctx, token, log, client.Options{})
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		participant.WarnMissing(log, c.Welcome().You.Capabilities, append(agentNeeds[:len(agentNeeds):len(agentNeeds)], proposalNeeds...)...)
		log.Info("agent program started", "name", solver.Name(), "dir", f.dir)
		return agent.New(agent.Options{
			Space: c, Solver: solver, Approach: strings.TrimSpace("acp " + solver.Name()), Name: f.name, Answer: intake.Mode(f.answer),
			CatchUp: intake.CatchUp(f.catchUp), History: history, ShowThinking: true, OwnToolsOnly: true, MaxQuestions: f.questions,
			MaxHops: f.maxHops, Logger: log,
		}).Run(ctx)
	})
}

// variable is an environment variable or a header in session/new.
type variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// serversOf returns the MCP servers of --mcp and --mcp-http in the form of session/new.
func serversOf(servers []mcptools.Server) []any {
	list := []any{}
	for _, s := range servers {
		if s.URL != "" {
			list = append(list, map[string]any{"type": "http", "name": "http", "url": s.URL, "headers": []variable{}})
			continue
		}
		var env []variable
		for _, v := range s.Env {
			name, value, _ := strings.Cut(v, "=")
			env = append(env, variable{name, value})
		}
		name := strings.TrimSuffix(filepath.Base(s.Command[0]), ".exe")
		list = append(list, map[string]any{"name": name, "command": s.Command[0], "args": append([]string{}, s.Command[1:]...), "env": env})
	}
	return list
}

// spaceServer returns the gateway's /mcp in the form of session/new, over HTTP and by
// meup mcp; overStdio is nil if that program is not installed.
func (f *acpFlags) spaceServer(token string) (overHTTP, overStdio any, err error) {
	gateway, err := client.HTTPURL(f.gateway)
	if err != nil {
		return nil, nil, err
	}
	space := f.space
	if space == "" {
		space = gateway.Query().Get("space")
	}
	gateway.RawQuery = ""
	at := gateway.JoinPath("mcp")
	at.RawQuery = url.Values{"space": {space}}.Encode()
	overHTTP = map[string]any{
		"type": "http", "name": "meup", "url": at.String(), "headers": []variable{{"Authorization", "Bearer " + token}},
	}
	if path, err := findMeup(); err == nil {
		overStdio = map[string]any{
			"name": "meup", "command": path, "args": []string{"mcp", "--gateway", gateway.String(), "--space", space},
			"env": []variable{{"MEUP_TOKEN", token}},
		}
	}
	return overHTTP, overStdio, nil
}

// findMeup returns the path of the program meup: beside this one, or in PATH.
func findMeup() (string, error) {
	name := "meup"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	self, err := os.Executable()
	if err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		about, err := os.Stat(beside)
		if err == nil && about.Mode().IsRegular() {
			return beside, nil
		}
	}
	return exec.LookPath(name)
}

func isFolder(path string) bool {
	about, err := os.Stat(path)
	return err == nil && about.IsDir()
}
