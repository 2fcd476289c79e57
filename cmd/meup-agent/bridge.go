package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/bridge"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/participant"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/protocol"
)

func newBridge() *cobra.Command {
	var f bridgeFlags
	c := &cobra.Command{
		Use:   "bridge --gateway URL --space NAME (--mcp COMMAND | --mcp-http URL)",
		Short: "Connect an MCP server to a space",
		Long: `bridge joins a space as a participant that answers MCP requests with the results
of an MCP server: tools, resources, prompts and completions. It answers the
requests that are addressed to it. The capabilities of the other participants
decide which requests they may send.

It runs until it receives SIGTERM, SIGINT or participant.shutdown. It restarts a
server that ends, and answers the requests in progress with an error. It restores
a lost connection and resumes at its position. When it starts, it answers the
requests that were sent while it was not running (--answer-missed).

It records the name, the description and the input schema of each tool when it
first sees it, and holds back a tool that has changed until another participant
accepts it (--no-pin-tools turns that off).

A server may ask for input during a call (elicitation). The participant that made
the call is asked, and has five minutes to answer (--elicitation-timeout).

The token comes from the environment variable MEUP_TOKEN, from another one that
--token-env names, or from the file --token-file. The bridge needs the
capabilities mcp.response, mcp.request for notifications and questions of the server, and
participant.status; to record tools, mcp.proposal and
{kind: capability.grant, payload: {recipient: ITS-OWN-NAME}}.`,
		Example: `  export MEUP_TOKEN=...
  meup-agent bridge --gateway http://localhost:8080 --space lab \
    --mcp 'npx -y @modelcontextprotocol/server-filesystem /srv/docs'
  meup-agent bridge --gateway https://example.org --space lab --mcp-http http://localhost:9000/mcp`,
		Args: program.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runBridge(c.Context(), &f) },
	}
	f.register(c.Flags())
	return c
}

// bridgeFlags are the flags of bridge.
type bridgeFlags struct {
	memberFlags
	answerMissed     time.Duration
	pinTools, noPins bool
	answerTimeout    time.Duration
}

func (f *bridgeFlags) register(fl *pflag.FlagSet) {
	f.memberFlags.register(fl)
	fl.DurationVar(&f.answerMissed, "answer-missed", time.Minute, "answer requests that were sent before the start and have no response, up to this age; 0: none")
	fl.DurationVar(&f.answerTimeout, "elicitation-timeout", 5*time.Minute, "time that a participant has to answer a question of the server during its call; 0: the server is told that it may ask none")
	fl.BoolVar(&f.pinTools, "pin-tools", false, "hold back changed tools, also if the participant has no right to record tools (default: if it has)")
	fl.BoolVar(&f.noPins, "no-pin-tools", false, "offer changed tools at once")
}

// check validates the flags before anything is started.
func (f *bridgeFlags) check() error {
	if err := f.memberFlags.check(); err != nil {
		return err
	}
	n := len(f.mcp) + len(f.mcpHTTP)
	switch {
	case f.answerMissed < 0:
		return program.Usagef("--answer-missed must not be negative")
	case f.answerTimeout < 0:
		return program.Usagef("--elicitation-timeout must not be negative")
	case f.pinTools && f.noPins:
		return program.Usagef("use either --pin-tools or --no-pin-tools, not both")
	case n == 0:
		return program.Usagef("--mcp or --mcp-http is missing")
	case n > 1:
		return program.Usagef("one bridge is for one server: start another bridge for the other server")
	}
	return nil
}

// runBridge starts the server, joins, and answers until ctx ends. The server
// starts first: a member may receive requests immediately.
func runBridge(ctx context.Context, f *bridgeFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	return f.start(ctx, func(token string, servers []mcptools.Server, log *slog.Logger) error {
		notices := bridge.NewNotices()
		options := mcptools.Options{
			CallTimeout: f.toolTimeout, MaxCallTimeout: f.toolMaxTimeout, Version: program.Version(version), Logger: log,
			OnNotice: notices.Put, OnRestart: notices.Restarted,
		}
		if f.answerTimeout > 0 {
			options.OnElicit = bridge.Elicit
		}
		set, err := mcptools.Start(ctx, servers, options)
		if err != nil {
			return err
		}
		defer func() { _ = set.Close() }()
		c, err := f.dial(ctx, token, log, client.Options{
			NoEcho: true, ServesTools: true,
			// The bridge needs no conversation. Requests to it, and envelopes that
			// refer to them, pass every filter.
			Filter: protocol.Filter{Kinds: []string{"participant.*"}},
		})
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		participant.WarnMissing(log, c.Welcome().You.Capabilities, participant.HostNeeds...)
		history, err := openHistory(f.gateway, token)
		if err != nil {
			return err
		}
		defer history.Close()
		var pins *bridge.Pins
		switch held := c.Welcome().You.Capabilities; {
		case f.noPins:
		case f.pinTools || participant.MayAllow(held, protocol.KindCapabilityGrant):
			pins = bridge.NewPins(bridge.PinOptions{Space: c, History: history, Required: f.pinTools, Logger: log})
			participant.WarnMissing(log, held, pinNeeds...)
		default:
			log.Info("tools are not pinned: changed ones are offered at once; the capabilities mcp.proposal and capability.grant to itself pin them")
		}
		return bridge.New(bridge.Options{
			Space: c, Server: set, Notices: notices, Pins: pins, Missed: f.answerMissed, AnswerTimeout: f.answerTimeout, History: history, Version: program.Version(version), Logger: log,
		}).Run(ctx)
	})
}

// pinNeeds are the needs of a bridge that pins tools.
var pinNeeds = []participant.Need{
	{Capability: "capability.grant to itself", Kinds: []protocol.Kind{protocol.KindCapabilityGrant}, Without: "tools are not pinned: a server can change them unseen"},
	{Capability: "mcp.proposal", Kinds: []protocol.Kind{protocol.KindMCPProposal}, Without: "changed tools stay held back until a participant sends tools/accept"},
}
