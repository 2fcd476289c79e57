package capability

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// scene is a ledger and a clock, for telling stories.
type scene struct {
	t      *testing.T
	ledger *Ledger
	now    time.Time
	grants int
}

func newScene(t *testing.T, configured map[string][]string, issued ...string) *scene {
	return &scene{t: t, ledger: NewLedger(configuration(t, configured, issued...)), now: time.Unix(1000, 0).UTC()}
}

func configuration(t testing.TB, configured map[string][]string, issued ...string) Configured {
	c := Configured{Participants: map[protocol.ParticipantID][]*Capability{}, Issued: all(t, issued...)}
	for id, caps := range configured {
		c.Participants[protocol.ParticipantID(id)] = all(t, caps...)
	}
	return c
}

// tryGrant checks a grant and folds it if it is admitted.
func (s *scene) tryGrant(from, to string, ttl time.Duration, caps ...string) (protocol.ID, *protocol.Error) {
	s.grants++
	g := Grant{
		ID: protocol.ID(fmt.Sprintf("g%d", s.grants)), Grantor: protocol.ParticipantID(from),
		Recipient: protocol.ParticipantID(to), Capabilities: all(s.t, caps...), At: s.now,
	}
	if ttl > 0 {
		g.ExpiresAt = s.now.Add(ttl)
	}
	if err := s.ledger.CheckGrant(g); err != nil {
		return g.ID, protocol.AsError(err)
	}
	s.ledger = s.ledger.Apply(g)
	return g.ID, nil
}

func (s *scene) grant(from, to string, ttl time.Duration, caps ...string) protocol.ID {
	s.t.Helper()
	id, err := s.tryGrant(from, to, ttl, caps...)
	if err != nil {
		s.t.Fatalf("%s grants %s to %s: %v", from, caps, to, err)
	}
	return id
}

func (s *scene) refused(from, to string, says string, caps ...string) {
	s.t.Helper()
	_, err := s.tryGrant(from, to, 0, caps...)
	if err == nil || err.Code != protocol.CodeCannotDelegate || !strings.Contains(err.Message, says) {
		s.t.Errorf("%s grants %s to %s: %v, want %q", from, caps, to, err, says)
	}
}

func (s *scene) revokeGrant(from string, id protocol.ID) {
	s.ledger = s.ledger.Apply(Revocation{Recipient: protocol.ParticipantID(from), GrantID: id, At: s.now})
}

func (s *scene) revoke(from string, caps ...string) {
	s.ledger = s.ledger.Apply(Revocation{Recipient: protocol.ParticipantID(from), Capabilities: all(s.t, caps...), At: s.now})
}

// may checks who may send kinds: "alice: chat mcp.request".
func (s *scene) may(who string, want bool, kinds ...string) {
	s.t.Helper()
	set := s.ledger.Effective(protocol.ParticipantID(who), s.now)
	for _, k := range kinds {
		if got := set.Decide(&Request{Kind: protocol.Kind(k)}).Allowed; got != want {
			s.t.Errorf("%s may send %s: %v", who, k, got)
		}
	}
}

func (s *scene) calls(who, tool string, want bool) {
	s.t.Helper()
	r := &Request{Kind: "mcp.request", Payload: payload(s.t, `{"method":"tools/call","params":{"name":"`+tool+`"}}`)}
	if got := s.ledger.Effective(protocol.ParticipantID(who), s.now).Decide(r).Allowed; got != want {
		s.t.Errorf("%s may call %s: %v", who, tool, got)
	}
}

func (s *scene) shows(who, want string) {
	s.t.Helper()
	got, err := json.Marshal(s.ledger.Display(protocol.ParticipantID(who), s.now))
	if err != nil || string(got) != want {
		s.t.Errorf("%s is shown %s (%v), want %s", who, got, err, want)
	}
}

func TestGrant(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}, "bob": {"chat"}, "carol": nil})
	s.may("bob", false, "mcp.request")
	id := s.grant("alice", "bob", 0, "mcp/*", "chat")
	s.may("bob", true, "mcp.request", "chat")
	s.shows("bob", `["chat","mcp/*"]`)
	s.refused("bob", "carol", `you cannot grant "reasoning/*": you do not hold it`, "mcp.request", "reasoning/*")
	s.refused("carol", "carol", "do not hold", "chat")
	s.refused("alice", "bob", `what you hold is "*", which does not contain it`, "observe")
	s.refused("alice", "bob", "gives nothing", `{"kind":"chat","deny":true}`)
	s.grant("bob", "carol", 0, "mcp.request", "chat")
	s.may("carol", true, "mcp.request")
	s.may("carol", false, "mcp.response")

	if g, ok := s.ledger.Grant(id, s.now); !ok || g.Recipient != "bob" {
		t.Errorf("the grant is %+v", g)
	}
}

func TestGrantNarrower(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {
		`{"kind":"mcp.request","payload":{"params":{"name":"read_*"}}}`,
	}})
	s.grant("alice", "bob", 0, `{"kind":"mcp.request","payload":{"params":{"name":"read_a"}}}`)
	s.calls("bob", "read_a", true)
	s.calls("bob", "read_b", false)
	s.refused("alice", "bob", "does not contain it", "mcp.request")
	s.refused("alice", "bob", "does not contain it", `{"kind":"mcp.request","payload":{"params":{"name":"*"}}}`)
}

func TestRevokeGrant(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}, "dora": {"*"}, "bob": {"chat"}})
	first := s.grant("alice", "bob", 0, "mcp/*", "chat")
	s.grant("bob", "carol", 0, "mcp.request")
	s.grant("bob", "carol", 0, "chat") // bob has chat by configuration
	s.grant("carol", "eve", 0, "mcp.request")
	s.revokeGrant("carol", first) // not carol's
	s.may("bob", true, "mcp.request")
	s.revokeGrant("bob", first)
	s.may("bob", false, "mcp.request")
	s.may("carol", false, "mcp.request")
	s.may("eve", false, "mcp.request")
	s.may("bob", true, "chat")
	s.may("carol", true, "chat")
	s.revokeGrant("bob", first) // again

	s.grant("alice", "bob", 0, "mcp/*")
	s.may("bob", true, "mcp.request")
	s.may("carol", false, "mcp.request") // a revoked right is not restored
	s.may("eve", false, "mcp.request")
}

func TestRevokeWithAnotherParent(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}, "dora": {"*"}})
	first := s.grant("alice", "bob", 0, "mcp/*")
	s.grant("dora", "bob", time.Minute, "mcp/*")
	s.grant("bob", "carol", 0, "mcp.request")
	s.revokeGrant("bob", first)
	s.may("carol", true, "mcp.request")
	s.now = s.now.Add(time.Minute)
	s.may("carol", false, "mcp.request")
}

// A right cannot be handed in a circle to survive its revocation.
func TestRevokeCircle(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}})
	first := s.grant("alice", "bob", 0, "chat")
	s.grant("bob", "carol", 0, "chat")
	s.grant("carol", "bob", 0, "chat")
	s.grant("bob", "bob", 0, "chat")
	s.revokeGrant("bob", first)
	s.may("bob", false, "chat")
	s.may("carol", false, "chat")
	s.shows("bob", `[]`)
	s.shows("carol", `[]`)
}

func TestRevokeCapabilities(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}, "bob": {"*", "observe"}})
	s.grant("bob", "carol", 0, "mcp/*")
	s.grant("bob", "carol", 0, "chat")
	s.revoke("bob", "mcp.request", "chat")
	s.may("bob", false, "mcp.request", "chat")
	s.may("bob", true, "mcp.response")
	s.may("carol", false, "mcp.request", "chat")
	s.may("carol", true, "mcp.response")
	s.shows("bob", `["*","observe",{"kind":"mcp.request","deny":true},{"kind":"chat","deny":true}]`)
	s.shows("carol", `["mcp/*",{"kind":"mcp.request","deny":true}]`)
	s.refused("bob", "carol", `{"kind":"chat","deny":true} denies it to you`, "chat")

	s.grant("alice", "bob", 0, "chat") // the last word wins
	s.may("bob", true, "chat")
	s.may("bob", false, "mcp.request")
	s.may("carol", false, "chat")
	s.shows("bob", `["*","observe","chat",{"kind":"mcp.request","deny":true}]`)
	if !s.ledger.Effective("bob", s.now).Observes() {
		t.Error("bob does not observe")
	}
	s.revoke("bob", "*")
	s.may("bob", false, "chat", "mcp.response")
	s.may("carol", false, "mcp.response")
	s.shows("bob", `[]`)
	if s.ledger.Effective("bob", s.now).Observes() {
		t.Error("bob still observes")
	}
	if d := s.ledger.Effective("carol", s.now).Decide(&Request{Kind: "mcp.request"}); d.Allowed || d.By == nil || d.By.String() != `{"kind":"*","deny":true}` {
		t.Errorf("the decision for carol is %+v", d)
	}
}

func TestDecideTaken(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}})
	s.revoke("alice", "chat")
	r := &Request{Kind: "chat"}
	if d := s.ledger.Effective("alice", s.now).Decide(r); d.Allowed || d.By == nil || !d.By.Deny() {
		t.Errorf("the decision is %+v", d)
	}
}

func TestConfiguredDenyWins(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}, "bob": {"chat", `{"kind":"space.kick","deny":true}`}})
	s.grant("alice", "bob", 0, "*")
	s.may("bob", true, "mcp.request")
	s.may("bob", false, "space.kick")
	s.refused("bob", "carol", "denies it to you", "space.kick")
	s.grant("bob", "carol", 0, "space/*") // the denial travels along
	s.may("carol", true, "space.invite")
	s.may("carol", false, "space.kick")
	s.grant("bob", "carol", 0, "mcp.request") // and not where it does not matter
	s.shows("carol", `["space/*","mcp.request",{"kind":"space.kick","deny":true}]`)
}

func TestDenyTravels(t *testing.T) {
	noDelete := `{"kind":"mcp.request","payload":{"params":{"name":"/^delete_/"}},"deny":true}`
	s := newScene(t, map[string][]string{"alice": {"*", noDelete}, "bob": {"mcp.response"}})
	s.grant("alice", "bob", 0, "mcp.request")
	s.grant("bob", "carol", 0, "mcp.request", `{"kind":"mcp.request","payload":{"params":{"name":"secret"}},"deny":true}`)
	s.grant("carol", "dora", 0, "mcp.request")
	s.calls("bob", "read", true)
	s.calls("bob", "delete_all", false)
	s.calls("bob", "secret", true)
	for _, who := range []string{"carol", "dora"} {
		s.calls(who, "read", true)
		s.calls(who, "delete_all", false)
		s.calls(who, "secret", false)
	}
}

// A deny rule in a grant limits that grant and nothing else.
func TestDenyInGrant(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}, "bob": {"chat"}})
	s.grant("alice", "bob", 0, "*", `{"kind":"chat","deny":true}`, `{"kind":"space.*","deny":true}`)
	s.may("bob", true, "chat", "mcp.request")
	s.may("bob", false, "space.kick")
	s.shows("bob", `["chat","*",{"kind":"space.*","deny":true}]`)
}

func TestExpiry(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}})
	start := s.now
	s.grant("alice", "bob", time.Minute, "chat", "mcp/*")
	s.grant("bob", "carol", time.Hour, "chat")
	s.grant("bob", "carol", 10*time.Second, "mcp.request")
	if next, ok := s.ledger.NextExpiry(s.now); !ok || !next.Equal(start.Add(10*time.Second)) {
		t.Errorf("next expiry %v", next)
	}
	s.may("carol", true, "chat", "mcp.request")
	s.now = start.Add(10 * time.Second)
	s.may("carol", true, "chat")
	s.may("carol", false, "mcp.request")
	if next, _ := s.ledger.NextExpiry(s.now); !next.Equal(start.Add(time.Minute)) {
		t.Errorf("next expiry %v", next)
	}
	s.now = start.Add(time.Minute - 1)
	s.may("bob", true, "chat")
	s.now = start.Add(time.Minute)
	s.may("bob", false, "chat")
	s.may("carol", false, "chat")
	s.refused("bob", "dora", "do not hold", "chat")
	s.shows("carol", `[]`)
	if next, _ := s.ledger.NextExpiry(s.now); !next.Equal(start.Add(time.Hour)) {
		t.Errorf("next expiry %v", next)
	}
	if _, ok := s.ledger.NextExpiry(start.Add(time.Hour)); ok {
		t.Error("something is left to expire")
	}
	s.now = start.Add(time.Second) // an earlier reader
	s.may("bob", true, "chat")
}

// TestExpiry_ClockWasAhead: a grant that was made while a gateway's clock was ahead
// does not end the ones that are made after the correction.
func TestExpiry_ClockWasAhead(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}})
	start := s.now
	s.now = start.Add(30 * 24 * time.Hour)
	s.grant("alice", "bob", time.Minute, "chat")
	s.now = start
	s.grant("alice", "carol", time.Minute, "chat")
	s.may("carol", true, "chat")
	s.now = start.Add(time.Minute)
	s.may("carol", false, "chat")
	s.grant("alice", "dora", time.Minute, "chat") // drops carol's
	if got := s.ledger.total.capabilities; got != 2 {
		t.Errorf("%d capabilities are kept", got)
	}
}

// TestExpiry_ClockWasAheadForOnce: a grant that a change of a gateway whose clock was ahead
// ended gives nothing to the list of its recipient's recipients either.
func TestExpiry_ClockWasAheadForOnce(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}, "bob": {}, "carol": {}, "dora": {}})
	s.grant("alice", "bob", time.Hour, "chat", "capability.grant")
	s.grant("bob", "carol", 0, "chat")
	s.shows("carol", `["chat"]`)
	s.now = s.now.Add(2 * time.Hour)
	s.grant("alice", "dora", 0, "x.tool")
	s.now = s.now.Add(-2 * time.Hour)
	s.may("carol", false, "chat")
	s.shows("carol", `[]`)
}

func TestInvitation(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"space.*", "chat"}}, "reasoning/*")
	s.may("stranger", true, "reasoning.start")
	g := Grant{ID: "i1", Grantor: "alice", Recipient: "guest", Invitation: true, At: s.now,
		Capabilities: all(t, "chat", "mcp.request"), ExpiresAt: s.now.Add(time.Minute)}
	if err := s.ledger.CheckGrant(g); !errors.Is(err, protocol.Errorf(protocol.CodeCannotDelegate, "")) {
		t.Errorf("inviting with more than one holds: %v", err)
	}
	g.Capabilities = all(t, "chat")
	if err := s.ledger.CheckGrant(g); err != nil {
		t.Error(err)
	}
	s.ledger = s.ledger.Apply(g)
	s.may("guest", true, "chat")
	s.may("guest", false, "reasoning.start")
	s.now = s.now.Add(time.Minute)
	s.may("guest", false, "chat")
	bare := Grant{ID: "i2", Grantor: "alice", Recipient: "mute", Invitation: true, At: s.now}
	if err := s.ledger.CheckGrant(bare); err != nil {
		t.Error(err)
	}
	s.ledger = s.ledger.Apply(bare)
	s.may("mute", false, "chat", "reasoning.start")
	s.shows("mute", `[]`)
	s.ledger = s.ledger.Apply(Grant{ID: "i3", Grantor: "alice", Recipient: "alice", Invitation: true, At: s.now})
	s.may("alice", true, "chat") // the configuration names her
}

// An invited participant stays invited: when the rights of the invitation end, it
// does not get the rights of an issuer's tokens, not even after a reload.
func TestInvitationIsRemembered(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}}, "reasoning/*")
	s.grant("guest", "other", 0, "reasoning.start")
	s.ledger = s.ledger.Apply(Grant{ID: "i", Grantor: "alice", Recipient: "guest", Invitation: true, At: s.now,
		Capabilities: all(t, "chat"), ExpiresAt: s.now.Add(time.Second)})
	s.shows("other", `["reasoning/*"]`) // by its own token alone
	s.now = s.now.Add(time.Minute)
	s.grant("alice", "bob", 0, "chat")
	s.ledger = s.ledger.WithConfiguredOf(NewLedger(configuration(t, map[string][]string{"alice": {"*"}}, "reasoning/*")))
	s.may("guest", false, "chat", "reasoning.start")
}

func TestReplayedTwice(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}})
	g := Grant{ID: "g", Grantor: "alice", Recipient: "bob", Capabilities: all(t, "chat"), At: s.now}
	s.ledger = s.ledger.Apply(g, g)
	if n := s.ledger.grants.Len(); n != 1 {
		t.Errorf("%d grants", n)
	}
	s.revokeGrant("bob", "g")
	s.may("bob", false, "chat")
}

// Two states that grow out of one do not see each other.
func TestBranches(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}})
	for range 5 {
		s.grant("alice", "bob", 0, "x.a")
		root := s.ledger
		branch := func(kind string) *Ledger {
			return root.Apply(Grant{ID: protocol.ID(kind), Grantor: "alice", Recipient: "bob", At: s.now, Capabilities: all(t, kind)})
		}
		left, right := branch("x.left"), branch("x.right")
		for kind, l := range map[protocol.Kind]*Ledger{"x.left": left, "x.right": right} {
			if !l.Effective("bob", s.now).Decide(&Request{Kind: kind}).Allowed {
				t.Fatalf("bob may not send %s", kind)
			}
		}
	}
}

// Of two rights the one is handed on that less was taken from.
func TestBestParent(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}, "bob": {"mcp/*"}})
	s.revoke("bob", "mcp.request")
	s.grant("alice", "bob", 0, "mcp/*")
	s.grant("bob", "carol", 0, "mcp/*")
	s.may("carol", true, "mcp.request")
}

func TestIssued(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}}, "chat", "observe")
	s.may("someone", true, "chat")
	s.grant("someone", "other", 0, "chat")
	s.grant("alice", "someone", 0, "mcp.request")
	s.may("someone", true, "chat", "mcp.request")
	s.revoke("someone", "chat")
	s.may("someone", false, "chat")
	s.may("third", true, "chat")
}

func TestReload(t *testing.T) {
	before := map[string][]string{"alice": {"*"}, "bob": {"chat"}}
	s := newScene(t, before)
	s.grant("alice", "bob", 0, "mcp.request")
	s.grant("alice", "bob", 0, "reasoning/*")
	s.grant("bob", "carol", 0, "mcp.request")
	s.revoke("bob", "reasoning/*")

	s.ledger = s.ledger.WithConfiguredOf(NewLedger(configuration(t, map[string][]string{"alice": {"chat"}, "bob": {"*"}})))
	s.may("bob", true, "chat", "mcp.request")
	s.may("bob", false, "reasoning.start") // a revoked right is not restored
	s.may("carol", true, "mcp.request")    // bob may give it by configuration
	s.ledger = s.ledger.WithConfiguredOf(NewLedger(configuration(t, map[string][]string{"alice": {"chat"}, "bob": {"chat"}})))
	s.may("bob", false, "mcp.request")
	s.may("carol", false, "mcp.request")
	s.ledger = s.ledger.WithConfiguredOf(NewLedger(configuration(t, before)))
	s.may("bob", true, "mcp.request")
	s.may("carol", true, "mcp.request")
	s.may("bob", false, "reasoning.start")
}

func TestDisplaySlash(t *testing.T) {
	s := newScene(t, map[string][]string{"bob": {"chat", "mcp.request", `{"kind":"reasoning.*","to":"a"}`, "/^x\\./"}})
	got, _ := json.Marshal(s.ledger.DisplaySlash("bob", s.now))
	if want := `["chat","mcp/request",{"kind":"reasoning/*","to":"a"},"/^x\\./"]`; string(got) != want {
		t.Errorf("shown %s, want %s", got, want)
	}
	s.shows("bob", `["chat","mcp.request",{"kind":"reasoning.*","to":"a"},"/^x\\./"]`)
}

// Old states stay as they were, and many readers may share one.
func TestSnapshots(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"*"}, "bob": nil}, "chat")
	states := []*Ledger{s.ledger}
	for i := range 20 {
		s.grant("alice", "bob", time.Duration(i%3)*time.Minute, fmt.Sprintf("x.k%d", i))
		states = append(states, s.ledger)
	}
	s.revoke("bob", "x.*")
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for n, state := range states {
				for i := range 20 {
					r := &Request{Kind: protocol.Kind(fmt.Sprintf("x.k%d", i))}
					if got := state.Effective("bob", s.now).Decide(r).Allowed; got != (i < n) {
						t.Errorf("in state %d bob may send %s: %v", n, r.Kind, got)
					}
				}
				state.Effective("stranger", s.now)
			}
		})
	}
	readers.Wait()
	for _, who := range []protocol.ParticipantID{"alice", "bob"} {
		if s.ledger.view(who, s.now) != s.ledger.view(who, s.now.Add(time.Second)) {
			t.Errorf("the view of %s is not kept", who)
		}
	}
}

func TestRights_PossibleTo(t *testing.T) {
	for list, want := range map[string][2]bool{
		`"chat"`:        {false, false},
		`"*"`:           {false, true},
		`"mcp.request"`: {false, true},
		`{"kind":"mcp.request","to":"me","payload":{"params":{"name":"Read"}}}`:             {true, false},
		`{"kind":"mcp.request","to":["me"]},"*"`:                                            {true, true},
		`{"kind":"mcp.request","to":"m*"}`:                                                  {false, true},
		`{"kind":"mcp.request","to":"files"}`:                                               {false, false},
		`"*",{"kind":"mcp.request","payload":{"params":{"name":"Bash"}},"deny":true}`:       {false, true},
		`"*",{"kind":"mcp.*","deny":true}`:                                                  {false, false},
		`{"kind":"mcp.request","to":"me"},{"kind":"mcp.proposal","to":"files","deny":true}`: {true, false},
	} {
		t.Run(list, func(t *testing.T) {
			var texts []json.RawMessage
			if err := json.Unmarshal([]byte("["+list+"]"), &texts); err != nil {
				t.Fatal(err)
			}
			var caps []*Capability
			for _, text := range texts {
				caps = append(caps, mustParse(t, string(text)))
			}
			l := NewLedger(Configured{Participants: map[protocol.ParticipantID][]*Capability{"me": caps}})
			named, other := l.Effective("me", time.Unix(1000, 0)).PossibleTo(protocol.KindMCPRequest, "me")
			if got := [2]bool{named, other}; got != want {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

func TestRights_Possible(t *testing.T) {
	s := newScene(t, map[string][]string{
		"asker":  {`{"kind":"chat","payload":{"message":"/ask *"}}`},
		"reader": {"reasoning/*", "observe"},
		"denied": {"*", `{"kind":"chat","deny":true}`},
		"partly": {"*", `{"kind":"chat","to":"root","deny":true}`},
		"owner":  {"*"},
	})
	s.grant("owner", "guest", time.Minute, "chat")
	for id, want := range map[protocol.ParticipantID]bool{"asker": true, "reader": false, "denied": false, "partly": true, "owner": true, "guest": true, "nobody": false} {
		if got := s.ledger.Effective(id, s.now).Possible("chat"); got != want {
			t.Errorf("%s: got %v, want %v", id, got, want)
		}
	}
	if s.ledger.Effective("guest", s.now.Add(time.Hour)).Possible("chat") {
		t.Error("guest may send chats after the grant has ended")
	}
}
