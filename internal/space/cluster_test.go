package space_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meup-protocol/meup/internal/journal"
	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/protocol"
)

// behind is the log at a gateway that receives what others append when it appends or waits for
// the log itself, and not before.
type behind struct {
	*gateways
	mu   sync.Mutex
	list []func()
}

func (l *behind) Follow(sink journal.Sink, replaced journal.Replaced) {
	l.gateways.Follow(func(name string, entries []*journal.Entry) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.list = append(l.list, func() { sink(name, entries) })
	}, replaced)
}

func (l *behind) catchUp() {
	l.mu.Lock()
	list := l.list
	l.list = nil
	l.mu.Unlock()
	for _, deliver := range list {
		deliver()
	}
}

func (l *behind) Append(ctx context.Context, name string, drafts []journal.Draft) []journal.Result {
	defer l.catchUp()
	return l.gateways.Append(ctx, name, drafts)
}

func (l *behind) Barrier(context.Context, string) error {
	l.catchUp()
	return nil
}

// openPair opens a space at two gateways, of which the second one is behind the log.
func openPair(t *testing.T, cfg *authority.Config) (a, b *room) {
	t.Helper()
	shared := &gateways{Journal: journal.NewMemory(journal.MemoryOptions{})}
	at := func(log journal.Journal) *room {
		return openWith(t, cfg, func(s *space.Services) { s.Journal, s.Peers = log, &rosters{} })
	}
	return at(shared), at(&behind{gateways: shared})
}

// TestClaims_BetweenGateways: what a participant at one gateway claims ends at the other one with
// its time, its release and its kick, and a while after its last connection there has ended.
func TestClaims_BetweenGateways(t *testing.T) {
	const hour = `{"kind":"claim","payload":{"paths":["/r"],"ttl_seconds":3600}}`
	for name, c := range map[string]struct {
		claim string
		both  bool                                       // the holder is connected to both gateways at first
		then  func(a, b *room, ann *member, stop func()) // stop ends the first gateway
		// How long the claim stands at the other gateway, and when it has ended.
		stands, ends time.Duration
	}{
		"its time":            {claim: `{"kind":"claim","payload":{"paths":["/r"],"ttl_seconds":60}}`, stands: 59 * time.Second, ends: 60 * time.Second},
		"a holder that stays": {claim: hour, stands: 59 * time.Minute, ends: time.Hour},
		"a release": {claim: hour, then: func(a, _ *room, _ *member, _ func()) {
			a.must("ann", `{"kind":"release","payload":{"paths":["/r"]}}`)
		}},
		"a kick": {claim: hour, then: func(a, _ *room, _ *member, _ func()) {
			a.must("cat", `{"kind":"space.kick","payload":{"participant_id":"ann"}}`)
		}},
		"a holder that leaves one of them": {claim: hour, both: true, stands: 59 * time.Minute, ends: time.Hour},
		"a holder that leaves": {claim: hour, then: func(_, b *room, ann *member, _ func()) {
			ann.leave()
			b.hub.SetRemote("lab", nil)
		}, stands: 4*time.Minute + 50*time.Second, ends: 5*time.Minute + 10*time.Second},
		"a gateway that is killed": {claim: hour, then: func(_, b *room, _ *member, stop func()) {
			stop()
			b.hub.SetRemote("lab", nil)
		}, stands: 4*time.Minute + 50*time.Second, ends: 5*time.Minute + 10*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := []string{"claim", "release", "space.kick"}
				a, b := openPair(t, rights{"ann": all, "bob": all, "cat": all}.config(t))
				ctx, stop := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { a.hub.Run(ctx, time.Second) })
				defer running.Wait()
				defer stop()
				b.run(time.Second)
				cat := b.join(space.JoinOptions{ID: "cat"}) // keeps the space open
				defer cat.leave()
				ann := a.join(space.JoinOptions{ID: "ann"})
				defer ann.leave()
				b.hub.SetRemote("lab", []space.Connected{{ID: "ann", Connections: 1}})
				a.must("ann", c.claim)
				begin := time.Now()
				if c.both {
					second := b.join(space.JoinOptions{ID: "ann"})
					time.Sleep(2 * time.Second)
					second.leave()
				}
				b.refuses("bob", claim("soon", "/r/a"), protocol.CodeClaimed, "ann holds /r until")
				if c.then != nil {
					time.Sleep(10 * time.Second) // both know who is connected
					c.then(a, b, ann, stop)
					begin = time.Now()
				}
				if c.stands > 0 {
					time.Sleep(time.Until(begin.Add(c.stands)))
					synctest.Wait()
					b.refuses("bob", claim("early", "/r/a"), protocol.CodeClaimed, "ann holds /r until")
				}
				time.Sleep(time.Until(begin.Add(c.ends)))
				synctest.Wait()
				b.must("bob", claim("late", "/r/a"))
				a.refuses("cat", claim("second", "/r"), protocol.CodeClaimed, "bob holds something in /r until")
			})
		})
	}
}

// TestBudget_BehindTheLog: a sender at a gateway that does not know the calls of another one yet
// makes at most one burst more than the budget has.
func TestBudget_BehindTheLog(t *testing.T) {
	burst := func(n int) (frames []string) {
		for range n {
			frames = append(frames, `{"kind":"mcp.request","to":["files"],"payload":{"id":1,"method":"tools/call","params":{"name":"read"}}}`)
		}
		return frames
	}
	for _, c := range []struct{ here, there, admittedThere int }{
		{8, 5, 5},    // a burst
		{8, 50, 10},  // what the budget has
		{50, 50, 10}, // at both
		{3, 2, 2},    // within the budget
	} {
		t.Run(fmt.Sprintf("%d and %d", c.here, c.there), func(t *testing.T) {
			a, b := openPair(t, budgetConfig(t, authority.Budget{Calls: 10}))
			made := func(r *room, n int) (admitted int) {
				for _, o := range r.say("coder", burst(n)...) {
					switch {
					case o.Err == nil:
						admitted++
					case o.Err.Limit != "budget.calls":
						t.Errorf("%+v", o.Err)
					}
				}
				return admitted
			}
			here, there := made(a, c.here), made(b, c.there)
			if here != min(c.here, 10) || there != c.admittedThere {
				t.Errorf("%d calls are made here and %d there, want %d and %d", here, there, min(c.here, 10), c.admittedThere)
			}
			left := max(0, 10-here-there) // both know all now
			if here, there := made(b, 50), made(a, 50); here != left || there != 0 {
				t.Errorf("then %d and %d, want %d and 0", here, there, left)
			}
		})
	}
}

// TestBudget_ExtendedBehindTheLog: an extension counts before the next call at a gateway that does
// not know it yet.
func TestBudget_ExtendedBehindTheLog(t *testing.T) {
	a, b := openPair(t, budgetConfig(t, fiveDollars))
	const call = `{"kind":"mcp.request","to":["files"],"payload":{"id":1,"method":"tools/call","params":{"name":"read"}}}`
	b.must("coder", `{"kind":"reasoning.cancel","context":"c","payload":{"metadata":{"cost":5,"currency":"USD"}}}`)
	b.refuses("coder", call, protocol.CodeCapabilityViolation, "coder has used 5.00 of 5.00 USD today")
	a.must("alice", `{"kind":"budget.extend","payload":{"participant_id":"coder","cost":1,"currency":"USD"}}`)
	b.must("coder", call)
	b.must("coder", strings.Replace(call, `"id":1`, `"id":2`, 1))
}

// TestDeciders_BehindTheLog: a reviewer that was demoted decides no more at a gateway that does not
// know it yet, and one that was promoted does.
func TestDeciders_BehindTheLog(t *testing.T) {
	cfg := reviewedConfig(t)
	cfg.Deciders.Reviewers[0].Decisions, cfg.Deciders.Reviewers[0].WithoutMiss = 1, 1
	a, b := openPair(t, cfg)
	a.proposes("seen", "move", `{}`, "")
	a.judges("seen", "approve")
	a.decides("alice", "seen", true)
	b.proposes("p1", "move", `{}`, "") // b knows what was before
	a.must("alice", `{"kind":"reviewer.promote","payload":{"participant_id":"rev"}}`)
	b.decides("rev", "p1", true)
	b.proposes("p2", "move", `{}`, "")
	a.must("alice", `{"kind":"reviewer.demote","payload":{"participant_id":"rev"}}`)
	const approval = `{"kind":"mcp.request","to":["files"],"correlationId":"p2","payload":{"method":"tools/call","params":{"name":"move","arguments":{}}}}`
	b.refuses("rev", approval, violation, "rev")
}
