package mcptools_test

import (
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/agent/mcptools"
	"github.com/meup-protocol/meup/internal/testing/testkit"
)

// A server over HTTP that is not up yet, or whose proxy says so, is tried again.
func TestServerThatStartsLater(t *testing.T) {
	addr := testkit.FreeAddress(t)
	var logged testkit.Log
	type started struct {
		set *mcptools.Set
		err error
	}
	done := make(chan started, 1)
	go func() {
		set, err := mcptools.Start(t.Context(), []mcptools.Server{{Name: "late", URL: "http://" + addr}}, mcptools.Options{MinBackoff: time.Millisecond, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		done <- started{set, err}
	}()
	logged.Wait(t, "not reached")
	served := moody()
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return served }, nil)
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	var count atomic.Int32
	srv := &http.Server{ReadHeaderTimeout: testkit.Patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if count.Add(1) <= 3 {
			http.Error(w, "no upstream", http.StatusBadGateway)
			return
		}
		inner.ServeHTTP(w, r)
	})}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	select {
	case s := <-done:
		if s.err != nil {
			t.Fatal(s.err)
		}
		if len(s.set.Tools()) == 0 {
			t.Error("no tools")
		}
		_ = s.set.Close()
	case <-testkit.Deadline(t).Done():
		t.Fatalf("not started:\n%s", logged.String())
	}
}
