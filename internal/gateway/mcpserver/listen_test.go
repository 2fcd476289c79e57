package mcpserver

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/internal/gateway/mcpserver/slots"
	"github.com/meup-protocol/meup/internal/gateway/selfapi"
	"github.com/meup-protocol/meup/protocol"
)

// The thread of an envelope is read once, and only if a thread is wanted. The
// notifications are sent without a slot.
func TestListener_ReadsTheThreadOnce(t *testing.T) {
	for _, test := range []struct {
		name  string
		want  []string
		reads int
	}{
		{"threads", []string{threadsURI + "a", threadsURI + "q", threadsURI + "b", contextsURI}, 1},
		{"no thread", []string{contextsURI, proposalsURI}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			reads := 0
			api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/envelopes/e/turn") {
					t.Error(r.URL.Path)
				}
				reads++
				_, _ = w.Write([]byte(`{"thread_id":"q"}`))
			})
			client, err := selfapi.New(api, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", nil), "token", slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			s := &server{slots: slots.New(1, 1)}
			c := &caller{Share: s.slots.Share(t.Context()), server: s, client: client, space: "lab", you: "alice", ended: t.Context()}
			if err := c.Resume(t.Context()); err != nil {
				t.Fatal(err)
			}
			l := &listener{c: c, server: mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil), want: &mcp.NotificationSubscriptions{ResourceSubscriptions: test.want}}
			l.envelope(t.Context(), &protocol.Envelope{ID: "e", Kind: protocol.KindReasoningStart})
			if reads != test.reads {
				t.Errorf("%d reads", reads)
			}
			if s.slots.Running() != 0 {
				t.Error("it notified the client with a slot")
			}
		})
	}
}
