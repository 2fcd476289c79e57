package capability

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/meup-protocol/meup/protocol"
	"pgregory.net/rapid"
)

// event is a change as the models see it, with its place in the log.
type event struct {
	at     time.Time
	grant  *Grant
	revoke *Revocation
}

// history is a log and what the models need to judge it. The models work on
// single requests, not on capabilities, and look at the whole log each time.
type history struct {
	configured Configured
	events     []event
}

// may reports whether, by the first n events as of now, p may make the request
// with rights acquired before the event number before.
func (h *history) may(p protocol.ParticipantID, r *Request, before, n int, now time.Time) bool {
	allowed := false
	for _, c := range h.configured.Participants[p] {
		if c.Deny() && c.Match(r) {
			return false
		}
		allowed = allowed || c.Match(r) && !c.Deny()
	}
	if allowed && !h.revoked(p, "", r, 0, n) {
		return true
	}
	for i, e := range h.events[:before] {
		if e.grant == nil || e.grant.Recipient != p || e.grant.expired(now) {
			continue
		}
		if NewSet(e.grant.Capabilities...).Decide(r).Allowed && !h.revoked(p, e.grant.ID, r, i, n) &&
			h.may(e.grant.Granter, r, i, n, now) {
			return true
		}
	}
	return false
}

// revoked reports whether something between the events from and n took the
// right to make the request from p.
func (h *history) revoked(p protocol.ParticipantID, id protocol.ID, r *Request, from, n int) bool {
	for _, e := range h.events[from:n] {
		v := e.revoke
		if v == nil || v.Recipient != p {
			continue
		}
		if id != "" && v.GrantID == id {
			return true
		}
		for _, c := range v.Capabilities {
			if c.asDeny().Match(r) {
				return true
			}
		}
	}
	return false
}

var modelIDs = []protocol.ParticipantID{"alice", "bob", "carol", "dora"}

// world is a ledger that random things happen to.
type world struct {
	history
	ledger *Ledger
	now    time.Time
	vocab  []string
	perOne int // capabilities in one grant at most
}

func newWorld(t *rapid.T, vocab []string, perOne int) *world {
	w := &world{vocab: vocab, perOne: perOne, now: time.Unix(1000, 0)}
	w.configured.Participants = map[protocol.ParticipantID][]*Capability{}
	for _, id := range modelIDs[:3] {
		w.configured.Participants[id] = w.capabilities(t, 0, 3)
	}
	w.ledger = NewLedger(w.configured)
	return w
}

func (w *world) capabilities(t *rapid.T, least, most int) []*Capability {
	var out []*Capability
	for _, text := range rapid.SliceOfN(rapid.SampledFrom(w.vocab), least, most).Draw(t, "capabilities") {
		c, err := ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// happen draws a change and applies it; it returns false for a refused one.
func (w *world) happen(t *rapid.T) bool {
	who := rapid.SampledFrom(modelIDs)
	switch rapid.IntRange(0, 9).Draw(t, "what") {
	case 0:
		w.now = w.now.Add(time.Duration(rapid.IntRange(1, 5).Draw(t, "seconds")) * time.Second)
		return false
	case 1, 2:
		v := Revocation{Recipient: who.Draw(t, "recipient"), At: w.now}
		if live := w.ledger.Grants(w.now); len(live) > 0 && rapid.Bool().Draw(t, "by id") {
			g := rapid.SampledFrom(live).Draw(t, "grant")
			v.Recipient, v.GrantID = g.Recipient, g.ID
		} else {
			v.Capabilities = slices.DeleteFunc(w.capabilities(t, 1, 2), (*Capability).Deny)
		}
		w.events = append(w.events, event{at: w.now, revoke: &v})
		w.ledger = w.ledger.Apply(v)
		return true
	}
	g := Grant{
		ID: protocol.ID(fmt.Sprintf("g%d", len(w.events))), At: w.now,
		Granter: who.Draw(t, "granter"), Recipient: who.Draw(t, "recipient"), Capabilities: w.capabilities(t, 1, w.perOne),
	}
	if ttl := rapid.IntRange(0, 12).Draw(t, "ttl"); ttl > 0 {
		g.ExpiresAt = w.now.Add(time.Duration(ttl) * time.Second)
	}
	if w.ledger.CheckGrant(g) != nil {
		return false
	}
	w.events = append(w.events, event{at: w.now, grant: &g})
	w.ledger = w.ledger.Apply(g)
	return true
}

func (w *world) changes() []Change {
	var out []Change
	for _, e := range w.events {
		if e.grant != nil {
			out = append(out, *e.grant)
		} else {
			out = append(out, *e.revoke)
		}
	}
	return out
}

// state writes down everything that a ledger shows.
func state(l *Ledger, now time.Time) string {
	out := map[string]any{"grants": []any{}}
	for _, id := range modelIDs {
		out[string(id)] = l.Display(id, now)
	}
	for _, g := range l.Grants(now) {
		out["grants"] = append(out["grants"].([]any), []any{g.ID, g.ExpiresAt, g.Parents})
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// With nothing but single literal kinds, the ledger must agree with the model
// on everything.
func TestLedgerAgreesWithModel(t *testing.T) {
	kinds := []protocol.Kind{"chat", "mcp.request", "reasoning.start"}
	vocab := []string{`"chat"`, `"mcp.request"`, `"reasoning.start"`}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, vocab, 1)
		for range rapid.IntRange(5, 40).Draw(t, "steps") {
			w.happen(t)
			for _, p := range modelIDs {
				for _, k := range kinds {
					r := &Request{Kind: k}
					want := w.may(p, r, len(w.events), len(w.events), w.now)
					if got := w.ledger.Effective(p, w.now).Decide(r).Allowed; got != want {
						t.Fatalf("%s may send %s: %v, the model says %v\n%s", p, k, got, want, state(w.ledger, w.now))
					}
				}
			}
		}
	})
}

// With any capabilities, nobody may do what the model does not trace to a
// configured right; and every state is a function of the log.
func TestLedgerIsTraceable(t *testing.T) {
	vocab := []string{
		`"*"`, `"chat"`, `"mcp.*"`, `"mcp.request"`, `"reasoning/*"`, `"reasoning/step"`, `"!chat"`, `"observe"`,
		`{"kind":"mcp.request","payload":{"params":{"name":"read_*"}}}`,
		`{"kind":"mcp.request","payload":{"params":{"name":["read_a"]}}}`,
		`{"kind":"mcp.*","payload":{"params":{"name":"read_a"}},"deny":true}`,
		`{"kind":"chat","to":["bob"]}`, `{"kind":"chat","to":["bob","carol"]}`,
		`{"kind":"reasoning.*","context":"msg-1"}`, `{"kind":"reasoning.*","context":"msg-1/a"}`,
		`{"kind":"reasoning.start","deny":true}`,
	}
	var requests []*Request
	for i := range 60 {
		g := newGenerator(uint64(i))
		r, err := g.request().compiled(g)
		if err != nil {
			t.Fatal(err)
		}
		requests = append(requests, r)
	}
	for _, name := range []string{"read_a", "read_b", "delete_a"} {
		requests = append(requests, &Request{Kind: "mcp.request", Payload: payload(t, `{"params":{"name":"`+name+`"}}`)})
	}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, vocab, 3)
		for range rapid.IntRange(5, 30).Draw(t, "steps") {
			w.happen(t)
		}
		for _, p := range modelIDs {
			set := w.ledger.Effective(p, w.now)
			for _, r := range requests {
				if set.Decide(r).Allowed && !w.may(p, r, len(w.events), len(w.events), w.now) {
					t.Fatalf("%s may send %s %s, which the model does not trace\n%s", p, r.Kind, r.Payload.Raw(), state(w.ledger, w.now))
				}
			}
		}
		w.checkParents(t)
		want := state(w.ledger, w.now)
		if got := state(NewLedger(w.configured).Apply(w.changes()...), w.now); got != want {
			t.Fatalf("replayed:\n%s\nwas:\n%s", got, want)
		}
		if got := state(w.ledger.WithConfigured(w.configured), w.now); got != want {
			t.Fatalf("configured again:\n%s\nwas:\n%s", got, want)
		}
	})
}

func (w *world) checkParents(t *rapid.T) {
	for _, g := range w.ledger.Grants(w.now) {
		for _, id := range g.Parents {
			parent, ok := w.ledger.Grant(id, w.now)
			if !ok || parent.Recipient != g.Granter {
				t.Fatalf("grant %s is derived from %s: %+v", g.ID, id, parent)
			}
			if !parent.ExpiresAt.IsZero() && (g.ExpiresAt.IsZero() || g.ExpiresAt.After(parent.ExpiresAt)) {
				t.Fatalf("grant %s outlives its parent %s", g.ID, id)
			}
		}
		last := w.ledger.Chain(g.ID)
		if len(last) == 0 || len(last[len(last)-1].Parents) != 0 {
			t.Fatalf("grant %s is not traced to a configured right", g.ID)
		}
	}
}
