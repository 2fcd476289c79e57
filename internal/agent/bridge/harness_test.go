package bridge_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/agent/bridge"
	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/testing/meuptest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// The test binary is also a server that can be killed.
func TestMain(m *testing.M) {
	if os.Getenv("MEUP_TEST_SERVER") != "" {
		m := newMoody()
		m.tool("deploy", deploying)
		if err := m.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	testkit.Main(m)
}

const config = `
limits: {rate: 100000, burst: 100000, bytes_per_second: 1GiB, message_bytes: 256KiB, connections: 64, open_contexts: 100000, context_depth: 5}
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      carol: {token: carol-token, capabilities: ["*"]}
      files: {token: files-token, capabilities: ["mcp/*", "participant/status"]}
      reader:
        token: reader-token
        capabilities:
          - {kind: mcp.request, payload: {method: tools/call, params: {name: "pid"}}}
`

var theBridge = []protocol.ParticipantID{"files"}

// moody is a server with the failures of real ones.
type moody struct {
	*mcp.Server
	release chan struct{} // ends a wait

	subscribed   chan []string // a subscription of 2026-07-28 takes effect some time after the request
	unsubscribed chan string
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

const anything = `{"type":"object"}`

func newMoody() *moody {
	m := &moody{release: make(chan struct{}), subscribed: make(chan []string, 100), unsubscribed: make(chan string, 100)}
	m.Server = mcp.NewServer(&mcp.Implementation{Name: "moody", Version: "7"}, &mcp.ServerOptions{
		PageSize:           4,
		Instructions:       "be gentle",
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(_ context.Context, r *mcp.UnsubscribeRequest) error { m.unsubscribed <- r.Params.URI; return nil },
	})
	m.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			p, ok := req.GetParams().(*mcp.SubscriptionsAcknowledgedParams)
			if ok && len(p.Notifications.ResourceSubscriptions) > 0 {
				m.subscribed <- p.Notifications.ResourceSubscriptions
			}
			return next(ctx, method, req)
		}
	})
	m.tool("pid", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(strconv.Itoa(os.Getpid())), nil
	})
	m.tool("wait", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if token := req.Params.GetProgressToken(); token != nil {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Message: "waiting"})
		}
		select {
		case <-m.release:
			return text("released"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	m.tool("precise", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: req.Params.Arguments}, nil
	})
	m.tool("huge", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(strings.Repeat("0123456789", 1<<18)), nil
	})
	m.tool("refuse", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: -31999, Message: "not today", Data: json.RawMessage(`{"until":9007199254740993}`)}
	})
	m.tool("refuse at length", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: 5, Message: "no", Data: json.RawMessage(`"` + strings.Repeat("no ", 1<<20) + `"`)}
	})
	m.tool("grow", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		m.tool("grown", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text("yes"), nil })
		m.AddPrompt(&mcp.Prompt{Name: "grown"}, nil)
		m.resource("mood://grown", "yes")
		return text("done"), nil
	})
	m.tool("change", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text("done"), m.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "mood://now"})
	})
	m.AddPrompt(&mcp.Prompt{Name: "greet"}, nil)
	m.resource("mood://now", "fine")
	m.resource("mood://huge", strings.Repeat("x", 1<<20))
	return m
}

func (m *moody) tool(name string, run mcp.ToolHandler) {
	m.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(anything)}, run)
}

func (m *moody) resource(uri, content string) {
	m.AddResource(&mcp.Resource{URI: uri, Name: uri}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, Text: content}}}, nil
	})
}

// inProcess is a moody server in the test's process.
func inProcess() (*moody, mcptools.Server) {
	m := newMoody()
	return m, mcptools.Server{InProcess: m.Server}
}

// ownProcess is a moody server that can be killed.
func ownProcess(t *testing.T) mcptools.Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcptools.Server{Name: "moody", Command: []string{exe}, Env: append(os.Environ(), "MEUP_TEST_SERVER=1")}
}

func kill(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func join(t *testing.T, g *meuptest.Gateway, who string, change func(*client.Options)) *client.Client {
	t.Helper()
	opts := client.Options{URL: g.URL("lab"), Token: who + "-token", Backoff: client.Backoff{Min: time.Millisecond, Max: 20 * time.Millisecond}}
	if change != nil {
		change(&opts)
	}
	c, err := client.Dial(testkit.Deadline(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// employed is a running bridge.
type employed struct {
	stop func() // ends it and waits
	done chan error
	log  *testkit.Log
}

type setup struct {
	tools  mcptools.Options
	bridge bridge.Options
	client func(*client.Options)
	pins   *bridge.PinOptions // nil: tools are not pinned
	ahead  time.Duration      // of the clock of the bridge
}

// ahead is a client whose clock is ahead of the gateway's.
type ahead struct {
	*client.Client
	by time.Duration
}

func (c ahead) Welcome() protocol.Welcome {
	w := c.Client.Welcome()
	w.Clock -= c.by
	return w
}

// employ runs a bridge for a server until the test ends.
func employ(t *testing.T, g *meuptest.Gateway, server mcptools.Server, s setup) *employed {
	t.Helper()
	e := &employed{done: make(chan error, 1), log: new(testkit.Log)}
	log := slog.New(slog.NewTextHandler(io.MultiWriter(e.log, t.Output()), &slog.HandlerOptions{Level: slog.LevelDebug}))
	notices := bridge.NewNotices()
	s.tools.OnNotice, s.tools.OnRestart, s.tools.Logger, s.tools.MinBackoff = notices.Put, notices.Restarted, log, time.Millisecond
	s.tools.CallTimeout = cmp.Or(s.tools.CallTimeout, 10*testkit.Patience) // a call may wait for the rest of a test
	set, err := mcptools.Start(t.Context(), []mcptools.Server{server}, s.tools)
	if err != nil {
		t.Fatal(err)
	}
	c := join(t, g, "files", s.client)
	if s.pins != nil {
		s.pins.Space, s.pins.History, s.pins.Logger = c, g.API(t, "files"), log
		s.bridge.Pins = bridge.NewPins(*s.pins)
	}
	s.bridge.Space, s.bridge.Server, s.bridge.Notices, s.bridge.Logger = c, set, notices, log
	if s.ahead != 0 {
		s.bridge.Space = ahead{c, s.ahead}
		s.bridge.Now = func() time.Time { return time.Now().Add(s.ahead) }
	}
	b := bridge.New(s.bridge)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { e.done <- b.Run(ctx) }() // ends with stop
	e.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-e.done; err != nil {
			t.Errorf("bridge: %v", err)
		}
		_ = set.Close()
		_ = c.Close()
	})
	t.Cleanup(e.stop)
	return e
}

// ask sends a request to the bridge and expects a result.
func ask(t *testing.T, c *client.Client, method string, params any) string {
	t.Helper()
	raw, err := c.Request(testkit.Deadline(t), theBridge, method, params, client.RequestOptions{})
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return string(raw)
}

// refused sends a request to the bridge and expects an error.
func refused(t *testing.T, c *client.Client, method string, params any) *client.RPCError {
	t.Helper()
	raw, err := c.Request(testkit.Deadline(t), theBridge, method, params, client.RequestOptions{})
	var rpc *client.RPCError
	if !errors.As(err, &rpc) {
		t.Fatalf("%s: %s, %v", method, raw, err)
	}
	return rpc
}

func tool(name string) map[string]any {
	return map[string]any{"name": name, "arguments": map[string]any{}}
}

// begin sends a request without waiting for its response.
func begin(t *testing.T, c *client.Client, payload string) protocol.ID {
	t.Helper()
	receipt, err := c.Send(testkit.Deadline(t), protocol.Envelope{Kind: protocol.KindMCPRequest, To: theBridge, Payload: json.RawMessage(payload)})
	if err != nil {
		t.Fatal(err)
	}
	return receipt.ID
}

func callOf(id any, name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":%q}}`, id, name)
}

// await receives until an envelope fits.
func await(t *testing.T, c *client.Client, fits func(*protocol.Envelope) bool) protocol.Envelope {
	t.Helper()
	ctx := testkit.Deadline(t)
	for {
		env, err := c.Receive(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if fits(&env) {
			return env
		}
	}
}

func responseTo(id protocol.ID) func(*protocol.Envelope) bool {
	return func(env *protocol.Envelope) bool {
		return env.Kind == protocol.KindMCPResponse && env.Correlation.Names(id)
	}
}

func saying(method string) func(*protocol.Envelope) bool {
	return func(env *protocol.Envelope) bool {
		return env.Kind == protocol.KindMCPRequest && env.From == "files" && strings.Contains(string(env.Payload), `"`+method+`"`)
	}
}

// switchboard is a path to the gateway that can be interrupted.
type switchboard struct {
	mu    sync.Mutex
	conns []net.Conn
	shut  bool
}

func (s *switchboard) options(o *client.Options) {
	o.HTTPClient = &http.Client{Transport: &http.Transport{DialContext: s.dial}}
}

func (s *switchboard) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		_ = conn.Close()
		return nil, errors.New("the line is cut")
	}
	s.conns = append(s.conns, conn)
	return conn, nil
}

func (s *switchboard) set(shut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = shut
	for _, conn := range s.conns {
		_ = conn.Close()
	}
	s.conns = nil
}
