// Package meuptest starts a gateway in the test's process: the real one, on a
// real listener, with an embedded log in a temporary folder.
package meuptest

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway"
	"github.com/meup-protocol/meup/internal/gateway/config"
	"github.com/meup-protocol/meup/internal/gateway/httpapi"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// Config is a configuration for most tests: a space lab with alice (all
// capabilities), bob (all capabilities), planner (chat and reasoning) and
// watcher (sees envelopes addressed to others). A token is the participant's
// name followed by "-token". The limits are high enough to have no effect.
const Config = `
limits: {rate: 100000, burst: 100000, bytes_per_second: 1GiB, message_bytes: 1MiB, connections: 64, open_contexts: 100000, context_depth: 5}
spaces:
  lab:
    participants:
      alice: {token: alice-token, capabilities: ["*"]}
      bob: {token: bob-token, capabilities: ["*"]}
      planner: {token: planner-token, capabilities: [chat, reasoning/*]}
      watcher: {token: watcher-token, capabilities: [observe, chat]}
`

// ListWait is how long a gateway waits for participants to list their tools: a busy machine
// takes longer than the second after which a list is without them.
const ListWait = 30 * time.Second

// Gateway is a running gateway.
type Gateway struct {
	t    testing.TB
	dir  string
	yaml string
	set  []func(*gateway.Options)

	mu   sync.Mutex
	gw   *gateway.Gateway
	addr string // constant across restarts
	done chan error
}

// Start starts a gateway with the given configuration; it sets listen and data,
// and set may change the options. The gateway stops with the test.
func Start(t testing.TB, yaml string, set ...func(*gateway.Options)) *Gateway {
	t.Helper()
	g := &Gateway{t: t, dir: t.TempDir(), yaml: yaml, set: set, addr: testkit.FreeAddress(t)}
	g.start()
	t.Cleanup(g.Stop)
	return g
}

func (g *Gateway) parse(yaml string) *config.Config {
	g.t.Helper()
	cfg, faults := config.Parse("test.yaml", []byte(yaml), os.LookupEnv, os.ReadFile)
	if config.HasErrors(faults) {
		g.t.Fatalf("configuration: %v", faults)
	}
	if !strings.Contains(yaml, "\ndata:") {
		cfg.Data = g.dir
	}
	return cfg
}

func (g *Gateway) start() {
	g.t.Helper()
	log := slog.New(slog.NewTextHandler(g.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	options := gateway.Options{Config: g.parse(g.yaml), Logger: log, Version: httpapi.Version{Version: "test"}, ListWait: ListWait, SearchWait: testkit.Patience}
	for _, set := range g.set {
		set(&options)
	}
	gw, err := gateway.New(context.Background(), options)
	if err != nil {
		g.t.Fatalf("start gateway: %v", err)
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", g.addr)
	if err != nil {
		_ = gw.Close()
		g.t.Fatalf("listen: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- gw.Serve(l) }() // ends with stop
	if <-gw.Opened(); gw.Err() != nil {
		g.t.Fatalf("start gateway: %v", errors.Join(gw.Err(), gw.Close()))
	}
	g.mu.Lock()
	g.gw, g.addr, g.done = gw, l.Addr().String(), done
	g.mu.Unlock()
	if options.Config.NATS != "" { // its log is read after it has opened
		testkit.Eventually(g.t, "the gateway is ready", func() bool {
			r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+l.Addr().String()+"/readyz", nil)
			if err != nil {
				g.t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				return false
			}
			_ = resp.Body.Close()
			return resp.StatusCode == http.StatusOK
		})
	}
}

// Stop drains the gateway.
func (g *Gateway) Stop() {
	g.stop(func(gw *gateway.Gateway) error {
		ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
		defer cancel()
		return gw.Drain(ctx)
	})
}

func (g *Gateway) stop(end func(*gateway.Gateway) error) {
	g.mu.Lock()
	gw, done := g.gw, g.done
	g.gw = nil
	g.mu.Unlock()
	if gw == nil {
		return
	}
	if err := end(gw); err != nil {
		g.t.Logf("end gateway: %v", err)
	}
	if err := <-done; err != nil {
		g.t.Errorf("serve: %v", err)
	}
	http.DefaultClient.CloseIdleConnections() // a request over one of them would fail after a restart
}

// Restart cuts all connections and starts the gateway again with the same
// address and log.
func (g *Gateway) Restart() {
	g.t.Helper()
	g.stop(func(gw *gateway.Gateway) error { return gw.Close() })
	g.start()
}

// Reload applies another configuration.
func (g *Gateway) Reload(yaml string) {
	g.t.Helper()
	cfg := g.parse(yaml)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.yaml = yaml
	g.gw.Reload(cfg)
}

// Gateway returns the current gateway.
func (g *Gateway) Gateway() *gateway.Gateway {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.gw
}

// API returns a client of the HTTP API for a participant, whose token is its name and
// "-token".
func (g *Gateway) API(t testing.TB, who string) *api.Client {
	t.Helper()
	c, err := api.New(api.Options{URL: g.HTTP(), Token: who + "-token"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Addr returns the address that the gateway listens on, host:port.
func (g *Gateway) Addr() string { return g.addr }

// HTTP returns the base URL of the HTTP API.
func (g *Gateway) HTTP() string { return "http://" + g.addr }

// URL returns the WebSocket URL of a space: ws://…/ws?space=….
func (g *Gateway) URL(space string) string { return "ws://" + g.addr + "/ws?space=" + space }
