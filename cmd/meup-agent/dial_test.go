package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/programtest"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// draining is a gateway that asks all clients to return in an hour.
func draining(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(s.Close)
	return "ws" + strings.TrimPrefix(s.URL, "http") + "/ws"
}

func TestRun_TerminatedWhileWaiting(t *testing.T) {
	t.Run("run", func(t *testing.T) { endWhileWaiting(t, "run") })
	t.Run("bridge", func(t *testing.T) { endWhileWaiting(t, "bridge", "--mcp-http", quietServer(t)) })
}

// quietServer is an MCP server without tools.
func quietServer(t *testing.T) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "quiet", Version: "1"}, nil)
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(s.Close)
	return s.URL
}

func endWhileWaiting(t *testing.T, args ...string) {
	t.Helper()
	ctx := testkit.Deadline(t)
	out := new(testkit.Log)
	p := exec.CommandContext(ctx, programtest.Program(t, "meup-agent"), append(args, "--gateway", draining(t), "--space", "lab", "--token-env", "HELPER", "--connect-timeout", "2h")...)
	p.Env = append(os.Environ(), "HELPER=helper-token")
	p.Stdout, p.Stderr = out, out
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	out.Wait(t, "trying again")
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("ended with %v\n%s", err, out)
	}
}

func TestRun_GatewayTimeout(t *testing.T) {
	f := &spaceFlags{gateway: draining(t), space: "lab", connectTimeout: 50 * time.Millisecond}
	_, err := f.dial(t.Context(), "helper-token", slog.New(slog.DiscardHandler), client.Options{})
	if err == nil || !strings.Contains(err.Error(), "gave up after 50ms") {
		t.Errorf("error %v", err)
	}
}
