package mcpserver

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/gateway/adapter"
)

// Names of participants that do not exist evict no view.
func TestServer_KeepsNoViewOfNone(t *testing.T) {
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/participants") {
			_, _ = w.Write([]byte(`{"participants":[]}`))
			return
		}
		_, _ = w.Write([]byte(`{"participant":"alice","spaces":[{"name":"lab","participant":"alice"}],"globs":[]}`))
	})
	s, ok := New(Options{Options: adapter.Options{API: api, Logger: slog.New(slog.DiscardHandler)}}).(*server)
	if !ok {
		t.Fatal("not a server")
	}
	ask := func(query string, status int) {
		t.Helper()
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp"+query, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		r.Header.Set("Authorization", "Bearer good")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if s.ServeHTTP(w, r); w.Code != status {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	ask("", http.StatusOK)
	for i := range 3 * maxViews {
		ask(fmt.Sprintf("?participant=none-%d", i), http.StatusNotFound)
	}
	if _, ok := s.views.Get(viewKey{"lab", "alice", ""}); !ok || s.views.Len() != 1 {
		t.Errorf("%d views", s.views.Len())
	}
}
