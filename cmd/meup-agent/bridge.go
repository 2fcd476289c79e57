package main

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/bridge"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/program"
	"github.com/meup-protocol/meup/protocol"
)

// bridgeFlags are the flags of bridge. Flags with the same name
// as one of run have the same meaning.
type bridgeFlags struct {
	gateway, space      string
	tokenEnv, tokenFile string
	mcp, mcpHTTP        []string
	mcpEnv              []string
	toolTimeout         time.Duration
	connectTimeout      time.Duration
	logLevel, logFormat string
}

func newBridge() *cobra.Command {
	var f bridgeFlags
	c := &cobra.Command{
		Use:   "bridge --gateway URL --space NAME (--mcp COMMAND | --mcp-http URL)",
		Short: "Puts an MCP server into a space",
		Long: `bridge joins a space as a participant that answers the MCP requests of others
with what an MCP server says: its tools, resources, prompts and completions. A
request is the bridge's when it is addressed to it. Who may ask for what is
decided by the capabilities of those who ask.

It goes on until it is told to end: by SIGTERM or SIGINT, or by
participant.shutdown. A server that dies is started again; whoever waits for it
then is told so. A lost connection is opened again and goes on where it was.

The token comes from the environment variable MEUP_TOKEN, from another one that
--token-env names, or from the file --token-file. The bridge's capabilities must
allow it mcp.response, mcp.request for what the server says unasked, and
participant.status.`,
		Example: `  export MEUP_TOKEN=...
  meup-agent bridge --gateway ws://localhost:8080/ws --space lab \
    --mcp 'npx -y @modelcontextprotocol/server-filesystem /srv/docs'
  meup-agent bridge --gateway wss://example.org/ws --space lab --mcp-http http://localhost:9000/mcp`,
		Args: program.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runBridge(c.Context(), &f) },
	}
	f.register(c.Flags())
	return c
}

func (f *bridgeFlags) register(fl *pflag.FlagSet) {
	fl.StringVar(&f.gateway, "gateway", os.Getenv("MEUP_GATEWAY"), "the gateway's socket, ws://host/ws or wss://host/ws (default $MEUP_GATEWAY)")
	fl.StringVar(&f.space, "space", os.Getenv("MEUP_SPACE"), "the space to join (default $MEUP_SPACE)")
	fl.StringVar(&f.tokenEnv, "token-env", "MEUP_TOKEN", "environment variable that holds the token")
	fl.StringVar(&f.tokenFile, "token-file", "", "file that holds the token; wins over --token-env")
	fl.StringArrayVar(&f.mcp, "mcp", nil, "command of the MCP server, with its arguments")
	fl.StringArrayVar(&f.mcpEnv, "mcp-env", nil, "environment variable that the command of --mcp gets besides PATH, HOME and the like; may be repeated")
	fl.StringArrayVar(&f.mcpHTTP, "mcp-http", nil, "URL of the MCP server, if it speaks streamable HTTP")
	fl.DurationVar(&f.toolTimeout, "tool-timeout", 30*time.Second, "for one request to the server")
	fl.DurationVar(&f.connectTimeout, "connect-timeout", 30*time.Second, "how long to try to reach the gateway at first")
	fl.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	fl.StringVar(&f.logFormat, "log-format", "text", "text or json")
}

// check validates the flags before anything is started.
func (f *bridgeFlags) check() error {
	switch {
	case f.gateway == "":
		return program.Usagef("--gateway is missing: where is the space?")
	case f.toolTimeout <= 0 || f.connectTimeout <= 0:
		return program.Usagef("--tool-timeout and --connect-timeout are longer than nothing")
	case len(f.mcp)+len(f.mcpHTTP) == 0:
		return program.Usagef("--mcp or --mcp-http is missing: which server?")
	case len(f.mcp)+len(f.mcpHTTP) > 1:
		return program.Usagef("one bridge is for one server: start another bridge for the other")
	}
	u, err := url.Parse(f.gateway)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return program.Usagef("--gateway %q: expected ws://host/ws or wss://host/ws", f.gateway)
	}
	if f.space == "" && u.Query().Get("space") == "" {
		return program.Usagef("--space is missing")
	}
	return nil
}

// asRunFlags converts the flags that bridge and run have in common.
func (f *bridgeFlags) asRunFlags() *runFlags {
	return &runFlags{
		tokenEnv: f.tokenEnv, tokenFile: f.tokenFile, mcp: f.mcp, mcpHTTP: f.mcpHTTP, mcpEnv: f.mcpEnv,
		logLevel: f.logLevel, logFormat: f.logFormat,
	}
}

func runBridge(ctx context.Context, f *bridgeFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	shared := f.asRunFlags()
	log, err := shared.logger()
	if err != nil {
		return err
	}
	token, err := shared.token()
	if err != nil {
		return err
	}
	servers, err := shared.servers()
	if err != nil {
		return err
	}
	err = serveBridge(ctx, f, token, servers, log)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // terminated while starting
	}
	return err
}

// serveBridge starts the server, joins, and answers until ctx ends. The server
// starts first: a member may receive requests immediately.
func serveBridge(ctx context.Context, f *bridgeFlags, token string, servers []mcptools.Server, log *slog.Logger) error {
	notices := bridge.NewNotices()
	set, err := mcptools.Start(ctx, servers, mcptools.Options{
		CallTimeout: f.toolTimeout, Version: program.Version(version), Logger: log,
		OnNotice: notices.Put, OnRestart: notices.Restarted,
	})
	if err != nil {
		return err
	}
	defer func() { _ = set.Close() }()
	c, err := dialBridge(ctx, f, token, log)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	warnMissing(log, c.Welcome().You.Capabilities, bridgeNeeds...)
	return bridge.New(bridge.Options{Space: c, Server: set, Notices: notices, Version: program.Version(version), Logger: log}).Run(ctx)
}

// dialBridge joins the space. It waits for a gateway that is not reachable yet.
func dialBridge(parent context.Context, f *bridgeFlags, token string, log *slog.Logger) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(parent, f.connectTimeout)
	defer cancel()
	c, err := client.Dial(ctx, client.Options{
		URL: f.gateway, Space: f.space, Token: token, Logger: log, RetryDial: true, NoEcho: true, ServesTools: true,
		// The bridge needs no conversation. Requests to it, and envelopes that
		// refer to them, pass every filter.
		Filter:  protocol.Filter{Kinds: []string{"participant.*"}},
		Backoff: client.Backoff{Min: 250 * time.Millisecond, Max: 5 * time.Second},
	})
	return c, joinError(parent, ctx, f.connectTimeout, err)
}
