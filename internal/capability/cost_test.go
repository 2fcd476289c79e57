package capability

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// longGlobs returns n capabilities with the longest globs that are allowed.
func longGlobs(t testing.TB, n int) []*Capability {
	var out []*Capability
	for i := range n {
		glob := fmt.Sprintf("%03d", i) + strings.Repeat("a*", (maxTextBytes-3)/2)
		out = append(out, must(t, `{"kind":"x.tool","payload":{"a":"`+glob+`"}}`))
	}
	return out
}

// Three grants of 64 long globs each, passed on 16 times: the checks, the folds,
// a reload and a restart together stay cheap.
func TestGrantCost_LongGlobs(t *testing.T) {
	globs := longGlobs(t, 3*maxPerGrant)
	configured := Configured{Participants: map[protocol.ParticipantID][]*Capability{"alice": all(t, "*")}}
	bounded(t, 2*time.Second, func() { grantLongGlobs(t, configured, globs) })
}

func grantLongGlobs(t *testing.T, configured Configured, globs []*Capability) {
	t.Helper()
	l, now := NewLedger(configured), time.Unix(1000, 0)
	var changes []Change
	grant := func(from, to protocol.ParticipantID, caps []*Capability) {
		g := Grant{ID: protocol.ID(fmt.Sprintf("g%d", len(changes))), Grantor: from, Recipient: to, Capabilities: caps, At: now}
		if err := l.CheckGrant(g); err != nil {
			t.Fatal(err)
		}
		l = l.Apply(g)
		l.Display(to, now)
		changes = append(changes, g)
	}
	for i := range 3 {
		grant("alice", "bob", globs[i*maxPerGrant:(i+1)*maxPerGrant])
	}
	for i := range 16 {
		grant("bob", protocol.ParticipantID(fmt.Sprintf("p%d", i)), globs[2*maxPerGrant:])
	}
	for _, l := range []*Ledger{l.WithConfiguredOf(NewLedger(configured)), NewLedger(configured).Apply(changes...)} {
		for i := range 16 {
			if got := len(l.Display(protocol.ParticipantID(fmt.Sprintf("p%d", i)), now)); got != maxPerGrant {
				t.Errorf("p%d is shown %d capabilities", i, got)
			}
		}
	}
}

// costRounds is how often a task is repeated whose time is measured in make slow.
func costRounds() int {
	if testkit.IsSlow() {
		return 20
	}
	return 1
}

// bounded runs a task. In make slow it reports one that took more processor time than it may.
func bounded(t *testing.T, most time.Duration, task func()) {
	t.Helper()
	if testkit.Race {
		most *= 10
	}
	start := testkit.CPUTime(t)
	task()
	used := testkit.CPUTime(t) - start
	t.Logf("%v of processor time", used)
	if testkit.IsSlow() && used > most {
		t.Errorf("it took %v of processor time, more than %v", used, most)
	}
}

// Grants that nearly match their grantor's capabilities are the most expensive to
// reject.
func TestGrantCost_NearMisses(t *testing.T) {
	long := strings.Repeat("a", 120)
	near := func(pattern string, n int) []*Capability {
		var out []*Capability
		for i := range n {
			out = append(out, must(t, fmt.Sprintf(pattern, i)))
		}
		return out
	}
	for name, tt := range map[string]struct{ held, asked string }{
		"globs":   {`{"kind":"x.tool","payload":{"a":"*` + long + `%03d"}}`, `{"kind":"x.tool","payload":{"a":"` + long + long + `*b%03d"}}`},
		"regexps": {`{"kind":"/(a|b){40}%03d/"}`, `{"kind":"a.%03d"}`},
		"lists":   {`{"kind":"x.tool","payload":{"a":[` + strings.Repeat(`"a*a*a*b",`, 20) + `"%03d"]}}`, `{"kind":"x.tool","payload":{"a":[` + strings.Repeat(`"aaaaaaaaaa*",`, 20) + `"%03d"]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLedger(Configured{Participants: map[protocol.ParticipantID][]*Capability{"alice": all(t, "*")}})
			held := near(tt.held, maxGranted)
			for i := range maxGranted / maxPerGrant {
				l = l.Apply(Grant{ID: protocol.ID(fmt.Sprint(i)), Grantor: "alice", Recipient: "bob", Capabilities: held[i*maxPerGrant : (i+1)*maxPerGrant]})
			}
			g := Grant{ID: "g", Grantor: "bob", Recipient: "carol", Capabilities: near(tt.asked, maxPerGrant)}
			bounded(t, 2*time.Second, func() {
				for range costRounds() {
					if err := l.CheckGrant(g); err == nil {
						t.Error("it was admitted")
					}
					l.Apply(g).Display("carol", time.Time{})
				}
			})
		})
	}
}

// Participants that all grant to one another create very many paths to search
// for a right that none of them holds.
func TestDecideCost_DenseGrants(t *testing.T) {
	const n = 30
	l := NewLedger(Configured{})
	name := func(i int) protocol.ParticipantID { return protocol.ParticipantID(fmt.Sprintf("p%d", i)) }
	caps := all(t, "*", `{"kind":"x.never","deny":true}`)
	for round := range 2 {
		for i := range n {
			for j := range n {
				l = l.Apply(Grant{ID: protocol.ID(fmt.Sprintf("g%d-%d-%d", round, i, j)), Grantor: name(i), Recipient: name(j), Capabilities: caps})
			}
		}
	}
	bounded(t, 2*time.Second, func() {
		for i := range n {
			if l.Effective(name(i), time.Time{}).Decide(&Request{Kind: "chat"}).Allowed {
				t.Error("out of nothing")
			}
			if list := l.Display(name(i), time.Time{}); len(list) != 0 {
				t.Errorf("shown %s", list)
			}
		}
	})
}

func TestDecideCost_RegexpKinds(t *testing.T) {
	var caps []*Capability
	for range maxGranted {
		caps = append(caps, must(t, "/(a|b){60}$/"))
	}
	set, r := NewSet(caps...), &Request{Kind: protocol.Kind("x." + strings.Repeat("ab", 60))}
	bounded(t, 2*time.Second, func() {
		for range costRounds() {
			set.Decide(r)
		}
	})
}

// A right is passed on at most maxChain times.
func TestChain_IsBounded(t *testing.T) {
	s := newScene(t, map[string][]string{"p0": {"chat"}})
	name := func(i int) string { return fmt.Sprintf("p%d", i) }
	for i := range maxChain {
		s.grant(name(i), name(i+1), 0, "chat")
		s.may(name(i+1), true, "chat")
		s.shows(name(i+1), `["chat"]`)
	}
	s.refused(name(maxChain), name(maxChain+1), "passed on 8 times", "chat")
	s.ledger = s.ledger.Apply(Grant{ID: "far", Grantor: protocol.ParticipantID(name(maxChain)),
		Recipient: protocol.ParticipantID(name(maxChain + 1)), Capabilities: all(t, "chat"), At: s.now})
	s.may(name(maxChain+1), false, "chat")
	s.shows(name(maxChain+1), `[]`)

	// A shorter way found after a longer one counts.
	s.grant("p0", name(maxChain), 0, "chat")
	s.grant(name(maxChain), name(maxChain+1), 0, "chat")
	s.may(name(maxChain+1), true, "chat")
}

func TestDecide_Allocates(t *testing.T) {
	s := newScene(t, map[string][]string{"alice": {"chat", "mcp.*"}})
	s.grant("alice", "bob", 0, "chat")
	s.grant("bob", "carol", 0, "chat")
	for who, grant := range map[protocol.ParticipantID]protocol.ID{"alice": "", "bob": "g1", "carol": "g2"} {
		if d := s.ledger.Effective(who, s.now).Decide(&Request{Kind: "chat"}); !d.Allowed || d.Grant != grant {
			t.Errorf("%s: allowed %t through the grant %q, want %q", who, d.Allowed, d.Grant, grant)
		}
	}
	for who, most := range map[protocol.ParticipantID]float64{"alice": 0, "bob": 2, "carol": 4} {
		r := &Request{Kind: "chat"}
		if n := testing.AllocsPerRun(100, func() { s.ledger.Effective(who, s.now).Decide(r) }); n > most {
			t.Errorf("%s: %v allocations, more than %v", who, n, most)
		}
	}
}
