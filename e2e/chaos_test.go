package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/meup-protocol/meup/internal/testing/testkit"
)

var chaosTime = flag.Duration("chaos", 0, "how long each run of random faults lasts; 0: 20 seconds with make slow, otherwise each fault occurs once")

const chaosConfig = `
limits: {rate: 1000000, burst: 1000000, bytes_per_second: 1GiB}
spaces:
  "lab*":
    participants:
      admin: {token: admin-token-for-chaos, capabilities: ["*"]}
      reader: {token: reader-token-for-chaos, capabilities: ["*"]}
      victim: {token: victim-token-for-chaos, capabilities: ["chat"]}
      alice: {token: alice-token-for-chaos, capabilities: ["*"]}
      bob: {token: bob-token-for-chaos, capabilities: ["*"]}
      carol: {token: carol-token-for-chaos, capabilities: ["*"]}
`

// chaos is one run: clients at work while faults occur in a deployment.
type chaos struct {
	t         *testing.T
	d         time.Duration                         // 0: each fault occurs once
	addrs     []string                              // of the gateways
	worlds    []*world                              // one for each space
	writers   int                                   // in each space
	clients   []func(ctx context.Context, w *world) // more of them, in the first space
	enough    func() bool                           // faults also end when it is true; nil: they do not
	recovered func()                                // called when the clients have stopped, before the log is verified
	random    *rand.Rand
	count     map[string]int // faults by name
}

// chaosLength is how long random faults occur; 0: each of them occurs once.
func chaosLength() time.Duration {
	if *chaosTime == 0 && testkit.IsSlow() {
		return 20 * time.Second
	}
	return *chaosTime
}

func newChaos(t *testing.T, addrs []string, spaces ...string) *chaos {
	c := &chaos{t: t, d: chaosLength(), addrs: addrs, writers: 6, random: testkit.Rand(t), count: map[string]int{}}
	for _, space := range spaces {
		c.worlds = append(c.worlds, &world{record: newRecord(), addrs: addrs, space: space})
	}
	return c
}

func (c *chaos) acked() int {
	n := 0
	for _, w := range c.worlds {
		n += w.acked()
	}
	return n
}

// onlyLong skips a run of many processes, unless make slow or -chaos asks for it.
func onlyLong(t *testing.T) {
	t.Helper()
	if *chaosTime == 0 {
		testkit.Slow(t)
	}
}

// fault disturbs a deployment. It returns when the fault is over.
type fault struct {
	name string
	do   func(ctx context.Context)
}

// pause waits for a random time up to d, unless each fault occurs once.
func (c *chaos) pause(ctx context.Context, d time.Duration) {
	if c.d > 0 {
		wait(ctx, time.Duration(c.random.Int64N(int64(d))))
	}
}

// run lets clients work while faults occur, waits until the deployment has
// recovered, and verifies the clients' observations.
func (c *chaos) run(faults []fault) {
	t := c.t
	working, stop := context.WithCancel(t.Context())
	reading, stopReading := context.WithCancel(t.Context())
	var workers, readers sync.WaitGroup
	t.Cleanup(func() {
		stop()
		stopReading()
		workers.Wait()
		readers.Wait()
	})
	for _, w := range c.worlds {
		for i, addr := range c.addrs {
			readers.Go(func() { w.follow(reading, fmt.Sprintf("reader-%d", i), addr) })
		}
		for i, who := range []string{"alice", "alice", "bob", "bob", "carol", "carol"}[:c.writers] {
			workers.Go(func() { w.write(working, who, fmt.Sprintf("%s-%d", who, i), i%3 == 2) })
		}
		workers.Go(func() { w.usePrivileged(working, "victim") })
		workers.Go(func() { w.toggleGrant(working, "victim") })
	}

	for _, client := range c.clients {
		workers.Go(func() { client(working, c.worlds[0]) })
	}

	// Retention may drop a log that was begun while the clock was behind, once the clock is set.
	eventually(t, "an envelope is acknowledged before the first fault", func() bool { return c.acked() > 0 })
	c.occur(faults)
	for _, addr := range c.addrs {
		eventually(t, "the gateway at "+addr+" is ready again", func() bool { return get(addr, "/readyz", "") == 200 })
	}
	before := c.acked()
	eventually(t, "envelopes are acknowledged again", func() bool { return c.acked() > before+20 })
	stop()
	workers.Wait()
	if c.recovered != nil {
		c.recovered()
	}
	for _, w := range c.worlds {
		c.settle(w)
	}
	stopReading()
	readers.Wait()
	for _, w := range c.worlds {
		c.verify(w)
	}
	t.Logf("%d acknowledged, faults %v", c.acked(), c.count)
}

// occur lets random faults occur for some time, or each of them once.
func (c *chaos) occur(faults []fault) {
	ctx := testkit.Deadline(c.t)
	if c.d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(c.t.Context(), c.d)
		defer cancel()
	}
	for i := 0; ctx.Err() == nil && (c.d > 0 || i < len(faults)) && (c.enough == nil || !c.enough()); i++ {
		f := faults[i%len(faults)]
		if c.d > 0 {
			f = faults[c.random.IntN(len(faults))]
		}
		c.count[f.name]++
		before := c.acked()
		f.do(ctx)
		c.pause(ctx, 1500*time.Millisecond)
		if c.d == 0 || c.random.IntN(3) == 0 {
			c.progress(ctx, before)
		}
		c.t.Logf("%8v %s: %d acknowledged", c.worlds[0].now().Round(time.Millisecond), f.name, c.acked()-before)
	}
	if c.d == 0 && ctx.Err() != nil {
		c.t.Fatal("not all faults have occurred")
	}
}

// progress waits until more than n envelopes are acknowledged, or ctx ends: the next
// fault then does not occur in the recovery from this one.
func (c *chaos) progress(ctx context.Context, n int) {
	for c.acked() <= n+20 {
		if !wait(ctx, retryPause) {
			return
		}
	}
}

// settle waits until all gateways have the same log of a space and all readers
// have read it. The log is verified up to there: envelopes whose clients have
// stopped without an answer may still be admitted.
func (c *chaos) settle(w *world) {
	eventually(c.t, "all gateways have the same log, and the readers have read it", func() bool {
		head := uint64(0)
		for i, addr := range c.addrs {
			h, err := readHistory(c.t.Context(), addr, w.space)
			if err != nil || len(h) == 0 {
				return false
			}
			last := h[len(h)-1].Seq
			if i == 0 {
				head = last
			}
			if last != head || w.readUpTo(fmt.Sprintf("reader-%d", i)) < last {
				return w.diverged() // waiting would be futile
			}
		}
		w.settled = head
		return true
	})
}

// diverged reports whether a violation was detected already.
func (w *world) diverged() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.faults) > 0
}

func (c *chaos) verify(w *world) {
	histories := map[string][]entry{}
	for _, addr := range c.addrs {
		h, err := w.history(c.t.Context(), addr)
		if err != nil {
			c.t.Fatal(err)
		}
		histories[addr] = upTo(h, w.settled)
	}
	for reader, list := range w.readers {
		w.readers[reader] = upTo(list, w.settled)
	}
	violations := w.verify(histories)
	c.t.Logf("%s: %d acknowledged, %d in the log", w.space, w.acked(), len(histories[c.addrs[0]]))
	for i, v := range violations {
		if i == 20 {
			c.t.Errorf("and %d more violations", len(violations)-i)
			break
		}
		c.t.Error(v)
	}
}

// upTo returns the entries up to a seq; 0: all.
func upTo(list []entry, seq uint64) []entry {
	if i := slices.IndexFunc(list, func(e entry) bool { return e.Seq > seq }); i >= 0 && seq > 0 {
		return list[:i]
	}
	return list
}

// kill ends a gateway as a power failure would and starts it again.
func (c *chaos) kill(ctx context.Context, g *gatewayProc) {
	g.kill()
	c.pause(ctx, time.Second)
	g.start()
}

// terminate shuts a gateway down cleanly and starts it again. A gateway that
// cannot open its log is about to end by itself, with another exit code, and
// one that has logged nothing cannot receive signals yet.
func (c *chaos) terminate(ctx context.Context, g *gatewayProc) {
	eventually(c.t, "the gateway runs", func() bool { return g.log.String() != "" })
	g.signal(syscall.SIGTERM)
	if code := g.wait(); code != 0 && !strings.Contains(g.log.String(), "meup-gateway: open the log: ") {
		c.worlds[0].violation("exit code %d after SIGTERM", code)
	}
	c.pause(ctx, time.Second)
	g.start()
}

// revive restarts a gateway that has ended because its disk was full.
func (c *chaos) revive(g *gatewayProc) {
	eventually(c.t, "the gateway is ready or has ended", func() bool {
		select {
		case <-g.done:
			return true
		default:
			return get(g.addr, "/readyz", "") == http.StatusOK
		}
	})
	g.startAgain()
}

// TestChaos_EmbeddedLog runs one gateway on its own disk. The gateway is killed
// and terminated, and with make slow the disk becomes full, also intermittently.
func TestChaos_EmbeddedLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mounted := chaosLength() > 0 && exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d", smallDiskBytes()), "tmpfs", dir).Run() == nil
	if mounted {
		t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	}
	g := startGateway(t, drained(chaosConfig), "--data", filepath.Join(dir, "data"))
	c := newChaos(t, []string{g.addr}, "lab")
	fill, free := smallDisk{dir}.fill, smallDisk{dir}.free
	faults := []fault{
		{"kill", func(ctx context.Context) { c.kill(ctx, g) }},
		{"terminate", func(ctx context.Context) { c.terminate(ctx, g) }},
	}
	if mounted {
		faults = append(faults,
			fault{"full disk", func(ctx context.Context) { fill(); c.pause(ctx, 2*time.Second); free(); c.revive(g) }},
			fault{"flickering disk", func(ctx context.Context) {
				for range 10 {
					fill()
					c.pause(ctx, 100*time.Millisecond)
					free()
					c.pause(ctx, 100*time.Millisecond)
				}
				c.revive(g)
			}},
			fault{"kill on a full disk", func(ctx context.Context) {
				fill()
				g.kill()
				g.start()
				c.pause(ctx, time.Second)
				free()
				c.revive(g)
			}},
		)
	} else if c.d > 0 {
		t.Log("a small file system cannot be mounted here; the disk is not filled")
	}
	c.run(faults)
}
