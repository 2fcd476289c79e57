package mcpserver

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/access"
	"github.com/meup-protocol/meup/internal/gateway/adapter"
	"github.com/meup-protocol/meup/protocol"
)

// fake is an API with one token, of alice in the space lab.
type fake struct {
	adapter.API
	handler http.HandlerFunc
	found   []protocol.Envelope // what Await returns
}

func (fake) Session(context.Context, access.Bearer, string) (*api.Session, error) {
	return &api.Session{Participant: "alice", Spaces: []api.SessionSpace{{Name: "lab", Participant: "alice"}}}, nil
}

func (f fake) Await(context.Context, access.Bearer, string, api.EnvelopeQuery) (*api.Envelopes, error) {
	return &api.Envelopes{Envelopes: f.found, Next: f.found[len(f.found)-1].Seq}, nil
}

func (f fake) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.handler(w, r) }

// Names of participants that do not exist evict no view.
func TestServer_KeepsNoViewOfNone(t *testing.T) {
	nobody := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"participants":[]}`)) }
	s, ok := New(Options{Options: adapter.Options{API: fake{handler: nobody}, Logger: slog.New(slog.DiscardHandler)}}).(*server)
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
