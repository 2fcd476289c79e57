package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/meup-protocol/meup/client"
	scene "github.com/meup-protocol/meup/cmd/meup-gateway/demo"
	"github.com/meup-protocol/meup/internal/agent"
	"github.com/meup-protocol/meup/internal/agent/intake"
	"github.com/meup-protocol/meup/internal/agent/llm/models"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/agent/planner"
	"github.com/meup-protocol/meup/internal/agent/planner/rules"
	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/kit/program"
	"github.com/meup-protocol/meup/internal/kit/textutil"
	"github.com/meup-protocol/meup/internal/mcp/toolserver"
	"github.com/meup-protocol/meup/protocol"
)

type demoFlags struct {
	listen  string
	docs    string
	ask     string
	mcp     string
	model   string
	baseURL string
	level   string
	scene   bool
	pace    time.Duration // of the scene; 0: the default
	// find finds a model that could be used, and why; nil: models.Find.
	find    func(context.Context, models.Options) (name, why string, ok bool)
	timeout time.Duration
}

func newDemo() *cobra.Command {
	var f demoFlags
	c := &cobra.Command{
		Use:   "demo",
		Short: "Runs a demo space with agents; needs no configuration",
		Long: `demo starts a temporary space, prints a link to its web page, and runs until
Ctrl-C. Nothing is kept.

When you open the page, the agents planner and scout play a scene: ben asks a
question, they reason and call tools, and planner proposes a call that waits for
your approval. The scene is written in advance, but real: its participants are
connected like yours, and the approved call runs a tool. --scene=false leaves it
out. To see it again, write "play the scene again".

The agent guide answers your own questions. It reads a folder of documents
through an MCP server, and decides by rules. With --model it uses a language
model, whose key is read from the environment (meup-agent run --help lists the
variables). If there is a key, or a server of Ollama or LM Studio on this machine
or at OLLAMA_HOST, the demo prints the option that selects a model of it.

With --ask it sends one question to guide, prints the envelopes as they arrive,
and exits with 0 after the answer.`,
		Example: "  meup-gateway demo\n  meup-gateway demo --ask 'what is in the docs folder?'",
		Args:    program.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := withParent(c.Context(), os.Getppid, time.Second)
			defer stop()
			return demo(ctx, f, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8080", "address to listen on; a free port is used if it is in use")
	fl.StringVar(&f.docs, "docs", "", "folder that guide reads (default: ./docs, or a sample)")
	fl.StringVar(&f.ask, "ask", "", "send this question, print the envelopes, and exit")
	fl.StringVar(&f.mcp, "mcp", "go", "MCP server that reads the folder: go (built in), npm ("+npmPackage+", run with npx), or auto (npm if Node is installed)")
	fl.StringVar(&f.model, "model", "rules", "how guide decides: rules, or PROVIDER:NAME of a language model, such as ollama:qwen3")
	fl.StringVar(&f.baseURL, "base-url", "", "URL of the model's API (default: the provider's)")
	fl.BoolVar(&f.scene, "scene", true, "play the scene when you join")
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
	moved   bool          // the requested address is in use
	link    func() string // signs one browser in as you; nil: there is no page
}

func demo(ctx context.Context, f demoFlags, out, errOut io.Writer) error {
	checked := config.Default()
	if err := errors.Join(checked.Set("log-level", f.level), checked.Set("listen", f.listen)); err != nil {
		return program.Usage(err)
	}
	switch f.mcp {
	case "go", "npm", "auto":
	default:
		return program.Usagef("--mcp %q: want go, npm or auto", f.mcp)
	}
	dir, err := os.MkdirTemp("", "meup-demo-")
	if err != nil {
		return fmt.Errorf("create a folder for the demo: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary anyway
	s := &demoEnv{flags: f, out: out, dir: dir, log: program.TextLogger(errOut, checked.Log.Level)}
	s.tokens = make(map[string]string)
	for _, name := range append([]protocol.ParticipantID{"you", "guide", "helper"}, scene.Cast()...) {
		s.tokens[variable(name)], _ = access.NewToken()
	}
	s.docs, err = s.findDocs()
	if err != nil {
		return err
	}
	stop, err := s.startGateway(ctx)
	if err != nil {
		return err
	}
	err = errors.Join(s.run(ctx), stop())
	if err == nil && f.ask == "" {
		fmt.Fprintln(out, "The demo has ended; nothing was kept.")
	}
	return err
}

//go:embed sample
var sample embed.FS

// findDocs returns the folder that the agent reads: the named one, the
// repository's own, or a sample.
func (s *demoEnv) findDocs() (string, error) {
	dir := s.flags.docs
	if dir == "" {
		dir = "docs"
	}
	info, err := os.Stat(dir)
	if err == nil && info.IsDir() {
		return filepath.Abs(dir)
	}
	if s.flags.docs != "" {
		return "", fmt.Errorf("folder %s does not exist", s.flags.docs)
	}
	docs, err := fs.Sub(sample, "sample")
	if err != nil {
		return "", fmt.Errorf("read the sample documents: %w", err)
	}
	dir = filepath.Join(s.dir, "docs")
	if err := os.CopyFS(dir, docs); err != nil {
		return "", fmt.Errorf("write the sample documents: %w", err)
	}
	return dir, nil
}

// variable returns the variable that the configuration names for a token.
func variable(who protocol.ParticipantID) string { return "DEMO_" + strings.ToUpper(string(who)) }

// run connects the agents and runs the demo. The end of ctx is the regular end.
func (s *demoEnv) run(ctx context.Context) error {
	thinker, err := planner.Open(planner.Options{
		Rules: rules.Rules{}, ModelName: s.flags.model, BaseURL: s.flags.baseURL, Getenv: os.Getenv,
		ModelOptions: planner.ModelOptions{Logger: s.log},
	})
	if err != nil {
		return program.Usage(err)
	}
	defer thinker.Close() //nolint:errcheck // the demo is over
	tools, err := s.startTools(ctx)
	if err != nil {
		return err
	}
	defer tools.Close() //nolint:errcheck // the demo is over
	guide, err := s.dial(ctx, "guide", client.Position{})
	if err != nil {
		return fmt.Errorf("connect the agent: %w", err)
	}
	defer guide.Close() //nolint:errcheck // the demo is over
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	played, err := s.startScene(ctx, thinker)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { // ends with ctx; waited for below
		ended <- agent.New(agent.Options{
			Space: guide, Tools: tools, Planner: thinker, Approach: thinker.Approach, Answer: intake.Any, Logger: s.log,
		}).Run(ctx)
	}()
	if s.flags.ask != "" {
		err = s.askOnce(ctx)
	} else {
		s.printInstructions(ctx)
		select {
		case <-ctx.Done():
		case err = <-ended:
			ended <- nil
		}
	}
	cancel()
	return errors.Join(err, <-ended, <-played)
}

// startScene joins the participants of the scene, and returns a channel with
// the error of its end.
func (s *demoEnv) startScene(ctx context.Context, thinker *planner.Opened) (<-chan error, error) {
	ended := make(chan error, 1)
	if s.flags.ask != "" || !s.flags.scene {
		ended <- nil
		return ended, nil
	}
	dir := filepath.Join(s.dir, "scene")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create a folder for the scene: %w", err)
	}
	tokens := make(map[protocol.ParticipantID]string)
	for _, who := range scene.Cast() {
		tokens[who] = s.tokens[variable(who)]
	}
	play, err := scene.Start(ctx, scene.Options{
		URL: "ws://" + s.address + "/ws", Space: "demo", Tokens: tokens, Visitor: "you", Dir: dir,
		Planner: thinker, Approach: thinker.Approach, Pace: s.flags.pace, Version: version, Logger: s.log,
	})
	if err != nil {
		return nil, fmt.Errorf("start the scene: %w", err)
	}
	go func() { ended <- play.Run(ctx) }() // ends with ctx; run waits for it
	return ended, nil
}

func (s *demoEnv) dial(ctx context.Context, who protocol.ParticipantID, since client.Position) (*client.Client, error) {
	return client.Dial(ctx, client.Options{
		URL: "ws://" + s.address + "/ws", Space: "demo", Token: s.tokens[variable(who)], Since: since, Logger: s.log,
	})
}

const demoConfig = `
spaces:
  demo:
    visibility: everyone # you see calls and results that agents address to tools
    participants:
      you: {token_env: DEMO_YOU, capabilities: ["*"]}
      helper: {token_env: DEMO_HELPER, capabilities: [chat, reasoning/*, stream/*, "mcp/*", participant.status, participant.compact-done]}
      guide:
        token_env: DEMO_GUIDE
        description: Answers questions about the documentation.
        capabilities:
          - chat
          - reasoning/*
          - stream/*
          - mcp.response
          - mcp.proposal
          - mcp.withdraw
          - participant.status
          - participant.compact-done
          - {kind: mcp.request, payload: {method: tools/list}}
          - kind: mcp.request
            payload: {method: tools/call, params: {name: ["list_*", "read_*", "search_*", "get_file_info", "directory_tree", "play_scene"]}}
`

func (s *demoEnv) startGateway(ctx context.Context) (stop func() error, err error) {
	cfg, faults := config.Parse("demo", []byte(demoConfig+scene.Participants), func(name string) (string, bool) {
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
		s.link = func() string { return "http://" + s.address + "/#code=" + g.NewLoginCode(s.tokens[variable("you")]) }
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
	if program.IsAddressInUse(err) {
		s.moved = true
		host, _, _ := net.SplitHostPort(s.flags.listen)
		l, err = lc.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// printInstructions prints at most nine lines, the link last.
func (s *demoEnv) printInstructions(ctx context.Context) {
	fmt.Fprintf(s.out, "The demo is at http://%s until Ctrl-C; nothing is kept.\n", s.address)
	if s.moved {
		fmt.Fprintf(s.out, "%s is in use, so the demo took a free port.\n", s.flags.listen)
	}
	if s.flags.scene {
		fmt.Fprintln(s.out, "The agents planner and scout begin when you join; one of their calls waits for your approval.")
	}
	fmt.Fprintf(s.out, "The agent guide answers your questions about %s, such as: what is in the docs folder?\n", s.docs)
	find := s.flags.find
	if find == nil {
		find = models.Find
	}
	if s.flags.model == planner.RulesName {
		if name, why, ok := find(ctx, models.Options{Getenv: os.Getenv}); ok {
			fmt.Fprintf(s.out, "It decides by rules. %s, so it can use a language model: make demo ARGS='--model %s'\n", why, name)
		}
	}
	where, client := findClient()
	fmt.Fprintf(s.out, "In a terminal%s: MEUP_URL=http://%s MEUP_SPACE=demo MEUP_TOKEN=%s %s join\n", where, s.address, s.tokens[variable("you")], client)
	fmt.Fprintf(s.out, "Claude Code, another MCP client or your own agent joins as helper, with the token %s (docs/connect.md).\n", s.tokens[variable("helper")])
	if s.link == nil { // a build without the page
		fmt.Fprintf(s.out, "http://%s\n", s.address)
		return
	}
	// The token is not part of the link: browsers and terminals store addresses.
	fmt.Fprintf(s.out, "Open this link. It signs you in once, within %d minutes; later, sign in with the MEUP_TOKEN above:\n%s\n",
		int(access.CodeLifetime.Minutes()), s.link())
}

// findClient returns the command of the terminal client: the one beside this program, or of
// PATH, or else the one in bin/; where is empty if the program exists.
func findClient() (where, command string) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "meup"+filepath.Ext(self))
		if _, err := os.Stat(beside); err == nil {
			return "", textutil.ShellWord(beside)
		}
	}
	if _, err := exec.LookPath("meup"); err == nil {
		return "", "meup"
	}
	return ", after make build", "bin/meup"
}

const npmPackage = "@modelcontextprotocol/server-filesystem"

// startTools starts the MCP server for the folder: that of the npm registry if it is asked for or
// can be used, otherwise the one in this program.
func (s *demoEnv) startTools(ctx context.Context) (*mcptools.Set, error) {
	options := mcptools.Options{Version: version, Logger: s.log, StartTimeout: time.Minute}
	if s.flags.mcp != "go" {
		_, err := exec.LookPath("npx")
		if err != nil {
			err = errors.New("npx is not installed")
		} else {
			s.log.Info("starting an MCP server", "package", npmPackage, "folder", s.docs)
			var set *mcptools.Set
			set, err = mcptools.Start(ctx, []mcptools.Server{{Name: "files", Command: []string{"npx", "-y", npmPackage, s.docs}}}, options)
			if err == nil {
				return set, nil
			}
		}
		if s.flags.mcp == "npm" || ctx.Err() != nil {
			return nil, err
		}
		s.log.Warn("the built-in MCP server is used", "err", err)
	}
	server, closeDir, err := toolserver.NewDocuments(s.docs, version)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = closeDir() }) // the folder stays open while the demo runs
	return mcptools.Start(ctx, []mcptools.Server{{Name: "files", InProcess: server}}, options)
}
