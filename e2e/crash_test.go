package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/internal/testing/testkit"
	"github.com/meup-protocol/meup/protocol"
)

// The gateway is killed under load, ten times with make slow: nothing acknowledged
// is lost, no entry is in the log twice, no order has changed, and a reader that
// stayed connected has read exactly the log.
func TestCrash_UnderLoad(t *testing.T) {
	t.Parallel()
	g := startGateway(t, labConfig)
	reader := g.dial(t, "dave", client.After(0))
	read := collect(t, reader)
	l := startLoad(t, g.dial(t, "alice", client.Position{}), g.dial(t, "bob", client.Position{}), g.dial(t, "carol", client.Position{}))
	crashes := 2
	if testkit.IsSlow() {
		crashes = 10
	}
	random := testkit.Rand(t)
	for range crashes {
		l.more(50 + random.IntN(300))
		g.kill()
		g.restart()
	}
	l.more(100)
	l.finish()
	log := history(t, g.addr, "dave")
	l.verify(log)
	read.verify(log)
}

// collected holds the entries that a reader has read.
type collected struct {
	t     *testing.T
	lines chan line
}

// collect reads everything that a client receives.
func collect(t *testing.T, c *client.Client) *collected {
	r := &collected{t: t, lines: make(chan line, 1<<20)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range c.All(ctx) {
			if err != nil {
				return
			}
			if e.Seq > 0 {
				r.lines <- line{ID: e.ID, Seq: e.Seq, From: e.From, Kind: string(e.Kind)}
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return r
}

// verify waits for as many entries as the log has, and compares.
func (r *collected) verify(log []line) {
	r.t.Helper()
	for i, got := range r.take(len(log)) {
		if want := log[i]; got.ID != want.ID || got.Seq != want.Seq {
			r.t.Fatalf("entry %d: read %s at %d, the log has %s at %d", i, got.ID, got.Seq, want.ID, want.Seq)
		}
	}
}

// take waits for the next n entries.
func (r *collected) take(n int) (log []line) {
	r.t.Helper()
	timeout := time.After(testkit.Patience)
	for len(log) < n {
		select {
		case got := <-r.lines:
			log = append(log, got)
		case <-timeout:
			r.t.Fatalf("read %d of %d entries", len(log), n)
		}
	}
	return log
}

// A clean shutdown: no new connections, everything delivered, 1001, exit code 0; with
// make slow within 10 seconds.
func TestTerminate_Drains(t *testing.T) {
	t.Parallel()
	g := startGateway(t, drained(labConfig))
	reader := g.dial(t, "dave", client.After(0))
	read := collect(t, reader)
	alice := g.dial(t, "alice", client.Position{})
	l := startLoad(t, alice)
	l.more(200)
	begun := time.Now()
	g.signal(syscallTerm)
	if code := g.wait(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	stoppedInTime(t, begun)
	g.restart()
	l.finish()
	log := history(t, g.addr, "dave")
	l.verify(log)
	read.verify(log)
}

// A reload under load changes the settings and loses nothing.
func TestReload_UnderLoad(t *testing.T) {
	t.Parallel()
	g := startGateway(t, labConfig)
	carol := g.dial(t, "carol", client.Position{})
	collect(t, carol)
	l := startLoad(t, g.dial(t, "alice", client.Position{}), g.dial(t, "bob", client.Position{}))
	const without = `
limits: {rate: 1000000, burst: 1000000}
spaces:
  lab:
    participants:
      alice: {token: alice-token-for-tests, capabilities: ["*"]}
      bob: {token: bob-token-for-tests, capabilities: [chat]}
      dave: {token: dave-token-for-tests, capabilities: ["*"]}
`
	for i, text := range []string{"spaces: {lab: {participants: {alice: {tokn: x}}}}", labConfig, without, labConfig + "\nunknown: 1\n"} {
		g.configure(text)
		g.signal(syscallHup)
		l.more(200)
		eventually(t, "the file is read before the next one replaces it", func() bool {
			log := g.log.String()
			return strings.Count(log, `"configuration reloaded"`)+strings.Count(log, `"configuration not reloaded;`) > i
		})
	}
	await(t, "the end of carol's connection, who was removed from the configuration", carol.Done())
	eventually(t, "the new capabilities hold", func() bool {
		return post(t, g.addr, "bob", `{"kind":"x.y"}`) == string(protocol.CodeCapabilityViolation)
	})
	l.finish()
	l.verify(history(t, g.addr, "dave"))
}
