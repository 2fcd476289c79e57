package space_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// reloadVisibility applies a configuration with the same participants and another
// visibility.
func (r *room) reloadVisibility(who rights, everyone bool) {
	cfg := who.config(r.t)
	cfg.Everyone = everyone
	r.hub.Reload(func(name string) (*authority.Config, bool) { return cfg, name == cfg.Name })
}

func TestReload_VisibilityFollows(t *testing.T) {
	who := rights{"alice": {"*"}, "bob": {"*"}, "carol": {"*"}}
	for _, test := range []struct {
		name          string
		before, after bool
	}{
		{"everyone to addressed", true, false},
		{"addressed to everyone", false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := who.config(t)
			cfg.Everyone = test.before
			r := openWith(t, cfg, nil)
			live, refused := r.Join(t.Context(), space.JoinOptions{ID: "carol"})
			if refused != nil {
				t.Fatal(refused)
			}
			defer r.Leave(live)
			defer live.MarkClosed()
			r.must("alice", `{"id": "s", "kind": "reasoning.start", "to": ["bob"], "payload": {"message": "private"}}`)
			r.must("alice", `{"id": "open", "kind": "reasoning.start", "payload": {"message": "public"}}`)
			r.must("alice", `{"id": "p", "kind": "reasoning.thought", "context": "open", "to": ["bob"], "payload": {"message": "private"}}`)
			r.reloadVisibility(who, test.after)

			got := map[protocol.ID]bool{}
			var d space.Delivery
			r.must("alice", chat("end"))
			for !got["end"] {
				if err := live.Next(t.Context(), &d); err != nil {
					t.Fatal(err)
				}
				for _, e := range d.Entries {
					got[e.Envelope.ID] = true
				}
			}
			if got["s"] != test.after || got["p"] != test.after || !got["open"] {
				t.Errorf("delivered %v", got)
			}
			page, refused := r.History(t.Context(), ring.Viewer{ID: "carol"}, space.HistoryQuery{})
			if refused != nil {
				t.Fatal(refused)
			}
			if want := map[bool]int{false: 2, true: 4}[test.after]; count(t, page) != want {
				t.Errorf("history has %d entries, want %d", count(t, page), want)
			}
			contexts := map[protocol.ContextPath]int{}
			for _, c := range r.Contexts(ring.Viewer{ID: "carol"}, "") {
				contexts[c.Path] = c.Counts.Envelopes
			}
			if _, sees := contexts["s"]; sees != test.after {
				t.Errorf("contexts of a third party: %v", contexts)
			}
			if want := map[bool]int{false: 0, true: 1}[test.after]; contexts["open"] != want {
				t.Errorf("figures of the public context count %d envelopes, want %d", contexts["open"], want)
			}
		})
	}
}

func TestVisibility_CallsOfOwnTools(t *testing.T) {
	const request = `"kind": "mcp.request", "payload": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "look"}}`
	cfg := rights{"agent": {"*"}, "bob": {"*"}, "carol": {"*"}}.config(t)
	r := openWith(t, cfg, nil)
	live, refused := r.Join(t.Context(), space.JoinOptions{ID: "carol"})
	if refused != nil {
		t.Fatal(refused)
	}
	defer r.Leave(live)
	defer live.MarkClosed()
	r.must("agent", `{"id": "public", "kind": "reasoning.thought", "context": "c", "payload": {"message": "x"}}`)
	r.must("agent", `{"id": "private", "kind": "reasoning.thought", "context": "c", "to": ["bob"], "payload": {"message": "x"}}`)
	want := map[protocol.ID]bool{"public": true, "own": true, "end": true}
	for id, rest := range map[string]string{
		"own":          `"to": ["agent"], "correlationId": "public", `,
		"own, private": `"to": ["agent"], "correlationId": "private", `,
		"no thought":   `"to": ["agent"], `,
		"another":      `"to": ["bob"], "correlationId": "public", `,
		"with another": `"to": ["agent", "bob"], "correlationId": "public", `,
	} {
		r.must("agent", `{"id": "`+strings.NewReplacer(", ", "-", " ", "-").Replace(id)+`", `+rest+request+`}`)
	}
	r.must("bob", `{"id": "by-bob", "to": ["bob"], "correlationId": "public", `+request+`}`)
	r.must("agent", `{"id": "inherits-nothing", "kind": "chat", "to": ["bob"], "correlationId": "own", "payload": {"message": "x"}}`)
	r.must("agent", `{"id": "end", "kind": "chat", "payload": {"message": "x"}}`)
	got := map[protocol.ID]bool{}
	var d space.Delivery
	for !got["end"] {
		if err := live.Next(t.Context(), &d); err != nil {
			t.Fatal(err)
		}
		for _, e := range d.Entries {
			got[e.Envelope.ID] = true
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("a bystander received %v, want %v", got, want)
	}
}
