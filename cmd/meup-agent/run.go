package main

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/mcp/toolserver"
	"github.com/meup-protocol/meup/protocol"
)

func newRun() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run --gateway URL --space NAME",
		Short: "Join a space and answer questions",
		Long: `run joins a space and answers the questions that are asked there, until it
receives SIGTERM, SIGINT or participant.shutdown. It then closes its open
contexts with reasoning.cancel.

The token comes from the environment variable MEUP_TOKEN, from another one that
--token-env names, or from the file --token-file. The agent uses the capabilities
chat, reasoning/*, mcp.request, mcp.response, mcp.proposal, mcp.withdraw,
stream/*, participant.status and participant.compact-done; it logs a warning for
each that is missing. A tool call that they do not allow becomes an
mcp.proposal, and the agent waits until another participant makes the call or
rejects it.

Without --model, --reasoner and a key in the environment (OPENAI_API_KEY,
ANTHROPIC_API_KEY, OPENROUTER_API_KEY, DEEPSEEK_API_KEY, MEUP_MODEL_KEY) the
agent decides by rules, which use tools that list, search and read. Without
--model and --reasoner, REASONING_TRANSPORT (http or nats) or REASONING_API_URL
selects a Reasoning API.

The agent restores a lost connection and resumes at its position. It exports
traces by OTLP if OTEL_EXPORTER_OTLP_ENDPOINT is set.`,
		Example: `  export MEUP_TOKEN=...
  meup-agent run --gateway http://localhost:8080 --space lab --docs ./docs
  meup-agent run --gateway https://example.org --space lab --answer mentioned --name helper \
    --mcp 'npx -y @modelcontextprotocol/server-filesystem /srv/docs' \
    --mcp-http http://localhost:9000/mcp --model ollama:qwen3
  meup-agent run --gateway http://localhost:8080 --space lab --docs ./docs \
    --reasoner nats://localhost:4222`,
		Args: program.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.config != "" {
				if err := applyConfig(c.Flags(), f.config); err != nil {
					return program.Usage(err)
				}
			}
			return runAgent(c.Context(), &f)
		},
	}
	f.register(c.Flags())
	return c
}

// runAgent starts the tools, joins, and answers until ctx ends. The tools start
// first: a member may receive questions immediately.
func runAgent(ctx context.Context, f *runFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.start(ctx, func(token string, servers []mcptools.Server, log *slog.Logger) error {
		docs, err := f.docServers()
		if err != nil {
			return err
		}
		servers = append(servers, docs...)
		instructions, err := f.think.text()
		if err != nil {
			return err
		}
		tel, stop, err := f.observe(ctx, token, log)
		if err != nil {
			return err
		}
		defer stop()
		thinker, err := f.think.open(tel, log)
		if err != nil {
			return err
		}
		defer func() { _ = thinker.Close() }()
		history, err := openHistory(f.gateway, token)
		if err != nil {
			return err
		}
		defer history.Close()
		var answering atomic.Pointer[agent.Agent]
		if f.memory {
			memory := toolserver.NewMemory(toolserver.MemoryOptions{Memory: history, Space: f.space, Version: program.Version(version), Before: func() protocol.Seq {
				return answering.Load().OldestQuestion() // tools are called by the agent only
			}})
			servers = append(servers, mcptools.Server{Name: "memory", InProcess: memory})
		}
		tools, err := mcptools.Start(ctx, servers, mcptools.Options{CallTimeout: f.toolTimeout, MaxCallTimeout: f.toolMaxTimeout, Version: program.Version(version), Logger: log})
		if err != nil {
			return err
		}
		defer func() { _ = tools.Close() }()
		c, err := f.dial(ctx, token, log, client.Options{})
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		participant.WarnMissing(log, c.Welcome().You.Capabilities, agentNeeds...)
		if f.proposalTimeout > 0 {
			participant.WarnMissing(log, c.Welcome().You.Capabilities, proposalNeeds...)
		}
		delegateTimeout := f.delegateTimeout
		if delegateTimeout == 0 {
			delegateTimeout = -1 // no agent is asked
		}
		a := agent.New(agent.Options{
			Space: c, Tools: tools, Planner: thinker, Approach: thinker.Approach, Instructions: instructions,
			Name: f.name, Answer: intake.Mode(f.answer), CatchUp: intake.CatchUp(f.catchUp), History: history,
			ShowThinking: f.think.showThinking, OwnToolsOnly: f.spaceTools == "off",
			NoProposals: f.proposalTimeout == 0, ProposalTimeout: f.proposalTimeout, ToolTimeout: f.toolTimeout, MaxToolTimeout: f.toolMaxTimeout,
			DelegateTimeout: delegateTimeout,
			ContextTokens:   f.think.contextTokens, Prices: f.think.prices, Currency: f.think.currency, MaxSteps: f.maxSteps, MaxHops: f.maxHops, Telemetry: tel, Logger: log,
		})
		answering.Store(a)
		return a.Run(ctx)
	})
}

// openHistory returns a client of the gateway's HTTP API, which has the same
// host as its socket.
func openHistory(socket, token string) (*api.Client, error) {
	u, err := client.HTTPURL(socket)
	if err != nil {
		return nil, err
	}
	return api.New(api.Options{URL: u.String(), Token: token})
}

// agentNeeds are the needs of the agent in addition to the needs of any program that answers questions.
var agentNeeds = append([]participant.Need{
	{Capability: "mcp.request", Kinds: []protocol.Kind{protocol.KindMCPRequest}, Without: "no tool can be called"},
	{Capability: "stream/*", Kinds: []protocol.Kind{protocol.KindStreamOpen, protocol.KindStreamData, protocol.KindStreamClose}, Without: "thoughts are not sent while they grow"},
	{Capability: "participant.compact-done", Kinds: []protocol.Kind{protocol.KindParticipantCompactDone}, Without: "requests to compact are not answered"},
}, participant.QuestionNeeds...)

// proposalNeeds are the needs of an agent that proposes calls.
var proposalNeeds = []participant.Need{
	{Capability: "mcp.proposal", Kinds: []protocol.Kind{protocol.KindMCPProposal}, Without: "calls that it may not make are given up instead of proposed"},
	{Capability: "mcp.withdraw", Kinds: []protocol.Kind{protocol.KindMCPWithdraw}, Without: "proposals stay open after it has given up"},
}
