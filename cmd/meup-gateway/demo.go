package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/auth"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/program"
)

type demoFlags struct {
	listen  string
	docs    string
	ask     string
	mcp     string
	model   string
	baseURL string
	level   string
	timeout time.Duration
}

func newDemo() *cobra.Command {
	var f demoFlags
	c := &cobra.Command{
		Use:   "demo",
		Short: "Runs a demo space with an agent; needs no configuration",
		Long: `demo starts a temporary space with two participants: you, with all capabilities,
and the agent guide, which reads a folder of documents through an MCP server. It
prints the gateway's address and commands to try, and runs until Ctrl-C.

The agent decides by rules. With --model it uses a language model, whose key is
read from the environment (meup-agent run --help lists the variables).

With --ask it sends one question to the agent, prints the envelopes as they
arrive, and exits with 0 after the answer.

The MCP server is @modelcontextprotocol/server-filesystem, run with npx. Without
Node, a server written in Go is used.`,
		Example: "  meup-gateway demo\n  meup-gateway demo --ask 'what is in the docs folder?'",
		Args:    exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			return demo(c.Context(), f, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8080", "address to listen on; a free port is used if it is in use")
	fl.StringVar(&f.docs, "docs", "", "folder that the agent reads (default: ./docs, or a sample)")
	fl.StringVar(&f.ask, "ask", "", "send this question, print the envelopes, and exit")
	fl.StringVar(&f.mcp, "mcp", "auto", "auto, npm or go: which MCP server reads the folder")
	fl.StringVar(&f.model, "model", "rules", "how the agent decides: rules, or PROVIDER:NAME of a language model, such as ollama:qwen3")
	fl.StringVar(&f.baseURL, "base-url", "", "URL of the model's API (default: the provider's)")
	fl.StringVar(&f.level, "log-level", "warn", "debug, info, warn or error")
	fl.DurationVar(&f.timeout, "timeout", 2*time.Minute, "timeout for the answer to --ask")
	return c
}

// demoEnv is the environment of a demo.
type demoEnv struct {
	flags   demoFlags
	out     io.Writer
	log     *slog.Logger
	dir     string // removed at the end
	docs    string
	tokens  map[string]string // by the variable that the configuration names
	address string
	link    func() string // signs one browser in as you; nil: there is no page
}

func demo(ctx context.Context, f demoFlags, out, errOut io.Writer) error {
	checked := config.Default()
	if err := errors.Join(checked.Set("log-level", f.level), checked.Set("listen", f.listen)); err != nil {
		return &usageError{err}
	}
	dir, err := os.MkdirTemp("", "meup-demo-")
	if err != nil {
		return fmt.Errorf("create a folder for the demo: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary anyway
	s := &demoEnv{flags: f, out: out, dir: dir, log: program.TextLogger(errOut, checked.Log.Level)}
	s.tokens = make(map[string]string)
	for _, name := range []string{"DEMO_YOU", "DEMO_GUIDE", "DEMO_HELPER"} {
		s.tokens[name], _ = auth.NewToken()
	}
	if s.docs, err = s.findDocs(); err != nil {
		return err
	}
	stop, err := s.startGateway(ctx)
	if err != nil {
		return err
	}
	return errors.Join(s.run(ctx), stop())
}

// run connects the agent and runs the demo.
func (s *demoEnv) run(ctx context.Context) error {
	thinker, err := planner.Open(planner.Options{
		Rules: rules.Rules{}, ModelName: s.flags.model, BaseURL: s.flags.baseURL, Getenv: os.Getenv,
		ModelOptions: planner.ModelOptions{Logger: s.log},
	})
	if err != nil {
		return &usageError{err}
	}
	defer thinker.Close() //nolint:errcheck // the demo is over
	tools, err := s.startTools(ctx)
	if err != nil {
		return err
	}
	defer tools.Close() //nolint:errcheck // the demo is over
	guide, err := s.dial(ctx, "DEMO_GUIDE", client.Position{})
	if err != nil {
		return fmt.Errorf("connect the agent: %w", err)
	}
	defer guide.Close() //nolint:errcheck // the demo is over
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { // ends with ctx; waited for below
		ended <- agent.New(agent.Options{
			Space: guide, Tools: tools, Planner: thinker, Approach: thinker.Approach, Logger: s.log,
		}).Run(ctx)
	}()
	if s.flags.ask != "" {
		err = s.askOnce(ctx)
	} else {
		s.printInstructions()
		select {
		case <-ctx.Done():
		case err = <-ended:
			ended <- nil
		}
	}
	cancel()
	return errors.Join(err, <-ended)
}

func (s *demoEnv) dial(ctx context.Context, token string, since client.Position) (*client.Client, error) {
	return client.Dial(ctx, client.Options{
		URL: "ws://" + s.address + "/ws", Space: "demo", Token: s.tokens[token], Since: since, Logger: s.log,
	})
}

const demoConfig = `
spaces:
  demo:
    participants:
      you: {token_env: DEMO_YOU, capabilities: ["*"]}
      helper: {token_env: DEMO_HELPER, capabilities: [chat, reasoning/*, stream/*, "mcp/*", participant.status, participant.compact-done]}
      guide:
        token_env: DEMO_GUIDE
        capabilities:
          - chat
          - reasoning/*
          - stream/*
          - mcp.response
          - mcp.proposal
          - mcp.withdraw
          - participant.status
          - participant.compact-done
          - kind: mcp.request
            payload: {method: tools/call, params: {name: ["list_*", "read_*", "search_*", "get_file_info", "directory_tree"]}}
`

func (s *demoEnv) startGateway(ctx context.Context) (stop func() error, err error) {
	cfg, faults := config.Parse("demo", []byte(demoConfig), func(name string) (string, bool) {
		t, ok := s.tokens[name]
		return t, ok
	}, os.ReadFile)
	if cfg == nil {
		return nil, fmt.Errorf("the demo's configuration: %v", faults)
	}
	cfg.Data = filepath.Join(s.dir, "data")
	g, err := gateway.New(ctx, gateway.Options{Config: cfg, Logger: s.log, Version: buildVersion()})
	if err != nil {
		return nil, err
	}
	l, err := s.listen(ctx)
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	s.address = l.Addr().String()
	if g.HasPage() {
		s.link = func() string { return "http://" + s.address + "/#code=" + g.NewLoginCode(s.tokens["DEMO_YOU"]) }
	}
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }() // ends with the drain below
	if <-g.Opened(); g.Err() != nil {
		return nil, errors.Join(g.Err(), g.Close())
	}
	return func() error {
		drainCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.DrainTimeout)
		defer cancel()
		return errors.Join(g.Drain(drainCtx), <-served)
	}, nil
}

// listen listens on the requested address, or on a free port if it is in use.
func (s *demoEnv) listen(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", s.flags.listen)
	if err == nil {
		return l, nil
	}
	host, _, _ := net.SplitHostPort(s.flags.listen)
	if l, freeErr := lc.Listen(ctx, "tcp", net.JoinHostPort(host, "0")); freeErr == nil {
		return l, nil
	}
	return nil, fmt.Errorf("listen on %s: %w", s.flags.listen, err)
}

func (s *demoEnv) printInstructions() {
	fmt.Fprintf(s.out, `
The gateway listens on http://%[1]s; the space is demo.
You are "you"; the agent "guide" reads %[4]s.
%[5]s
In another terminal:

  export TOKEN=%[2]s

  # join from this terminal
  MEUP_URL=http://%[1]s MEUP_SPACE=demo MEUP_TOKEN=$TOKEN go run ./cmd/meup join

  # ask the agent
  curl -H "Authorization: Bearer $TOKEN" http://%[1]s/api/spaces/demo/envelopes \
    -d '{"kind":"chat","payload":{"message":"what is in the docs folder?"}}'

  # watch all envelopes, from the beginning
  curl -N -H "Authorization: Bearer $TOKEN" "http://%[1]s/api/spaces/demo/events?since=0"

  # list the reasoning contexts
  curl -H "Authorization: Bearer $TOKEN" http://%[1]s/api/spaces/demo/contexts

  # use a WebSocket: every line you type is an envelope
  websocat -H "Authorization: Bearer $TOKEN" "ws://%[1]s/ws?space=demo&since=0"

  # run your own agent, or another one of these
  HELPER_TOKEN=%[3]s \
    go run ./cmd/meup-agent run --gateway ws://%[1]s/ws --space demo --token-env HELPER_TOKEN --answer mentioned --docs .

Ctrl-C ends the demo; nothing is kept.
`, s.address, s.tokens["DEMO_YOU"], s.tokens["DEMO_HELPER"], s.docs, s.pageInstructions())
}

// pageInstructions describes how to open the space in a browser. The token is
// not part of the link: browsers and terminals store addresses.
func (s *demoEnv) pageInstructions() string {
	if s.link == nil {
		return ""
	}
	return fmt.Sprintf(`
Open it in a browser. This link signs you in; it works once, within %d minutes:

  %s

After that, sign in with the token below.
`, int(access.CodeLifetime.Minutes()), s.link())
}

// startTools starts the MCP server for the folder, and prints which one.
func (s *demoEnv) startTools(ctx context.Context) (*mcptools.Set, error) {
	npm, err := s.npmServer()
	if err == nil && npm != nil {
		fmt.Fprintf(s.out, "Starting the MCP server %s over %s …\n", npmPackage, s.docs)
		set, startErr := mcptools.Start(ctx, []mcptools.Server{*npm}, s.toolOptions())
		if startErr == nil {
			return set, nil
		}
		err = startErr
	}
	if s.flags.mcp == "npm" || ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		fmt.Fprintf(s.out, "%s is not available (%v); using the Go MCP server.\n", npmPackage, err)
	} else {
		fmt.Fprintln(s.out, "Using the Go MCP server.")
	}
	return s.goTools(ctx)
}
