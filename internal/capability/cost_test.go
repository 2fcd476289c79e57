package capability

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meup-protocol/meup/protocol"
)

// cpuTime returns the processor time that the process has used.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// longGlobs returns n capabilities with the longest globs that are allowed.
func longGlobs(t testing.TB, n int) []*Capability {
	var out []*Capability
	for i := range n {
		glob := fmt.Sprintf("%03d", i) + strings.Repeat("a*", (MaxTextBytes-3)/2)
		out = append(out, must(t, `{"kind":"x.tool","payload":{"a":"`+glob+`"}}`))
	}
	return out
}

// Three grants of 64 long globs each, passed on 16 times: the checks, the folds,
// a reload and a restart together stay cheap.
func TestGrantCost_LongGlobs(t *testing.T) {
	globs := longGlobs(t, 3*MaxPerGrant)
	configured := Configured{Participants: map[protocol.ParticipantID][]*Capability{"alice": all(t, "*")}}
	start := cpuTime(t)
	l, now := NewLedger(configured), time.Unix(1000, 0)
	var changes []Change
	grant := func(from, to protocol.ParticipantID, caps []*Capability) {
		g := Grant{ID: protocol.ID(fmt.Sprintf("g%d", len(changes))), Granter: from, Recipient: to, Capabilities: caps, At: now}
		if err := l.CheckGrant(g); err != nil {
			t.Fatal(err)
		}
		l = l.Apply(g)
		l.Display(to, now)
		changes = append(changes, g)
	}
	for i := range 3 {
		grant("alice", "bob", globs[i*MaxPerGrant:(i+1)*MaxPerGrant])
	}
	for i := range 16 {
		grant("bob", protocol.ParticipantID(fmt.Sprintf("p%d", i)), globs[2*MaxPerGrant:])
	}
	for _, l := range []*Ledger{l.WithConfigured(configured), NewLedger(configured).Apply(changes...)} {
		for i := range 16 {
			if got := len(l.Display(protocol.ParticipantID(fmt.Sprintf("p%d", i)), now)); got != MaxPerGrant {
				t.Errorf("p%d is shown %d capabilities", i, got)
			}
		}
	}
	if used := cpuTime(t) - start; used > 2*time.Second {
		t.Errorf("the grants took %v of processor time", used)
	}
}
