package space_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/space"
	"github.com/meup-protocol/meup/internal/space/authority"
	"github.com/meup-protocol/meup/internal/space/limit"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// setClock is a clock whose readings have real time beside the wall clock, which somebody
// sets. Readings of fake time have the wall clock alone.
type setClock struct {
	t     *testing.T
	start time.Time

	mu             sync.Mutex
	elapsed, ahead time.Duration
	read           int // readings so far
}

func (c *setClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read++
	return testkit.ClockReading(c.t, c.start, c.elapsed+c.ahead, c.elapsed)
}

func (c *setClock) readings() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read
}

// pass lets real time pass and sets the wall clock to be ahead of it.
func (c *setClock) pass(d, ahead time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elapsed += d
	c.ahead = ahead
}

// limiter is a bucket as the gateway uses it.
type limiter struct{ *limit.Bucket }

func (l limiter) Reserve(now time.Time, kind protocol.Kind, bytes int) (authority.Reservation, error) {
	r, err := l.Bucket.Reserve(now, kind, bytes)
	return &r, err
}

// A wall clock that is set ahead for a minute refills no bucket, and stops none.
func TestLimits_ClockIsSet(t *testing.T) {
	clock := &setClock{t: t, start: time.Now()}
	cfg := rights{"alice": {"*"}}.config(t)
	p := cfg.Participants["alice"]
	p.NewLimiter = func(authority.Limiter) authority.Limiter { return limiter{limit.New(limit.Limits{Rate: 1, Burst: 2})} }
	cfg.Participants["alice"] = p
	r := openWith(t, cfg, func(s *space.Services) { s.Clock = clock.now })
	for _, step := range []struct {
		id            protocol.ID
		passed, ahead time.Duration
		refused       protocol.Code
	}{
		{"burst-1", 0, 0, ""},
		{"burst-2", 0, 0, ""},
		{"above", 0, 0, protocol.CodeRateLimited},
		{"ahead", 0, 2 * time.Hour, protocol.CodeRateLimited},
		{"ahead-later", time.Second, 2 * time.Hour, ""},
		{"corrected", 0, 0, protocol.CodeRateLimited},
		{"corrected-later", time.Second, 0, ""},
		{"late", time.Second, -2 * time.Hour, ""},
		{"late-above", 0, -2 * time.Hour, protocol.CodeRateLimited},
	} {
		clock.pass(step.passed, step.ahead)
		if o := r.say("alice", chat(string(step.id)))[0]; code(o.Err) != step.refused {
			t.Errorf("%s: %v, want %q", step.id, o.Err, step.refused)
		}
	}
}

// A grant that a wall clock ahead has ended is in force again when the clock is corrected,
// and the member learns it.
func TestHub_ClockIsSet(t *testing.T) {
	clock := &setClock{t: t, start: time.Now()}
	r := open(t, rights{"alice": {"*", "observe"}, "bob": {"chat"}}, func(s *space.Services) { s.Clock = clock.now })
	opened := clock.readings()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.hub.Run(ctx, time.Millisecond) }) // ends with ctx
	defer running.Wait()
	defer stop()
	testkit.Eventually(t, "the hub compares with an earlier time", func() bool { return clock.readings() > opened })
	bob := r.join(space.JoinOptions{ID: "bob"})
	defer bob.leave()
	welcomes := func(n int) {
		t.Helper()
		got := 0
		err := bob.await(func() bool {
			got = 0
			for _, f := range bob.own {
				if f.Kind == "system.welcome" {
					got++
				}
			}
			return got >= n
		})
		if err != nil || got != n {
			t.Fatalf("%d welcomes, want %d: %v", got, n, err)
		}
	}
	welcomes(1)
	r.must("alice", `{"id": "g", "kind": "capability.grant", "payload": {"recipient": "bob", "capabilities": ["x.tool", "observe"], "ttl_seconds": 3600}}`)
	for i, step := range []struct {
		what    string
		ahead   time.Duration
		refused protocol.Code
	}{
		{"granted", 0, ""},
		{"the clock is ahead", 2 * time.Hour, protocol.CodeCapabilityViolation},
		{"the clock is corrected", 0, ""},
		{"the clock is ahead again", 2 * time.Hour, protocol.CodeCapabilityViolation},
	} {
		clock.pass(time.Second, step.ahead)
		welcomes(2 + i)
		r.must("alice", fmt.Sprintf(`{"id": "t%d", "to": ["alice"], "kind": "chat", "payload": {"message": "x"}}`, i))
		r.must("alice", chat(fmt.Sprintf("after-%d", i)))
		all := protocol.ID(fmt.Sprintf("after-%d", i))
		var seen []protocol.ID
		err := bob.await(func() bool {
			seen = nil
			for _, e := range bob.got {
				seen = append(seen, e.ID)
			}
			return slices.Contains(seen, all)
		})
		if sees := slices.Contains(seen, protocol.ID(fmt.Sprintf("t%d", i))); err != nil || sees != (step.refused == "") {
			t.Errorf("%s: bob sees an envelope to alice: %t, %v", step.what, sees, err)
		}
		if o := r.say("bob", fmt.Sprintf(`{"id": "x%d", "kind": "x.tool"}`, i))[0]; code(o.Err) != step.refused {
			t.Errorf("%s: x.tool: %v, want %q", step.what, o.Err, step.refused)
		}
	}
}
