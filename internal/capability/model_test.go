package capability

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
	"pgregory.net/rapid"
)

// event is a change as the models see it, with its place in the log.
type event struct {
	at     time.Time
	grant  *Grant
	revoke *Revocation
}

// history is a log with the configuration. The model evaluates single requests,
// not capabilities, and reads the whole log each time.
type history struct {
	configured Configured
	events     []event
}

// asked is an input of the model: a request, or the right to read.
type asked struct {
	*Request
	observe bool
}

func (a asked) selectedBy(c *Capability) bool {
	return c.Match(a.Request) && (c.Deny() || !a.observe || c.observes())
}

// given reports whether a list of capabilities by itself allows the request.
func (a asked) given(list []*Capability) bool {
	allowed := false
	for _, c := range list {
		if !a.selectedBy(c) {
			continue
		}
		if c.Deny() {
			return false
		}
		allowed = true
	}
	return allowed
}

// may reports whether, by the first n events as of now, p may make the request
// with rights acquired before the event number before.
func (h *history) may(p protocol.ParticipantID, a asked, before, n int, now time.Time) bool {
	allowed := false
	for _, c := range h.configured.Participants[p] {
		if c.Deny() && a.selectedBy(c) {
			return false
		}
		allowed = allowed || a.selectedBy(c) && !c.Deny()
	}
	if allowed && !h.revoked(p, "", a, 0, n) {
		return true
	}
	for i, e := range h.events[:before] {
		if e.grant == nil || e.grant.Recipient != p || e.grant.expired(now) {
			continue
		}
		if a.given(e.grant.Capabilities) && !h.revoked(p, e.grant.ID, a, i, n) && h.may(e.grant.Grantor, a, i, n, now) {
			return true
		}
	}
	return false
}

// revoked reports whether an event between from and n revoked p's right to make
// the request.
func (h *history) revoked(p protocol.ParticipantID, id protocol.ID, a asked, from, n int) bool {
	for _, e := range h.events[from:n] {
		v := e.revoke
		if v == nil || v.Recipient != p {
			continue
		}
		if id != "" && v.GrantID == id {
			return true
		}
		for _, c := range v.Capabilities {
			if a.selectedBy(c.asDeny()) {
				return true
			}
		}
	}
	return false
}

var modelIDs = []protocol.ParticipantID{"alice", "bob", "carol", "dora"}

// modelVocabulary lists the patterns of drawn capabilities.
var modelVocabulary = []string{
	`"*"`, `"chat"`, `"mcp.*"`, `"mcp.request"`, `"reasoning/*"`, `"reasoning/step"`, `"!chat"`, `"observe"`, `{"kind":"observe","deny":true}`,
	`{"kind":"mcp.request","payload":{"params":{"name":"read_*"}}}`,
	`{"kind":"mcp.request","payload":{"params":{"name":["read_a"]}}}`,
	`{"kind":"mcp.*","payload":{"params":{"name":"read_a"}},"deny":true}`,
	`{"kind":"mcp.request","payload":{"params":{"name":"!read_a"}},"deny":true}`,
	`{"kind":"chat","to":["bob"]}`, `{"kind":"chat","to":["bob","carol"]}`,
	`{"kind":"reasoning.*","context":"msg-1"}`, `{"kind":"reasoning.*","context":"msg-1/a"}`,
	`{"kind":"reasoning.start","deny":true}`,
}

// modelRequests returns the requests of the participants.
func modelRequests(t *testing.T) []asked {
	out := []asked{{&Request{Kind: observe}, true}}
	seeds := testkit.Rand(t)
	for range 40 {
		g := newGenerator(seeds.Uint64())
		r, err := g.request().compiled(g)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, asked{Request: r})
	}
	for _, name := range []string{`"name":"read_a"`, `"NAME":"read_a"`, `"name":"read_b"`, `"name":["read_a"]`, `"name":"delete_a"`} {
		out = append(out, asked{Request: &Request{Kind: "mcp.request", Payload: payload(t, `{"params":{`+name+`}}`)}})
	}
	for _, kind := range []protocol.Kind{"chat", "mcp.request", "mcp.response", "reasoning.start", "reasoning.thought"} {
		out = append(out, asked{Request: &Request{Kind: kind}})
	}
	return out
}

// world is a ledger that random things happen to.
type world struct {
	history
	ledger *Ledger
	now    time.Time
}

func newWorld(t *rapid.T) *world {
	w := &world{now: time.Unix(1000, 0)}
	w.configured = w.configuration(t)
	w.ledger = NewLedger(w.configured)
	return w
}

func (w *world) configuration(t *rapid.T) Configured {
	c := Configured{Participants: map[protocol.ParticipantID][]*Capability{}}
	for _, id := range modelIDs[:3] {
		c.Participants[id] = w.capabilities(t, 0, 3)
	}
	return c
}

func (w *world) capabilities(t *rapid.T, least, most int) []*Capability {
	var out []*Capability
	for _, text := range rapid.SliceOfN(rapid.SampledFrom(modelVocabulary), least, most).Draw(t, "capabilities") {
		c, err := ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// happen draws a change and applies it. Half of the grants are not checked, since
// they are evaluated on use.
func (w *world) happen(t *rapid.T) {
	who := rapid.SampledFrom(modelIDs)
	switch rapid.IntRange(0, 9).Draw(t, "what") {
	case 0:
		w.now = w.now.Add(time.Duration(rapid.IntRange(1, 5).Draw(t, "seconds")) * time.Second)
		return
	case 1, 2:
		v := Revocation{Recipient: who.Draw(t, "recipient"), At: w.now}
		if live := w.ledger.live(w.now); len(live) > 0 && rapid.Bool().Draw(t, "by id") {
			g := rapid.SampledFrom(live).Draw(t, "grant")
			v.Recipient, v.GrantID = g.Recipient, g.ID
		} else {
			v.Capabilities = slices.DeleteFunc(w.capabilities(t, 1, 2), (*Capability).Deny)
		}
		w.events = append(w.events, event{at: w.now, revoke: &v})
		w.ledger = w.ledger.Apply(v)
		return
	}
	g := Grant{
		ID: protocol.ID(fmt.Sprintf("g%d", len(w.events))), At: w.now,
		Grantor: who.Draw(t, "grantor"), Recipient: who.Draw(t, "recipient"), Capabilities: w.capabilities(t, 1, 3),
	}
	if ttl := rapid.IntRange(0, 12).Draw(t, "ttl"); ttl > 0 {
		g.ExpiresAt = w.now.Add(time.Duration(ttl) * time.Second)
	}
	if rapid.Bool().Draw(t, "checked") && w.ledger.CheckGrant(g) != nil {
		return
	}
	w.events = append(w.events, event{at: w.now, grant: &g})
	w.ledger = w.ledger.Apply(g)
}

// restore replaces the ledger with one that is made of its holdings.
func (w *world) restore(t *rapid.T) {
	w.ledger = NewLedger(w.configured).Restored(w.ledger.Position(), func(yield func(protocol.ParticipantID, Holding) bool) {
		for id, h := range w.ledger.Holdings() {
			for i, g := range h.Grants {
				h.Grants[i].Capabilities = nil
				for _, c := range g.Capabilities {
					h.Grants[i].Capabilities = append(h.Grants[i].Capabilities, reparsed(t, c))
				}
			}
			for i, v := range h.Revoked {
				h.Revoked[i].Rule = reparsed(t, v.Rule)
			}
			if !yield(id, h) {
				return
			}
		}
	})
}

func reparsed(t *rapid.T, c *Capability) *Capability {
	again, err := ParseStored([]byte(c.String()))
	if err != nil || again.String() != c.String() || string(again.slash) != string(c.slash) || again.deny != c.deny || again.plain != c.plain || again.program != c.program {
		t.Fatalf("%s became %+v, %v", c, again, err)
	}
	return again
}

// live lists the live grants.
func (l *Ledger) live(now time.Time) []Grant {
	var out []Grant
	for _, r := range l.grants.All() {
		if !r.expired(now) {
			out = append(out, r.Grant)
		}
	}
	return out
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
	for _, g := range l.live(now) {
		out["grants"] = append(out["grants"].([]any), []any{g.ID, g.ExpiresAt})
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// The ledger decides like the model, after checked and unchecked grants, and
// under another configuration. It never displays more rights than the model.
func TestLedger_AgreesWithModel(t *testing.T) {
	requests := modelRequests(t)
	var allowed, passedOn, shown int
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(5, 30).Draw(t, "steps") {
			w.happen(t)
			if rapid.IntRange(0, 4).Draw(t, "look") == 0 {
				state(w.ledger, w.now) // a cached value must not outlive its dependencies
			}
			if rapid.IntRange(0, 4).Draw(t, "restart") == 0 {
				w.restore(t)
			}
		}
		if rapid.Bool().Draw(t, "reload") {
			w.configured = w.configuration(t)
			w.ledger = w.ledger.WithConfiguredOf(NewLedger(w.configured))
		}
		for _, p := range modelIDs {
			rights := w.ledger.Effective(p, w.now)
			displayed := w.displayed(t, p)
			for _, a := range requests {
				want := w.may(p, a, len(w.events), len(w.events), w.now)
				got := rights.Observes()
				if !a.observe {
					got = rights.Decide(a.Request).Allowed
				}
				if got != want {
					t.Fatalf("%s may send %s %s: %v, the model has %v\n%s", p, a.Kind, a.Payload.Raw(), got, want, state(w.ledger, w.now))
				}
				if a.given(displayed) {
					shown++
					if !want {
						t.Fatalf("%s is shown %v and may not send %s %s to %v", p, displayed, a.Kind, a.Payload.Raw(), a.To)
					}
				}
				if want {
					allowed++
					if !a.given(w.configured.Participants[p]) {
						passedOn++
					}
				}
			}
		}
		want := state(w.ledger, w.now)
		if got := state(NewLedger(w.configured).Apply(w.changes()...), w.now); got != want {
			t.Fatalf("replayed:\n%s\nwas:\n%s", got, want)
		}
		if got := state(w.ledger.WithConfiguredOf(NewLedger(w.configured)), w.now); got != want {
			t.Fatalf("configured again:\n%s\nwas:\n%s", got, want)
		}
	})
	t.Logf("%d allowed, %d of them by grants, %d shown", allowed, passedOn, shown)
	if passedOn < allowed/20 || shown < allowed/2 {
		t.Error("the histories prove little")
	}
}

// displayed parses the displayed capabilities of a participant.
func (w *world) displayed(t *rapid.T, p protocol.ParticipantID) []*Capability {
	var out []*Capability
	for _, text := range w.ledger.Display(p, w.now) {
		c, err := ParseJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}
