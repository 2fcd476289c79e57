package space_test

import (
	"slices"
	"testing"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/ring"
	"github.com/meup-protocol/meup/protocol"
)

// openContexts returns the contexts of a tree that are not closed.
func openContexts(tree []*ring.Context) (open []protocol.ContextPath) {
	for _, c := range tree {
		if c.State != ring.ContextConcluded && c.State != ring.ContextCancelled {
			open = append(open, c.Path)
		}
		open = append(open, openContexts(c.Children)...)
	}
	return open
}

func TestContexts_ClosedWithOuter(t *testing.T) {
	for _, test := range []struct {
		name   string
		frames [][2]string // sender, frame
		open   []protocol.ContextPath
	}{
		{"start inside its own context", [][2]string{
			{"agent", `{"id": "s", "kind": "reasoning.start", "context": "reason-900"}`},
			{"agent", `{"kind": "reasoning.conclusion", "context": "reason-900"}`},
		}, nil},
		{"nested and deeper", [][2]string{
			{"agent", `{"id": "c", "kind": "reasoning.start"}`},
			{"agent", `{"id": "d", "kind": "reasoning.start", "context": "c"}`},
			{"agent", `{"id": "e", "kind": "reasoning.start", "context": "c/d"}`},
			{"agent", `{"kind": "reasoning.cancel", "context": "c/d"}`},
		}, []protocol.ContextPath{"c"}},
		{"of another participant", [][2]string{
			{"agent", `{"id": "c", "kind": "reasoning.start"}`},
			{"alice", `{"id": "d", "kind": "reasoning.start", "context": "c"}`},
			{"agent", `{"kind": "reasoning.conclusion", "context": "c"}`},
		}, []protocol.ContextPath{"c/d"}},
		{"of a like name", [][2]string{
			{"agent", `{"id": "c", "kind": "reasoning.start"}`},
			{"agent", `{"id": "cd", "kind": "reasoning.start"}`},
			{"agent", `{"id": "x", "kind": "reasoning.start", "context": "cd"}`},
			{"agent", `{"kind": "reasoning.cancel", "correlationId": "c"}`},
		}, []protocol.ContextPath{"cd", "cd/x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := open(t, rights{"alice": {"*"}, "agent": {"*"}}, nil)
			for _, f := range test.frames {
				r.must(protocol.ParticipantID(f[0]), f[1])
			}
			if got := openContexts(r.Contexts(ring.Viewer{ID: "alice"}, "")); !slices.Equal(got, test.open) {
				t.Errorf("open are %v, want %v", got, test.open)
			}
		})
	}
}

// TestContexts_LeftOpenCostNoLimit: contexts that were opened by a start inside
// its own context no longer count after that context is concluded.
func TestContexts_LeftOpenCostNoLimit(t *testing.T) {
	cfg := rights{"agent": {"*"}}.config(t)
	agent := cfg.Participants["agent"]
	agent.Limits.OpenContexts = 2
	cfg.Participants["agent"] = agent
	r := openWith(t, cfg, nil)
	for range 5 {
		r.must("agent", `{"kind": "reasoning.start", "context": "reason"}`)
		r.must("agent", `{"kind": "reasoning.conclusion", "context": "reason"}`)
	}
}

// TestCorrelate_NameOfContext: the name of a context does not extend the audience of
// an envelope that correlates to it. Otherwise a participant could open a context by
// a name that it guessed and see private answers.
func TestCorrelate_NameOfContext(t *testing.T) {
	answer := `{"id": "w", "to": ["bob"], "kind": "chat", "correlationId": "reason-900", "payload": {"message": "no"}}`
	for name, open900 := range map[string]string{
		"start":   `{"kind": "reasoning.start", "context": "reason-900"}`,
		"thought": `{"kind": "reasoning.thought", "context": "x/reason-900", "payload": {"message": "hm"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, rights{"eve": {"*"}, "agent": {"*"}, "bob": {"*"}}, nil)
			r.must("eve", open900)
			r.must("agent", `{"kind": "reasoning.start", "to": ["bob"], "context": "reason-900"}`)
			r.must("agent", answer)
			if got := r.visibleTo("eve", "w"); got {
				t.Error("the participant that opened the context sees the private answer")
			}
			if !r.visibleTo("bob", "w") || !r.visibleTo("agent", "w") {
				t.Error("the recipient or the sender does not see the answer")
			}
		})
	}
}

// VisibleTo reports whether a participant's history has the envelope.
func (r *room) visibleTo(who protocol.ParticipantID, id protocol.ID) bool {
	r.t.Helper()
	page, refused := r.History(r.t.Context(), ring.Viewer{ID: who}, space.HistoryQuery{})
	if refused != nil {
		r.t.Fatal(refused)
	}
	for e, err := range page.Entries(r.t.Context()) {
		if err != nil {
			r.t.Fatal(err)
		}
		if e.Envelope.ID == id {
			return true
		}
	}
	return false
}

// TestCorrelate_NameDecidesNothing: a request that correlates to the name of a
// context whose first envelope is a proposal does not fulfill the proposal.
func TestCorrelate_NameDecidesNothing(t *testing.T) {
	r := open(t, rights{"alice": {"*"}, "agent": {"*"}, "tools": {"*"}}, nil)
	call := `"payload": {"method": "tools/call", "params": {"name": "delete"}}`
	r.must("agent", `{"id": "p", "kind": "mcp.proposal", "context": "plan", `+call+`}`)
	r.must("alice", `{"to": ["tools"], "kind": "mcp.request", "correlationId": "plan", "payload": {"method": "tools/call", "params": {"name": "other"}}}`)
	r.must("alice", `{"to": ["tools"], "kind": "mcp.request", "correlationId": "p", `+call+`}`) // the first decision
}
