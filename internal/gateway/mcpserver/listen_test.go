package mcpserver

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/internal/gateway/adapter"
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
			handler := func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/envelopes/e/turn") {
					t.Error(r.URL.Path)
				}
				reads++
				_, _ = w.Write([]byte(`{"thread_id":"q"}`))
			}
			c := callerFor(t, fake{handler: handler})
			l := &listener{c: c, server: mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil), want: &mcp.NotificationSubscriptions{ResourceSubscriptions: test.want}}
			l.envelope(t.Context(), &protocol.Envelope{ID: "e", Kind: protocol.KindReasoningStart})
			if reads != test.reads {
				t.Errorf("%d reads", reads)
			}
			if c.server.slots.Running() != 0 {
				t.Error("it notified the client with a slot")
			}
		})
	}
}

// callerFor returns the caller alice, with a slot, of an API.
func callerFor(t *testing.T, f fake) *caller {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", nil)
	r.Header.Set("Authorization", "Bearer token")
	door, err := adapter.NewGate(adapter.Options{API: f, Logger: slog.New(slog.DiscardHandler)}).Open(httptest.NewRecorder(), r, "lab", 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(door.Close)
	s := &server{slots: NewSlotPool(1, 1)}
	c := &caller{SlotShare: s.slots.Share(t.Context()), server: s, door: door, client: door.Client, space: "lab", you: "alice", ended: t.Context()}
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// A client that calls without listening joins and leaves; the tools are then not listed
// again by all that listen.
func TestListener_Presence(t *testing.T) {
	l := &listener{have: map[string]foreign{"lamp__on": {host: "lamp"}}}
	for _, test := range []struct {
		event, id, serves string
		want              bool
	}{
		{"join", "bob", "", false}, {"leave", "bob", "", false}, {"join", "clock", `,"serves":["tools"]`, true}, {"leave", "lamp", "", true},
	} {
		e := &api.Event{Name: "presence", Data: []byte(fmt.Sprintf(
			`{"protocol":"meup/v0.1","id":"p","ts":"2026-01-01T00:00:00Z","from":"system:gateway","kind":"system.presence","payload":{"event":%q,"participant":{"id":%q,"capabilities":[]%s}}}`,
			test.event, test.id, test.serves))}
		if l.changesTools(e) != test.want {
			t.Errorf("%s of %s: %t", test.event, test.id, !test.want)
		}
	}
}

// A response counts only if it is of the recipient of the request, when several are asked
// at the same time.
func TestCaller_AnswerOfAnother(t *testing.T) {
	response := func(seq protocol.Seq, from protocol.ParticipantID, to protocol.ID) protocol.Envelope {
		return protocol.Envelope{Kind: protocol.KindMCPResponse, From: from, Correlation: protocol.CorrelateTo(to), Seq: seq}
	}
	c := callerFor(t, fake{found: []protocol.Envelope{response(2, "lamp.2", "a"), response(3, "lamp.2", "b"), response(4, "lamp", "a")}})
	in := new(inquiry)
	in.sent(&protocol.Envelope{ID: "a", To: []protocol.ParticipantID{"lamp"}}, 1)
	in.sent(&protocol.Envelope{ID: "b", To: []protocol.ParticipantID{"lamp.2"}}, 1)
	got, at, err := c.answers(t.Context(), in, time.Now().Add(time.Minute))
	if err != nil || got["a"] == nil || got["a"].From != "lamp" || got["b"].From != "lamp.2" || at.seq != 4 {
		t.Errorf("%v at %v, %v", got, at, err)
	}
}
